// SPDX-License-Identifier: Apache-2.0
// The lane: a Q-table and the pipeline that applies one transition per clock to it, exactly.
//
// Function    After n accepted transitions the table equals, bit for bit, that of the sequential model after
//             the same n transitions. docs/lane.md describes ports and pipeline. Golden model: qstep.golden.lane.
//             A transition reads the table in stage 1, and misses the writes of the WriteStage transitions
//             ahead of it. Entries that those write are masked out of the comparator tree; their values are
//             joined as they appear, one per clock: the result of the transition d clocks ahead appears
//             while this one is in stage WriteStage - d.
// Timing      WriteStage = 5 + clog2(Actions) + LoopDepth clocks from the issue register (stage 0) to the
//             result. LoopDepth 1: one transition per clock on every stream. LoopDepth n: a transition that
//             depends on the one d < n clocks ahead waits n - d clocks.
// Handshake   tr_valid_i/tr_ready_o: accepted when both are 1; the offer must stay until then. res_* cannot
//             be stalled. Only while the lane is idle (busy_o and tr_valid_i both 0) may host_* write, alpha_i,
//             kappa_i and rounding_i change, and noise be loaded.
// Reset       Empties the pipeline; the table keeps its contents (undefined after power-up: write it first).
//             Data registers are enabled by the valid bit of their stage and are not reset.
// Hazards     qs_hazard detects them; this module joins the far results, qs_update the two nearest.
// Invariants  OfferIsStable_A, StateInRange_A, ActionInRange_A, NextStateInRange_A, RoundingIsLegal_A,
//             SettingsAreStable_A, NoiseLoadWaits_A, HostWaits_A
// Resources   qs_table, Actions - 1 + WriteStage - LoopDepth comparators, five multipliers.
// Reference   Watkins and Dayan, "Q-learning", Machine Learning 8 (1992).

`include "qs_assert.svh"

module qs_lane #(
    parameter  int unsigned States     = 64,              // 2..65536
    parameter  int unsigned Actions    = 4,               // 2..64
    parameter  int unsigned Width      = 16,              // 8..32
    parameter  int unsigned LoopDepth  = 1,               // 1..3
    localparam int unsigned StateBits  = $clog2(States),
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,

    // Coefficients, rounding and noise
    input  logic [qs_pkg::CoeffBits-1:0] alpha_i,       // 0..32768
    input  logic [qs_pkg::CoeffBits-1:0] kappa_i,       // 0..alpha_i
    input  logic [                  1:0] rounding_i,    // qs_pkg::rounding_e
    input  logic                         noise_load_i,
    input  logic [                 31:0] noise_x_i,     // not 0
    input  logic [                 31:0] noise_w_i,
    output logic [                 31:0] noise_x_o,
    output logic [                 31:0] noise_w_o,

    // Transitions
    input  logic                         tr_valid_i,
    output logic                         tr_ready_o,
    input  logic        [ StateBits-1:0] tr_state_i,
    input  logic        [ActionBits-1:0] tr_action_i,
    input  logic signed [     Width-1:0] tr_reward_i,
    input  logic        [ StateBits-1:0] tr_next_state_i,
    input  logic                         tr_terminated_i,

    // Results, one per transition, in order
    output logic                         res_valid_o,
    output logic signed [     Width-1:0] res_value_o,
    output logic signed [     Width-1:0] res_max_o,        // of row next_state, before this update
    output logic        [ActionBits-1:0] res_greedy_o,
    output logic                         res_saturated_o,
    output logic                         res_forwarded_o,

    // Table access of the host
    input  logic                  host_write_i,
    input  logic [ StateBits-1:0] host_state_i,
    input  logic [ActionBits-1:0] host_action_i,
    input  logic [     Width-1:0] host_data_i,
    output logic [     Width-1:0] host_data_o,    // two clocks after the address

    output logic hold_o,
    output logic busy_o
);

  if (States < 2 || States > 65536) begin : gen_bad_states
    $fatal(1, "qs_lane: States is %0d, legal is 2..65536", States);
  end
  if (Actions < 2 || Actions > 64) begin : gen_bad_actions
    $fatal(1, "qs_lane: Actions is %0d, legal is 2..64", Actions);
  end
  if (Width < 8 || Width > 32) begin : gen_bad_width
    $fatal(1, "qs_lane: Width is %0d, legal is 8..32", Width);
  end
  if (LoopDepth < 1 || LoopDepth > 3) begin : gen_bad_loop_depth
    $fatal(1, "qs_lane: LoopDepth is %0d, legal is 1..3", LoopDepth);
  end

  // Stages: 0 issue, 1 table, 2.. tree, merge, product, loop, write.
  localparam int unsigned WriteStage = qs_pkg::write_stage(Actions, LoopDepth);
  localparam int unsigned MergeStage = 2 + qs_pkg::tree_stages(Actions);
  localparam logic signed [Width-1:0] LEAST = {1'b1, {(Width - 1) {1'b0}}};

  typedef qs_pkg::ranked#(
      .Width(Width),
      .RankBits(ActionBits)
  ) ranked;

  // The newest result: stage WriteStage.
  logic                 write_valid;
  logic [StateBits-1:0] write_state;
  logic [ActionBits-1:0] write_action, write_rank;
  logic signed [Width-1:0] value;
  logic        [Width-1:0] not_value;

  // --- Stage 0: issue -------------------------------------------------------------------------------
  logic s0_valid_q, s0_terminated_q;
  logic [StateBits-1:0] s0_state_q, s0_next_state_q;
  logic [ActionBits-1:0] s0_action_q;
  logic signed [Width-1:0] s0_reward_q;
  logic [WriteStage:1] take, join_row, valid;
  logic [Actions-1:0] s2_mask;

  assign tr_ready_o = !hold_o;

  always_ff @(posedge clk_i) begin
    s0_valid_q <= tr_valid_i || hold_o;
    if (!hold_o) begin
      s0_state_q      <= tr_state_i;
      s0_action_q     <= tr_action_i;
      s0_reward_q     <= tr_reward_i;
      s0_next_state_q <= tr_next_state_i;
      s0_terminated_q <= tr_terminated_i;
    end
    if (rst_i) s0_valid_q <= 1'b0;
  end

  qs_hazard #(
      .States   (States),
      .Actions  (Actions),
      .LoopDepth(LoopDepth)
  ) u_hazard (
      .clk_i,
      .rst_i,
      .issue_valid_i     (s0_valid_q),
      .issue_state_i     (s0_state_q),
      .issue_action_i    (s0_action_q),
      .issue_next_state_i(s0_next_state_q),
      .offer_state_i     (tr_state_i),
      .offer_action_i    (tr_action_i),
      .offer_next_state_i(tr_next_state_i),
      .hold_o            (hold_o),
      .take_o            (take),
      .join_o            (join_row),
      .mask_o            (s2_mask),
      .valid_o           (valid),
      .write_state_o     (write_state),
      .write_action_o    (write_action),
      .write_rank_o      (write_rank)
  );

  assign write_valid = valid[WriteStage];

  // --- Stage 1: table -------------------------------------------------------------------------------
  logic [Actions-1:0][Width-1:0] s2_row;
  logic [Width-1:0] s2_table_entry;

  qs_table #(
      .States (States),
      .Actions(Actions),
      .Width  (Width)
  ) u_table (
      .clk_i,
      .rst_i,
      .row_state_i   (s0_next_state_q),
      .row_o         (s2_row),
      .entry_state_i (s0_valid_q ? s0_state_q : host_state_i),
      .entry_action_i(s0_valid_q ? s0_action_q : host_action_i),
      .entry_o       (s2_table_entry),
      .write_i       (write_valid || host_write_i),
      .write_state_i (write_valid ? write_state : host_state_i),
      .write_action_i(write_valid ? write_action : host_action_i),
      .write_data_i  (write_valid ? value : host_data_i)
  );

  assign host_data_o = s2_table_entry;

  // --- Stages 2 to MergeStage - 1: comparator tree --------------------------------------------------
  logic signed [Width-1:0] tree_max;
  logic [ActionBits-1:0] tree_greedy;

  qs_max_tree #(
      .Actions(Actions),
      .Width  (Width)
  ) u_max_tree (
      .clk_i,
      .rst_i,
      .valid_i (valid[MergeStage-1:2]),
      .values_i(s2_row),
      .mask_i  (s2_mask),
      .value_o (tree_max),
      .index_o (tree_greedy)
  );

  // --- Stages 1 to MergeStage, beside table and tree: results in flight -----------------------------
  // Stage k keeps the hazards still to come, those of the results LoopDepth to WriteStage - k clocks ahead
  // (qs_hazard holds closer ones), the greatest joined value, and whether any result was used so far. The top
  // bits of the hazards belong to the result that is in `value` in this clock.
  for (genvar k = 1; k <= MergeStage; k++) begin : gen_stage
    logic [WriteStage-k:LoopDepth] take_q, join_q;
    logic terminated_q, forwarded_q;
    logic signed [Width-1:0] reward_q, joined_q;
    logic [ActionBits-1:0] rank_q;

    if (k == 1) begin : gen_first
      always_ff @(posedge clk_i) begin
        if (s0_valid_q) begin
          take_q       <= take[WriteStage-1:LoopDepth];
          join_q       <= join_row[WriteStage-1:LoopDepth];
          terminated_q <= s0_terminated_q;
          forwarded_q  <= take[WriteStage] || join_row[WriteStage];
          reward_q     <= s0_reward_q;
          joined_q     <= join_row[WriteStage] ? value : LEAST;
          rank_q       <= join_row[WriteStage] ? write_rank : '0;  // none joined: loses every tie
        end
      end
    end else begin : gen_next
      always_ff @(posedge clk_i) begin
        if (valid[k-1]) begin
          take_q <= gen_stage[k-1].take_q[WriteStage-k:LoopDepth];
          join_q <= gen_stage[k-1].join_q[WriteStage-k:LoopDepth];
          terminated_q <= gen_stage[k-1].terminated_q;
          forwarded_q  <= gen_stage[k-1].forwarded_q || gen_stage[k-1].take_q[WriteStage-k+1] ||
              gen_stage[k-1].join_q[WriteStage-k+1];
          reward_q <= gen_stage[k-1].reward_q;
          joined_q <= gen_stage[k-1].joined_q;
          rank_q <= gen_stage[k-1].rank_q;
          if (gen_stage[k-1].join_q[WriteStage-k+1] && ranked::reaches(
                  not_value, write_action, gen_stage[k-1].joined_q, gen_stage[k-1].rank_q
              )) begin
            joined_q <= value;
            rank_q   <= write_rank;
          end
        end
      end
    end
  end

  // The entry of this transition. It leaves the table in stage 2. A result taken in stage 0 or 1 is kept until
  // then; one taken later replaces the entry on its way.
  logic s1_taken_q, s2_taken_q;
  logic signed [Width-1:0] s1_entry_q, s2_entry_q;
  always_ff @(posedge clk_i) begin
    if (s0_valid_q) begin
      s1_taken_q <= take[WriteStage];
      s1_entry_q <= value;
    end
    if (valid[1]) begin
      s2_taken_q <= s1_taken_q || gen_stage[1].take_q[WriteStage-1];
      s2_entry_q <= gen_stage[1].take_q[WriteStage-1] ? value : s1_entry_q;
    end
  end

  for (genvar k = 3; k <= MergeStage + 1; k++) begin : gen_entry
    logic signed [Width-1:0] entry, entry_q;
    if (k == 3) begin : gen_table
      assign entry = s2_taken_q ? s2_entry_q : s2_table_entry;
    end else begin : gen_pipe
      assign entry = gen_entry[k-1].entry_q;
    end
    always_ff @(posedge clk_i) begin
      if (valid[k-1]) entry_q <= gen_stage[k-1].take_q[WriteStage-k+1] ? value : entry;
    end
  end

  // --- Stage MergeStage: the greatest of tree, joined values and the newest result ------------------
  // Three compares in parallel, so that this stage is no slower than a level of the tree.
  // `keep`: otherwise yosys absorbs this register into iCE40's multiplier, and the long wire to it would follow
  // the compares in the same clock.
  (* keep *) logic signed [Width-1:0] product_max_q;
  logic [ActionBits-1:0] product_rank_q;

  logic value_joins, value_is_greater, tree_is_greatest;
  assign value_joins = gen_stage[MergeStage].join_q[LoopDepth+2];
  assign value_is_greater = value_joins && ranked::reaches(
      not_value, write_action, gen_stage[MergeStage].joined_q, gen_stage[MergeStage].rank_q
  );
  assign tree_is_greatest = ranked::reaches(
      ~tree_max, tree_greedy, gen_stage[MergeStage].joined_q, gen_stage[MergeStage].rank_q
  ) && (!value_joins || ranked::reaches(
      ~tree_max, tree_greedy, value, write_rank
  ));

  always_ff @(posedge clk_i) begin
    if (valid[MergeStage]) begin
      if (tree_is_greatest) begin
        product_max_q  <= tree_max;
        product_rank_q <= ~tree_greedy;
      end else if (value_is_greater) begin
        product_max_q  <= value;
        product_rank_q <= write_rank;
      end else begin
        product_max_q  <= gen_stage[MergeStage].joined_q;
        product_rank_q <= gen_stage[MergeStage].rank_q;
      end
    end
  end

  // --- Rounding -------------------------------------------------------------------------------------
  logic stochastic;
  logic [qs_pkg::CoeffFraction-1:0] draw, product_bias_q;
  assign stochastic = rounding_i == qs_pkg::RoundStochastic;

  qs_noise u_noise (
      .clk_i,
      .rst_i,
      .load_i   (noise_load_i),
      .x_i      (noise_x_i),
      .w_i      (noise_w_i),
      .advance_i(stochastic && valid[MergeStage-1]),
      .draw_o   (draw),
      .x_o      (noise_x_o),
      .w_o      (noise_w_o)
  );

  always_ff @(posedge clk_i) begin
    if (valid[MergeStage]) begin
      unique case (rounding_i)
        qs_pkg::RoundFloor:      product_bias_q <= '0;
        qs_pkg::RoundStochastic: product_bias_q <= draw;
        default:                 product_bias_q <= qs_pkg::HALF;
      endcase
    end
  end

  // --- Stage MergeStage + 1 to WriteStage: products and loop ----------------------------------------
  logic [LoopDepth+1:LoopDepth] product_take_q, product_join_q;
  logic product_terminated_q;
  logic [LoopDepth+1:0] forwarded_q;  // to stage WriteStage

  always_ff @(posedge clk_i) begin
    product_take_q <= gen_stage[MergeStage].take_q[LoopDepth+1:LoopDepth];
    product_join_q <= gen_stage[MergeStage].join_q[LoopDepth+1:LoopDepth];
    product_terminated_q <= gen_stage[MergeStage].terminated_q;
    forwarded_q <= {
      forwarded_q[LoopDepth:0],
      gen_stage[MergeStage].forwarded_q ||
          (gen_stage[MergeStage].take_q | gen_stage[MergeStage].join_q) != '0
    };
  end

  qs_update #(
      .Width    (Width),
      .IndexBits(ActionBits),
      .LoopDepth(LoopDepth)
  ) u_update (
      .clk_i,
      .rst_i,
      .valid_i      (valid[WriteStage-1:MergeStage]),
      .alpha_i,
      .kappa_i,
      .reward_i     (gen_stage[MergeStage].reward_q),
      .entry_i      (gen_entry[MergeStage+1].entry_q),
      .max_i        (product_max_q),
      .greedy_i     (~product_rank_q),
      .terminated_i (product_terminated_q),
      .bias_i       (product_bias_q),
      .take_far_i   (product_take_q[LoopDepth+1]),
      .join_far_i   (product_join_q[LoopDepth+1]),
      .take_near_i  (product_take_q[LoopDepth]),
      .join_near_i  (product_join_q[LoopDepth]),
      .value_index_i(write_action),
      .value_o      (value),
      .not_value_o  (not_value),
      .max_o        (res_max_o),
      .greedy_o     (res_greedy_o),
      .saturated_o  (res_saturated_o)
  );

  assign res_valid_o = write_valid;
  assign res_value_o = value;
  assign res_forwarded_o = forwarded_q[LoopDepth+1];
  assign busy_o = s0_valid_q || valid != '0;

  // --- Invariants -----------------------------------------------------------------------------------
`ifndef SYNTHESIS
  logic offered_q;
  logic [2*StateBits+ActionBits+Width:0] offer, offer_q;
  assign offer = {tr_state_i, tr_action_i, tr_reward_i, tr_next_state_i, tr_terminated_i};
  logic idle;
  logic [2*qs_pkg::CoeffBits+1:0] settings, settings_q;
  assign idle = !busy_o && !tr_valid_i;
  assign settings = {alpha_i, kappa_i, rounding_i};
  always_ff @(posedge clk_i) begin
    offered_q  <= tr_valid_i && !tr_ready_o && !rst_i;
    offer_q    <= offer;
    settings_q <= settings;
  end
`endif
  `QS_ASSERT(OfferIsStable_A, !offered_q || (tr_valid_i && offer == offer_q))
  `QS_ASSERT(StateInRange_A, !tr_valid_i || 32'(tr_state_i) < States)
  `QS_ASSERT(ActionInRange_A, !tr_valid_i || 32'(tr_action_i) < Actions)
  `QS_ASSERT(NextStateInRange_A, !tr_valid_i || 32'(tr_next_state_i) < States)
  `QS_ASSERT(RoundingIsLegal_A, !tr_valid_i || rounding_i <= qs_pkg::RoundStochastic)
  `QS_ASSERT(SettingsAreStable_A, idle || settings == settings_q)
  `QS_ASSERT(NoiseLoadWaits_A, idle || !noise_load_i)
  `QS_ASSERT(HostWaits_A, idle || !host_write_i)

endmodule
