// SPDX-License-Identifier: Apache-2.0
// Replaces qs_agent_choice: the same stages, but with arbitrary functions as policy and target.
//
// Function    `choice_proof.sv` proves that qs_agent_choice behaves like this with the functions of each algorithm.

module qs_agent_choice
  import qs_agents_pkg::*;
#(
    parameter  int unsigned Actions    = 4,
    parameter  int unsigned Width      = 16,
    parameter  int unsigned Algorithm  = 0,
    localparam int unsigned ActionBits = $clog2(Actions),
    localparam int unsigned Tables     = Algorithm == DoubleQLearning ? 2 : 1
) (
    input logic clk_i,
    input logic rst_i,

    input logic [       Tables-1:0][Actions-1:0][Width-1:0] rows_i,
    input logic                                             pick_i,
    input logic [   ActionBits-1:0]                         pick_action_i,
    input logic                                             number_i,
    input logic [ThresholdBits-1:0]                         threshold_i,

    output logic        [ActionBits-1:0]            action_o,
    output logic        [    Tables-1:0][Width-1:0] values_o,
    output logic signed [       Width:0]            target_o
);

  localparam int unsigned Select = select_stage(Actions, Algorithm) - TreeStage;
  localparam int unsigned Target = target_stage(Actions, Algorithm) - TreeStage;
  localparam int unsigned Waits = qs_pkg::tree_stages(Actions) + (Actions > 2 ? 1 : 2);

  typedef struct packed {
    logic [Tables-1:0][Actions-1:0][Width-1:0] rows;
    logic pick;
    logic [ActionBits-1:0] pick_action;
    logic number;
  } operands_t;

  operands_t [Target:0] line;
  operands_t [Target:1] line_q;
  logic [ThresholdBits-1:0] threshold;
  logic unused_action;

  assign line[0] = {rows_i, pick_i, pick_action_i, number_i};
  assign line[Target:1] = line_q;
  always_ff @(posedge clk_i) line_q <= line[Target-1:0];

  qs_delay #(
      .Width(ThresholdBits),
      .Depth(Algorithm == ExpectedSarsa ? Target - Waits : 0)
  ) u_threshold (
      .clk_i,
      .data_i(threshold_i),
      .data_o(threshold)
  );

  policy #(
      .Actions(Actions),
      .Width  (Width),
      .Tables (Tables)
  ) u_select (
      .rows_i       (line[Select].rows),
      .pick_i       (line[Select].pick),
      .pick_action_i(line[Select].pick_action),
      .number_i     (1'b0),
      .threshold_i  ('0),
      .action_o,
      .target_o     ()
  );
  for (genvar t = 0; t < Tables; t++) begin : gen_value
    assign values_o[t] = line[Select].rows[t][action_o];
  end

  policy #(
      .Actions(Actions),
      .Width  (Width),
      .Tables (Tables)
  ) u_target (
      .rows_i       (line[Target].rows),
      .pick_i       (line[Target].pick),
      .pick_action_i(line[Target].pick_action),
      .number_i     (Tables > 1 && line[Target].number),
      .threshold_i  (threshold),
      .action_o     (),
      .target_o     (target_o)
  );

  logic unused_reset;
  assign unused_reset = rst_i;

endmodule
