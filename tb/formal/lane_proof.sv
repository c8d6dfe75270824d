// SPDX-License-Identifier: Apache-2.0
// The theorem: qs_lane behaves exactly like a lane that finishes each transition before accepting the next.
//
// Function    The reference queues accepted transitions. In the clock of a transition's result, it computes the
//             result of the sequential model, from a table that contains all earlier results, so nothing is ever in
//             flight. Both give the same number of results, in the same order and clocks, with the same values,
//             maxima, greedy actions and saturation flags. Their noise is also the same, so all writes are the same.
//             The proof covers transitions that read one arbitrary entry and one arbitrary row (any/qs_table.sv).
// Assumed     The requirements in the header of qs_lane are met. The table was written after power-up, so its two
//             copies of each entry agree.

module lane_proof #(
    parameter  int unsigned States     = 1024,
    parameter  int unsigned Actions    = 4,
    parameter  int unsigned Width      = 16,
    parameter  int unsigned LoopDepth  = 1,
    localparam int unsigned StateBits  = $clog2(States),
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,

    input logic [15:0] alpha_i,
    input logic [15:0] kappa_i,
    input logic [ 1:0] rounding_i,
    input logic        noise_load_i,
    input logic [31:0] noise_x_i,
    input logic [31:0] noise_w_i,

    input logic                         tr_valid_i,
    input logic        [ StateBits-1:0] tr_state_i,
    input logic        [ActionBits-1:0] tr_action_i,
    input logic signed [     Width-1:0] tr_reward_i,
    input logic        [ StateBits-1:0] tr_next_state_i,
    input logic                         tr_terminated_i,

    input logic                  host_write_i,
    input logic [ StateBits-1:0] host_state_i,
    input logic [ActionBits-1:0] host_action_i,
    input logic [     Width-1:0] host_data_i
);

  localparam int unsigned WriteStage = qs_pkg::write_stage(Actions, LoopDepth);
  localparam int unsigned MergeStage = qs_pkg::merge_stage(Actions);

  logic tr_ready_o, res_valid_o, res_saturated_o, res_forwarded_o, hold_o, busy_o;
  logic signed [Width-1:0] res_value_o, res_max_o;
  logic [ActionBits-1:0] res_greedy_o;
  logic [Width-1:0] host_data_o;
  logic [31:0] noise_x_o, noise_w_o;

  qs_lane #(
      .States   (States),
      .Actions  (Actions),
      .Width    (Width),
      .LoopDepth(LoopDepth)
  ) u_lane (
      .*
  );

  // --- The reference --------------------------------------------------------------------------------
  typedef struct packed {
    logic [StateBits-1:0] state;
    logic [ActionBits-1:0] action;
    logic signed [Width-1:0] reward;
    logic [StateBits-1:0] next_state;
    logic terminated;
  } transition_t;

  // The accepted transitions, with the one waiting to issue in place 0, and the bias of each.
  transition_t offer, now;
  transition_t [WriteStage:0] line_q;
  logic [WriteStage:0] valid_q;
  logic [WriteStage:MergeStage+1][14:0] bias_q;
  logic [2:0] held_q;
  assign offer = {tr_state_i, tr_action_i, tr_reward_i, tr_next_state_i, tr_terminated_i};
  assign now   = line_q[WriteStage];

  always_ff @(posedge clk_i) begin
    valid_q <= {valid_q[WriteStage-1:1], valid_q[0] && !hold_o, tr_valid_i || hold_o};
    line_q[WriteStage:1] <= line_q[WriteStage-1:0];
    if (tr_ready_o) line_q[0] <= offer;
    held_q <= hold_o && !rst_i ? held_q + 1'b1 : '0;
    if (rst_i) valid_q <= '0;
  end

  logic [31:0] x_q, w_q, x_a, x_b, sum;
  logic [14:0] draw_q;
  assign x_a = x_q ^ (x_q << 13);
  assign x_b = x_a ^ (x_a >> 17);
  assign sum = x_q + w_q;

  always_ff @(posedge clk_i) begin
    if (valid_q[MergeStage-1] && rounding_i == 2'd2) begin
      x_q    <= x_b ^ (x_b << 5);
      w_q    <= w_q + 32'h9E3779B9;
      draw_q <= sum[31:17];
    end
    if (noise_load_i) {x_q, w_q} <= {noise_x_i, noise_w_i};
    if (rst_i) {x_q, w_q} <= {32'd1, 32'd0};
    bias_q[MergeStage+1] <= rounding_i == 2'd0 ? 15'h4000 : rounding_i == 2'd1 ? '0 : draw_q;
    for (int unsigned k = MergeStage + 2; k <= WriteStage; k++) bias_q[k] <= bias_q[k-1];
  end

  // The table with all earlier results.
  logic signed [Width-1:0] entry;
  logic [Actions-1:0][Width-1:0] row;
  logic my_entry, my_row;
  assign row = u_lane.u_table.row_q;
  assign entry = u_lane.u_table.entry_q;
  assign my_row = now.next_state == u_lane.u_table.row_state;
  assign my_entry = now.state == u_lane.u_table.entry_state &&
      now.action == u_lane.u_table.entry_action;

  logic [Width-1:0] value;
  logic saturated;
  updated_value #(
      .Width(Width)
  ) u_value (
      .alpha_i,
      .kappa_i,
      .entry_i     (entry),
      .reward_i    (now.reward),
      .max_i       (res_max_o),           // the maximum, by NoLess_L and Attained_L
      .terminated_i(now.terminated),
      .bias_i      (bias_q[WriteStage]),
      .value_o     (value),
      .saturated_o (saturated)
  );

  // --- Assumed --------------------------------------------------------------------------------------
  logic past_q = 1'b0;
  logic waits_q, idle;
  transition_t offer_q;
  logic [33:0] settings_q;
  assign idle = !busy_o && !tr_valid_i;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    waits_q <= tr_valid_i && !tr_ready_o && !rst_i;
    offer_q <= offer;
    settings_q <= {alpha_i, kappa_i, rounding_i};
  end

  always_comb begin
    assume (past_q || rst_i);
    assume (32'(tr_state_i) < States && 32'(tr_next_state_i) < States);
    assume (32'(tr_action_i) < Actions);
    assume (!waits_q || (tr_valid_i && offer == offer_q));
    assume (alpha_i <= 16'd32768 && kappa_i <= alpha_i && rounding_i <= 2'd2);
    assume (idle || {alpha_i, kappa_i, rounding_i} == settings_q);
    assume (!noise_load_i || (idle && noise_x_i != 0));
    assume (!host_write_i || idle);
    assume (32'(host_state_i) < States && 32'(host_action_i) < Actions);
    assume (32'(u_lane.u_table.entry_action) < Actions);
    assume (past_q || u_lane.u_table.row_state != u_lane.u_table.entry_state ||
            row[u_lane.u_table.entry_action] == entry);
  end

  // --- Facts about transitions in flight; without them, induction needs twice as many clocks ---------
  logic [WriteStage:1] youngest;
  always_comb begin
    for (int unsigned d = 1; d <= WriteStage; d++) begin
      youngest[d] = 1'b1;
      for (int unsigned e = 1; e < d; e++) begin
        if (valid_q[e] && line_q[e].state == line_q[d].state &&
            line_q[e].action == line_q[d].action) begin
          youngest[d] = 1'b0;
        end
      end
    end
  end

  // res_max_o is no less than any value of the row, and is one of them, so it is the maximum.
  for (genvar a = 0; a < Actions; a++) begin : gen_action
    always_comb begin
      if (past_q && res_valid_o && my_row) begin
        NoLess_L : assert (res_max_o >= $signed(row[a]));
        Lowest_L : assert (a >= 32'(res_greedy_o) || res_max_o != $signed(row[a]));
        Attained_L : assert (a != 32'(res_greedy_o) || res_max_o == $signed(row[a]));
      end
    end
  end

  for (genvar d = 1; d <= WriteStage; d++) begin : gen_slot
    always_comb begin
      if (past_q && valid_q[d]) begin
        Exists_L : assert (32'(line_q[d].action) < Actions);
        InFlight_L :
        assert (line_q[d].state == u_lane.u_hazard.state_q[d] &&
                line_q[d].action == u_lane.u_hazard.action_q[d] &&
                youngest[d] == u_lane.u_hazard.youngest_q[d]);
      end
    end
  end

  always_comb begin
    if (past_q && valid_q[0]) begin
      Issue_L :
      assert (line_q[0] == {u_lane.issue_state_q, u_lane.issue_action_q, u_lane.issue_reward_q,
                            u_lane.issue_next_state_q, u_lane.issue_terminated_q});
    end
  end

  // --- The theorem ----------------------------------------------------------------------------------
  always_comb begin
    if (past_q) begin
      Slots_L : assert (valid_q == {u_lane.u_hazard.valid_q, u_lane.issue_valid_q});
      Greedy_L : assert (!res_valid_o || 32'(res_greedy_o) < Actions);
      Results_A : assert (res_valid_o == valid_q[WriteStage]);
      Copies_L :
      assert (u_lane.u_table.row_state != u_lane.u_table.entry_state ||
              row[u_lane.u_table.entry_action] == entry);
      Noise_A : assert (x_q == noise_x_o && w_q == noise_w_o);
      Busy_A : assert (busy_o == (valid_q != '0) && tr_ready_o == !hold_o);
      // With Results_A, a result comes at most WriteStage + LoopDepth clocks after its transition is accepted.
      Commits_A : assert (32'(held_q) + 32'(hold_o) < LoopDepth);
      Value_A : assert (!res_valid_o || !my_row || !my_entry || res_value_o == value);
      Saturated_A : assert (!res_valid_o || !my_row || !my_entry || res_saturated_o == saturated);
    end
  end

  // --- Not vacuous ----------------------------------------------------------------------------------
  logic checked;
  assign checked = past_q && res_valid_o && my_row && my_entry;
  always_comb begin
    FullPipe_C : cover (checked && valid_q == '1);
    Forwarded_C : cover (checked && res_forwarded_o && res_greedy_o != 0 && res_saturated_o);
    if (LoopDepth > 1) begin
      Held_C : cover (checked && held_q != 0);
    end
  end

endmodule
