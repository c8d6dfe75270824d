// SPDX-License-Identifier: Apache-2.0
// Replaces qs_agent_budget: at any time, agents may have steps left and runs may start.

module qs_agent_budget
  import qs_agents_pkg::*;
#(
    parameter int unsigned Agents = 16
) (
    input logic clk_i,
    input logic rst_i,

    input logic        run_i,
    input logic [47:0] run_steps_i,

    input logic                 turn_i,
    input logic [AgentBits-1:0] answer_agent_i,
    input logic [AgentBits-1:0] act_agent_i,
    input logic                 act_live_i,

    input  logic row_stepped_i,
    output logic begins_o,
    output logic tree_more_o,
    output logic left_o
);

  logic any_begins, any_more, any_left;
  always_ff @(posedge clk_i) {begins_o, tree_more_o, left_o} <= {any_begins, any_more, any_left};

  logic unused_inputs;
  assign unused_inputs = ^{
    rst_i, run_i, run_steps_i, turn_i, answer_agent_i, act_agent_i, act_live_i, row_stepped_i
  };

endmodule
