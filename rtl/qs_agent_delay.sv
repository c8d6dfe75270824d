// SPDX-License-Identifier: Apache-2.0
// Carries data of a slot from one stage to a later one: a delay line of one word per agent.
//
// Function    data_o in stage To is data_i of stage From, in slots that have an agent. It is undefined in
//             empty slots, so signals that make something happen must use qs_delay instead.
// Timing      To - From clocks, at least 2 and fewer than Slots; one value per clock.
// Handshake   none
// Reset       none: data only.
// Hazards     none: a slot is read before it returns.
// Invariants  none
// Resources   Width bits of qs_agent_ram, which from three clocks on is smaller than flip-flops.
// Reference   none

module qs_agent_delay #(
    parameter int unsigned Agents = 16,  // 1..16
    parameter int unsigned Slots  = 16,  // 16 or more
    parameter int unsigned Width  = 1,   // 1 or more
    parameter int unsigned From   = 0,
    parameter int unsigned To     = 3
) (
    input logic clk_i,

    input logic [Slots-1:0][qs_agents_pkg::AgentBits-1:0] agent_i,  // in each stage
    input logic [Slots-1:0]                               live_i,

    input  logic [Width-1:0] data_i,
    output logic [Width-1:0] data_o
);

  qs_agent_ram #(
      .Agents(Agents),
      .Width (Width)
  ) u_words (
      .clk_i,
      .write_i      (live_i[From%Slots]),
      .write_agent_i(agent_i[From%Slots]),
      .write_data_i (data_i),
      .read_agent_i (agent_i[(To-1)%Slots]),
      .clear_i      (1'b0),
      .data_o
  );

  logic unused_stages;
  assign unused_stages = ^{agent_i, live_i};

endmodule
