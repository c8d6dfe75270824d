// SPDX-License-Identifier: Apache-2.0
// The exploration of all agents without schedules, in place of qs_epsilon: one epsilon each.
//
// Function    Epsilon stays as it was loaded.
// Timing      One slot per clock. Epsilon is valid in RequestStage.
// Handshake   access_i.load[2] writes the epsilon of the slot in AdvanceStage if advance_token_i is 1.
// Reset       none: undefined until loaded.
// Hazards     none: a slot is read two stages after it is written.
// Invariants  EpsilonInRange_A
// Resources   25 bits per agent
// Reference   none

`include "qs_assert.svh"

module qs_epsilon_constant
  import qs_agents_pkg::*;
#(
    parameter int unsigned Agents = 16,  // 1..16
    parameter int unsigned Slots  = 16   // 16 or more
) (
    input logic clk_i,
    input logic rst_i,  // only gates the assertion

    input logic    [Slots-1:0][AgentBits-1:0] agent_i,         // in each stage
    input access_t                            access_i,
    input logic                               advance_token_i,

    output logic [EpsilonBits-1:0] request_epsilon_o
);

  logic advance_load;
  assign advance_load = advance_token_i && access_i.load[2];

  qs_agent_ram #(
      .Agents(Agents),
      .Width (EpsilonBits)
  ) u_epsilon (
      .clk_i,
      .write_i      (advance_load),
      .write_agent_i(agent_i[AdvanceStage]),
      .write_data_i (access_i.data[EpsilonBits-1:0]),
      .read_agent_i (agent_i[FetchStage]),
      .clear_i      (1'b0),
      .data_o       (request_epsilon_o)
  );

  logic unused_bits;
  assign unused_bits = ^{agent_i, access_i};

  `QS_ASSERT(EpsilonInRange_A,
             !advance_load || access_i.data[EpsilonBits-1:0] <= EpsilonBits'(1) << 24)

endmodule
