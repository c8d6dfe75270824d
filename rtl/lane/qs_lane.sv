// SPDX-License-Identifier: Apache-2.0
// The lane: a Q-table and the pipeline that applies one transition per clock to it, exactly.
//
// Function    After n accepted transitions the table equals, bit for bit, the table of the sequential model after the
//             same n transitions. docs/lane.md describes ports and pipeline. Golden model: qstep.golden.lane.
//             A transition reads the table in TableStage, and misses the writes of the WriteStage transitions ahead
//             of it. The entries that they write are masked in the comparator tree. Their new values join the maximum
//             as they appear, one per clock: the result of the transition d clocks ahead appears while this one is in
//             stage WriteStage - d.
// Timing      WriteStage = 5 + clog2(Actions) + LoopDepth clocks from the issue register (stage 0) to the result.
//             LoopDepth 1: one transition per clock for any stream. LoopDepth n: a transition that depends on another
//             one d < n clocks ahead waits n - d clocks.
// Handshake   A transition is accepted when tr_valid_i and tr_ready_o are both 1, and must be held stable until then.
//             res_* cannot be stalled. Host writes, noise loads, and changes of alpha_i, kappa_i and rounding_i are
//             allowed only while the lane is idle (busy_o and tr_valid_i both 0).
// Reset       Empties the pipeline; the table keeps its contents (undefined after power-up: write it first).
//             Data registers are enabled by the valid bit of their stage and are not reset.
// Hazards     qs_hazard detects them; this module joins the far results, and qs_update joins the two nearest.
// Invariants  OfferIsStable_A, StateInRange_A, ActionInRange_A, NextStateInRange_A, RoundingIsLegal_A,
//             SettingsAreStable_A, NoiseLoadWaits_A, HostWaits_A
// Resources   qs_table, Actions - 1 + WriteStage - LoopDepth comparators, five multipliers.
// Reference   Watkins and Dayan, "Q-learning", Machine Learning 8 (1992).

`include "qs_assert.svh"

module qs_lane #(
    parameter int unsigned States = 64,  // 2..65536
    parameter int unsigned Actions = 4,  // 2..64
    parameter int unsigned Width = 16,  // 8..32
    parameter int unsigned CoeffFraction = 15,  // fractional bits of alpha and kappa, 15..24
    parameter int unsigned LoopDepth = 1,  // 1..3
    localparam int unsigned StateBits = $clog2(States),
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,

    // Coefficients, rounding and noise
    input  logic [qs_pkg::CoeffBits-1:0] alpha_i,       // 0..2^CoeffFraction
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

    // Table access by the host
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
  if (CoeffFraction < 15 || CoeffFraction > 24) begin : gen_bad_coeff_fraction
    $fatal(1, "qs_lane: CoeffFraction is %0d, legal is 15..24", CoeffFraction);
  end
  if (LoopDepth < 1 || LoopDepth > 3) begin : gen_bad_loop_depth
    $fatal(1, "qs_lane: LoopDepth is %0d, legal is 1..3", LoopDepth);
  end

  // The stages: issue (0), table, tree, merge, product, loop, write.
  localparam int unsigned TableStage = 1;
  localparam int unsigned TreeStage = 2;
  localparam int unsigned MergeStage = qs_pkg::merge_stage(Actions);
  localparam int unsigned WriteStage = qs_pkg::write_stage(Actions, LoopDepth);
  localparam logic signed [Width-1:0] LEAST = {1'b1, {(Width - 1) {1'b0}}};

  typedef qs_pkg::ranked#(
      .Width(Width),
      .RankBits(ActionBits)
  ) ranked;

  // The newest result, in WriteStage.
  logic                 write_valid;
  logic [StateBits-1:0] write_state;
  logic [ActionBits-1:0] write_action, write_rank;
  logic signed [Width-1:0] value;
  logic        [Width-1:0] not_value;

  // --- Issue ----------------------------------------------------------------------------------------
  logic issue_valid_q, issue_terminated_q;
  logic [StateBits-1:0] issue_state_q, issue_next_state_q;
  logic [ActionBits-1:0] issue_action_q;
  logic signed [Width-1:0] issue_reward_q;
  logic [WriteStage:1] replaces_entry, joins_max, valid;
  logic [Actions-1:0] tree_mask;

  assign tr_ready_o = !hold_o;

  always_ff @(posedge clk_i) begin
    issue_valid_q <= tr_valid_i || hold_o;
    if (!hold_o) begin
      issue_state_q      <= tr_state_i;
      issue_action_q     <= tr_action_i;
      issue_reward_q     <= tr_reward_i;
      issue_next_state_q <= tr_next_state_i;
      issue_terminated_q <= tr_terminated_i;
    end
    if (rst_i) issue_valid_q <= 1'b0;
  end

  qs_hazard #(
      .States   (States),
      .Actions  (Actions),
      .LoopDepth(LoopDepth)
  ) u_hazard (
      .clk_i,
      .rst_i,
      .issue_valid_i     (issue_valid_q),
      .issue_state_i     (issue_state_q),
      .issue_action_i    (issue_action_q),
      .issue_next_state_i(issue_next_state_q),
      .offer_state_i     (tr_state_i),
      .offer_action_i    (tr_action_i),
      .offer_next_state_i(tr_next_state_i),
      .hold_o            (hold_o),
      .replaces_entry_o  (replaces_entry),
      .joins_max_o       (joins_max),
      .mask_o            (tree_mask),
      .valid_o           (valid),
      .write_state_o     (write_state),
      .write_action_o    (write_action),
      .write_rank_o      (write_rank)
  );

  assign write_valid = valid[WriteStage];

  // --- TableStage -----------------------------------------------------------------------------------
  logic [Actions-1:0][Width-1:0] tree_row;
  logic [Width-1:0] tree_entry;

  qs_table #(
      .States (States),
      .Actions(Actions),
      .Width  (Width)
  ) u_table (
      .clk_i,
      .rst_i,
      .row_state_i   (issue_next_state_q),
      .row_o         (tree_row),
      .entry_state_i (issue_valid_q ? issue_state_q : host_state_i),
      .entry_action_i(issue_valid_q ? issue_action_q : host_action_i),
      .entry_o       (tree_entry),
      .write_i       (write_valid || host_write_i),
      .write_state_i (write_valid ? write_state : host_state_i),
      .write_action_i(write_valid ? write_action : host_action_i),
      .write_data_i  (write_valid ? value : host_data_i)
  );

  assign host_data_o = tree_entry;

  // --- From TreeStage to MergeStage - 1: comparator tree --------------------------------------------
  logic signed [Width-1:0] tree_max;
  logic [ActionBits-1:0] tree_greedy;

  qs_max_tree #(
      .Actions(Actions),
      .Width  (Width)
  ) u_max_tree (
      .clk_i,
      .rst_i,
      .valid_i (valid[MergeStage-1:TreeStage]),
      .values_i(tree_row),
      .mask_i  (tree_mask),
      .value_o (tree_max),
      .index_o (tree_greedy)
  );

  // --- From TableStage to MergeStage: transitions in flight -----------------------------------------
  // Bit n of replaces_entry and joins_max belongs to the result that will be in `value` n clocks from now. Results less
  // than LoopDepth clocks ahead need no bit, because qs_hazard holds the transition.
  localparam int unsigned Ahead = WriteStage - LoopDepth;

  typedef struct packed {
    logic [Ahead-1:0] replaces_entry;
    logic [Ahead-1:0] joins_max;
    logic forwarded;  // a result was used
    logic terminated;
    logic signed [Width-1:0] reward;
    logic signed [Width-1:0] entry;
    logic signed [Width-1:0] max;  // the greatest result joined so far
    logic [ActionBits-1:0] rank;
  } flight_t;

  flight_t [MergeStage:TableStage] flight_q;
  logic [Ahead:0] issue_replaces_entry, issue_joins_max;

  for (genvar n = 0; n <= Ahead; n++) begin : gen_ahead
    assign issue_replaces_entry[n] = replaces_entry[WriteStage-n];
    assign issue_joins_max[n] = joins_max[WriteStage-n];
  end

  always_ff @(posedge clk_i) begin
    if (issue_valid_q) begin
      flight_q[TableStage] <= '{
          replaces_entry: issue_replaces_entry[Ahead:1],
          joins_max: issue_joins_max[Ahead:1],
          forwarded: issue_replaces_entry[0] || issue_joins_max[0],
          terminated: issue_terminated_q,
          reward: issue_reward_q,
          entry: value,
          max: issue_joins_max[0] ? value : LEAST,
          rank: issue_joins_max[0] ? write_rank : '0  // no result joined: loses every tie
      };
    end
  end

  // 1 if a result has replaced the entry that the table returns in TreeStage.
  logic table_replaced_q, tree_replaced_q;
  always_ff @(posedge clk_i) begin
    if (issue_valid_q) table_replaced_q <= issue_replaces_entry[0];
    if (valid[TableStage]) begin
      tree_replaced_q <= table_replaced_q || flight_q[TableStage].replaces_entry[0];
    end
  end

  for (genvar k = TableStage; k < MergeStage; k++) begin : gen_flight
    flight_t flight, flight_d;
    assign flight = flight_q[k];
    always_comb begin
      flight_d = flight;
      flight_d.replaces_entry = flight.replaces_entry >> 1;
      flight_d.joins_max = flight.joins_max >> 1;
      flight_d.forwarded = flight.forwarded || flight.replaces_entry[0] || flight.joins_max[0];
      if (k == TreeStage && !tree_replaced_q) flight_d.entry = tree_entry;
      if (flight.replaces_entry[0]) flight_d.entry = value;
      if (flight.joins_max[0] && ranked::reaches(
              not_value, write_action, flight.max, flight.rank
          )) begin
        flight_d.max  = value;
        flight_d.rank = write_rank;
      end
    end
    always_ff @(posedge clk_i) if (valid[k]) flight_q[k+1] <= flight_d;
  end

  // --- MergeStage: the maximum of tree, joined results and newest result ----------------------------
  // Three comparisons run in parallel, so that this stage is no slower than a level of the tree.
  // `keep`: otherwise yosys would absorb this register into iCE40's multiplier, and the long route to the multiplier
  // would follow the comparisons in the same clock.
  (* keep *) logic signed [Width-1:0] product_max_q;
  logic signed [Width-1:0] product_entry_q;
  logic [ActionBits-1:0] product_rank_q;

  flight_t merge;
  logic value_is_greater, tree_is_greatest;
  assign merge = flight_q[MergeStage];
  assign value_is_greater = merge.joins_max[0] && ranked::reaches(
      not_value, write_action, merge.max, merge.rank
  );
  assign tree_is_greatest = ranked::reaches(
      ~tree_max, tree_greedy, merge.max, merge.rank
  ) && (!merge.joins_max[0] || ranked::reaches(
      ~tree_max, tree_greedy, value, write_rank
  ));

  always_ff @(posedge clk_i) begin
    if (valid[MergeStage]) begin
      product_entry_q <= merge.replaces_entry[0] ? value : merge.entry;
      if (tree_is_greatest) begin
        product_max_q  <= tree_max;
        product_rank_q <= ~tree_greedy;
      end else if (value_is_greater) begin
        product_max_q  <= value;
        product_rank_q <= write_rank;
      end else begin
        product_max_q  <= merge.max;
        product_rank_q <= merge.rank;
      end
    end
  end

  // --- Rounding -------------------------------------------------------------------------------------
  logic stochastic;
  logic [CoeffFraction-1:0] draw, product_bias_q;
  assign stochastic = rounding_i == qs_pkg::RoundStochastic;

  qs_noise #(
      .CoeffFraction(CoeffFraction)
  ) u_noise (
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
        default:                 product_bias_q <= CoeffFraction'(1) << (CoeffFraction - 1);
      endcase
    end
  end

  // --- From MergeStage + 1 to WriteStage: products and loop -----------------------------------------
  logic [1:0] product_replaces_entry_q, product_joins_max_q;  // bit 0: far, bit 1: near result
  logic product_terminated_q;
  logic [LoopDepth+1:0] forwarded_q;  // to WriteStage

  always_ff @(posedge clk_i) begin
    product_replaces_entry_q <= merge.replaces_entry[2:1];
    product_joins_max_q <= merge.joins_max[2:1];
    product_terminated_q <= merge.terminated;
    forwarded_q <= {
      forwarded_q[LoopDepth:0], merge.forwarded || (merge.replaces_entry | merge.joins_max) != '0
    };
  end

  qs_update #(
      .Width        (Width),
      .CoeffFraction(CoeffFraction),
      .IndexBits    (ActionBits),
      .LoopDepth    (LoopDepth)
  ) u_update (
      .clk_i,
      .rst_i,
      .valid_i              (valid[WriteStage-1:MergeStage]),
      .alpha_i,
      .kappa_i,
      .reward_i             (merge.reward),
      .entry_i              (product_entry_q),
      .max_i                (product_max_q),
      .greedy_i             (~product_rank_q),
      .terminated_i         (product_terminated_q),
      .bias_i               (product_bias_q),
      .far_replaces_entry_i (product_replaces_entry_q[0]),
      .far_joins_max_i      (product_joins_max_q[0]),
      .near_replaces_entry_i(product_replaces_entry_q[1]),
      .near_joins_max_i     (product_joins_max_q[1]),
      .value_index_i        (write_action),
      .value_o              (value),
      .not_value_o          (not_value),
      .max_o                (res_max_o),
      .greedy_o             (res_greedy_o),
      .saturated_o          (res_saturated_o)
  );

  assign res_valid_o = write_valid;
  assign res_value_o = value;
  assign res_forwarded_o = forwarded_q[LoopDepth+1];
  assign busy_o = issue_valid_q || valid != '0;

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
