// SPDX-License-Identifier: Apache-2.0
// One instance of qs_agent_choice per algorithm, with qs_expectation included; all get the same rows.
//
// Function    Field k of each output belongs to algorithm k (qs_agents_pkg::algorithm_e).
// Timing      Inputs have the same timing as in the block. select_o, target_stage_o and threshold_o are the numbers of
//             clocks from the rows to the action and values, to the target, and to the threshold, respectively.
// Reset       none: data only.

module qs_agent_choice_bench
  import qs_agents_pkg::*;
#(
    parameter  int unsigned Actions    = 4,
    parameter  int unsigned Width      = 16,
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,

    input logic [              1:0][Actions-1:0][Width-1:0] rows_i,
    input logic                                             pick_i,
    input logic [   ActionBits-1:0]                         pick_action_i,
    input logic                                             number_i,
    input logic [ThresholdBits-1:0]                         threshold_i,

    output logic [3:0][ActionBits-1:0] action_o,
    output logic [3:0][1:0][Width-1:0] values_o,
    output logic [3:0][Width:0] target_o,

    output logic [3:0][7:0] select_o,
    output logic [3:0][7:0] target_stage_o,
    output logic [7:0] threshold_o
);

  assign threshold_o = 8'(qs_pkg::tree_stages(Actions) + (Actions > 2 ? 1 : 2));

  for (genvar k = 0; k < 4; k++) begin : gen_algorithm
    localparam int unsigned Tables = k == DoubleQLearning ? 2 : 1;
    logic [Tables-1:0][Width-1:0] values;

    assign select_o[k] = 8'(select_stage(Actions, k) - TreeStage);
    assign target_stage_o[k] = 8'(target_stage(Actions, k) - TreeStage);
    assign values_o[k] = (2 * Width)'(values);

    qs_agent_choice #(
        .Actions  (Actions),
        .Width    (Width),
        .Algorithm(k)
    ) u_choice (
        .rows_i  (rows_i[Tables-1:0]),
        .action_o(action_o[k]),
        .values_o(values),
        .target_o(target_o[k]),
        .*
    );
  end

endmodule
