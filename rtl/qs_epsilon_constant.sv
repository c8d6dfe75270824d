// SPDX-License-Identifier: Apache-2.0
// The exploration of all agents without schedules, in place of qs_epsilon: one epsilon each.
//
// Function    Epsilon stays as it was loaded.
// Timing      One slot per clock. Epsilon is valid in stage 5.
// Handshake   access_i.load[2] writes the epsilon of the slot in stage 2 if s2_token_i is 1.
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

    input logic    [Slots-1:0][AgentBits-1:0] agent_i,    // in each stage
    input access_t                            access_i,
    input logic                               s2_token_i,

    output logic [EpsilonBits-1:0] s5_epsilon_o
);

  logic s2_load;
  assign s2_load = s2_token_i && access_i.load[2];

  qs_agent_ram #(
      .Agents(Agents),
      .Width (EpsilonBits)
  ) u_epsilon (
      .clk_i,
      .write_i      (s2_load),
      .write_agent_i(agent_i[AdvanceStage]),
      .write_data_i (access_i.data[EpsilonBits-1:0]),
      .read_agent_i (agent_i[FetchStage]),
      .clear_i      (1'b0),
      .data_o       (s5_epsilon_o)
  );

  logic unused_bits;
  assign unused_bits = ^{agent_i, access_i};

  `QS_ASSERT(EpsilonInRange_A, !s2_load || access_i.data[EpsilonBits-1:0] <= EpsilonBits'(1) << 24)

endmodule
