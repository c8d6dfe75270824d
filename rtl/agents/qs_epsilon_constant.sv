// SPDX-License-Identifier: Apache-2.0
// Constant epsilon of each agent, for devices without schedules; replaces qs_epsilon.
//
// Function    Epsilon stays as loaded.
// Timing      One slot per clock. Epsilon is valid in RequestStage.
// Handshake   advance_load_i writes the epsilon of the slot in AdvanceStage.
// Reset       none: epsilon is undefined until loaded.
// Hazards     none: epsilon is read two stages after it is written.
// Invariants  EpsilonInRange_A
// Resources   25 bits per agent
// Reference   none

`include "qs_assert.svh"

module qs_epsilon_constant
  import qs_agents_pkg::*;
#(
    parameter int unsigned Agents = 16  // 1..16
) (
    input logic clk_i,
    input logic rst_i,  // only gates the assertion

    input logic [  AgentBits-1:0] advance_agent_i,
    input logic                   advance_load_i,
    input logic [EpsilonBits-1:0] load_epsilon_i,
    input logic [  AgentBits-1:0] fetch_agent_i,

    output logic [EpsilonBits-1:0] request_epsilon_o
);

  qs_agent_ram #(
      .Agents(Agents),
      .Width (EpsilonBits)
  ) u_epsilon (
      .clk_i,
      .write_i      (advance_load_i),
      .write_agent_i(advance_agent_i),
      .write_data_i (load_epsilon_i),
      .read_agent_i (fetch_agent_i),
      .clear_i      (1'b0),
      .data_o       (request_epsilon_o)
  );

  `QS_ASSERT(EpsilonInRange_A, !advance_load_i || load_epsilon_i <= EpsilonBits'(1) << 24)

endmodule
