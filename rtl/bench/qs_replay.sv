// SPDX-License-Identifier: Apache-2.0
// Replays transitions in the lane and compares its table with the golden model's: the FuseSoC target `sim`, in plain
// SystemVerilog.
//
// Function    replay.mem has 64-bit words, from `python -m tools.core_replay`: {number of transitions, alpha, kappa},
//             then the transitions {terminated, action, reward, next_state, state} in 16-bit fields (terminated is
//             the top bit of the action's field), then the model's table, state by state. The run ends with $fatal at
//             the first mismatch, or if the lane hangs.
// Timing      One transition per clock while the lane is ready.
// Handshake   as in qs_lane
// Reset       none: the bench generates it.
// Hazards     none
// Invariants  none of its own
// Resources   simulation only
// Reference   none

module qs_replay #(
    parameter  int unsigned LoopDepth  = 1,               // 1..3
    localparam int unsigned States     = 8,
    localparam int unsigned Actions    = 4,
    localparam int unsigned Width      = 16,
    localparam int unsigned StateBits  = $clog2(States),
    localparam int unsigned ActionBits = $clog2(Actions)
);

  localparam int unsigned MaxWords = 4096;
  localparam int unsigned MaxClocks = 100_000;

  logic [63:0] words[MaxWords];
  logic clk = 1'b0;
  logic rst = 1'b1;
  logic [15:0] alpha, kappa;
  logic [63:0] offer;
  logic valid = 1'b0;
  logic ready, busy;
  logic write = 1'b0;
  logic [StateBits-1:0] state = '0;
  logic [ActionBits-1:0] action = '0;
  logic [Width-1:0] entry;
  int unsigned transitions;

  always #5 clk = !clk;

  // Outputs that the bench ignores.
  logic [31:0] noise_x, noise_w;
  logic res_valid, res_saturated, res_forwarded, hold;
  logic signed [Width-1:0] res_value, res_max;
  logic [ActionBits-1:0] res_greedy;

  qs_lane #(
      .States   (States),
      .Actions  (Actions),
      .Width    (Width),
      .LoopDepth(LoopDepth)
  ) u_lane (
      .clk_i          (clk),
      .rst_i          (rst),
      .alpha_i        (alpha),
      .kappa_i        (kappa),
      .rounding_i     (qs_pkg::RoundNearest),
      .noise_load_i   (1'b0),
      .noise_x_i      (32'd1),
      .noise_w_i      (32'd0),
      .noise_x_o      (noise_x),
      .noise_w_o      (noise_w),
      .tr_valid_i     (valid),
      .tr_ready_o     (ready),
      .tr_state_i     (offer[StateBits-1:0]),
      .tr_action_i    (offer[48+:ActionBits]),
      .tr_reward_i    (offer[32+:Width]),
      .tr_next_state_i(offer[16+:StateBits]),
      .tr_terminated_i(offer[63]),
      .res_valid_o    (res_valid),
      .res_value_o    (res_value),
      .res_max_o      (res_max),
      .res_greedy_o   (res_greedy),
      .res_saturated_o(res_saturated),
      .res_forwarded_o(res_forwarded),
      .host_write_i   (write),
      .host_state_i   (state),
      .host_action_i  (action),
      .host_data_i    ('0),
      .host_data_o    (entry),
      .hold_o         (hold),
      .busy_o         (busy)
  );

  // All inputs are driven at the falling edge.
  initial begin
    $readmemh("replay.mem", words);
    {transitions, alpha, kappa} = words[0];
    repeat (2) @(negedge clk);
    rst   = 1'b0;

    write = 1'b1;  // the table is undefined after power-up
    for (int unsigned i = 0; i < States * Actions; i++) begin
      {state, action} = (StateBits + ActionBits)'(i);
      @(negedge clk);
    end
    write = 1'b0;

    valid = 1'b1;
    for (int unsigned i = 1; i <= transitions; i++) begin
      offer = words[i];
      #1;
      while (!ready) begin
        @(negedge clk);
        #1;
      end
      @(negedge clk);
    end
    valid = 1'b0;
    while (busy) @(negedge clk);

    for (int unsigned i = 0; i < States * Actions; i++) begin
      {state, action} = (StateBits + ActionBits)'(i);
      repeat (2) @(negedge clk);
      if (entry !== words[1+transitions+i][Width-1:0]) begin
        $fatal(1, "Q[%0d, %0d] is %h; the model says %h", state, action, entry,
               words[1+transitions+i][Width-1:0]);
      end
    end
    $display("%0d transitions: all %0d entries are the model's", transitions, States * Actions);
    $finish;
  end

  initial begin
    repeat (MaxClocks) @(posedge clk);
    $fatal(1, "the lane is not done after %0d clocks", MaxClocks);
  end

endmodule
