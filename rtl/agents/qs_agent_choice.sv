// SPDX-License-Identifier: Apache-2.0
// Policy and algorithm: picks the next action, its value and the target from a state's row.
//
// Function    The action is pick_action_i if pick_i is 1 (the agent explores, or the action is already known), else
//             the lowest action that attains the row's maximum. Double Q-learning takes the maximum of the sum of
//             both tables' rows. Algorithm selects the target: the row's maximum, the value of the action, the row's
//             expectation, or the other table's value of the greedy action of table number_i. Golden model: _chosen and
//             _target of ActingModel in qstep.golden.agents.
// Timing      Inputs in stage 0, except threshold_i; action and values in stage select_stage - TreeStage, the
//             target in stage target_stage - TreeStage. One row per clock.
// Handshake   none
// Reset       none: data only.
// Hazards     none
// Invariants  none of its own
// Resources   One comparator tree; for Double Q-learning two trees, and delay lines for both rows.
// Reference   Sutton and Barto, "Reinforcement learning" (2018), chapter 6; Van Hasselt, "Double Q-learning"
//             (2010).

module qs_agent_choice
  import qs_agents_pkg::*;
#(
    parameter  int unsigned Actions    = 4,                                    // 2..64
    parameter  int unsigned Width      = 16,                                   // 8..32
    parameter  int unsigned Algorithm  = 0,                                    // algorithm_e
    localparam int unsigned ActionBits = $clog2(Actions),
    localparam int unsigned Tables     = Algorithm == DoubleQLearning ? 2 : 1
) (
    input logic clk_i,
    input logic rst_i,  // only gates assertions of the tree

    input logic [       Tables-1:0][Actions-1:0][Width-1:0] rows_i,
    input logic                                             pick_i,
    input logic [   ActionBits-1:0]                         pick_action_i,
    input logic                                             number_i,
    input logic [ThresholdBits-1:0]                         threshold_i,    // see qs_expectation

    output logic        [ActionBits-1:0]            action_o,
    output logic        [    Tables-1:0][Width-1:0] values_o,
    output logic signed [       Width:0]            target_o
);

  localparam int unsigned Tree = qs_pkg::tree_stages(Actions);
  localparam int unsigned Select = select_stage(Actions, Algorithm) - TreeStage;

  logic picks;
  logic [ActionBits-1:0] picked;
  logic [ActionBits-1:0] greedy;

  // picks and picked are valid one stage before action_o and values_o.
  qs_delay #(
      .Width(1 + ActionBits),
      .Depth(Select - 1)
  ) u_pick (
      .clk_i,
      .data_i({pick_i, pick_action_i}),
      .data_o({picks, picked})
  );

  always_ff @(posedge clk_i) action_o <= picks ? picked : greedy;

  if (Algorithm == DoubleQLearning) begin : gen_double
    logic [Actions-1:0][Width:0] sums_q;
    logic [Actions-1:0][Width-1:0] own_q;
    logic [1:0][Actions-1:0][Width-1:0] rows;
    logic number;
    logic [ActionBits-1:0] best, action;

    always_ff @(posedge clk_i) begin
      for (int unsigned a = 0; a < Actions; a++) begin
        sums_q[a] <= (Width + 1)'($signed(rows_i[0][a])) + (Width + 1)'($signed(rows_i[1][a]));
        own_q[a]  <= rows_i[number_i][a];
      end
    end

    logic signed [  Width:0] unused_sum;
    logic signed [Width-1:0] unused_value;

    qs_max_tree #(
        .Actions(Actions),
        .Width  (Width + 1)
    ) u_policy (
        .clk_i,
        .rst_i,
        .valid_i ('1),
        .values_i(sums_q),
        .mask_i  ('0),
        .value_o (unused_sum),
        .index_o (greedy)
    );

    qs_max_tree #(
        .Actions(Actions),
        .Width  (Width)
    ) u_own (
        .clk_i,
        .rst_i,
        .valid_i ('1),
        .values_i(own_q),
        .mask_i  ('0),
        .value_o (unused_value),
        .index_o (best)
    );

    qs_delay #(
        .Width(1 + 2 * Actions * Width),
        .Depth(Tree + 1)
    ) u_rows (
        .clk_i,
        .data_i({number_i, rows_i}),
        .data_o({number, rows})
    );

    assign action = picks ? picked : greedy;
    always_ff @(posedge clk_i) begin
      values_o <= {rows[1][action], rows[0][action]};
      target_o <= (Width + 1)'($signed(rows[!number][best]));
    end

    logic unused_threshold;
    assign unused_threshold = ^threshold_i;
  end else begin : gen_single
    logic signed [Width-1:0] maximum, value;
    logic [Width-1:0] picked_value_q, picked_value;

    qs_max_tree #(
        .Actions(Actions),
        .Width  (Width)
    ) u_tree (
        .clk_i,
        .rst_i,
        .valid_i ('1),
        .values_i(rows_i[0]),
        .mask_i  ('0),
        .value_o (maximum),
        .index_o (greedy)
    );

    always_ff @(posedge clk_i) picked_value_q <= rows_i[0][pick_action_i];

    qs_delay #(
        .Width(Width),
        .Depth(Tree - 1)
    ) u_picked (
        .clk_i,
        .data_i(picked_value_q),
        .data_o(picked_value)
    );

    assign value = picks ? picked_value : maximum;
    always_ff @(posedge clk_i) values_o[0] <= value;

    if (Algorithm == ExpectedSarsa) begin : gen_expected
      qs_expectation #(
          .Actions(Actions),
          .Width  (Width)
      ) u_expectation (
          .clk_i,
          .row_i      (rows_i[0]),
          .maximum_i  (maximum),
          .threshold_i(threshold_i),
          .value_o    (target_o)
      );
    end else begin : gen_row
      always_ff @(posedge clk_i) target_o <= (Width + 1)'(Algorithm == Sarsa ? value : maximum);
      logic unused_threshold;
      assign unused_threshold = ^threshold_i;
    end
    logic unused_number;
    assign unused_number = number_i;
  end

endmodule
