// SPDX-License-Identifier: Apache-2.0
// The rotation of the interleaved lane: which agent is in which stage.
//
// Function    A slot enters stage 0 in every clock; agent n has slot n of each rotation, and slots beyond the
//             agents are empty. wakes_o is 1 for two turns after reset, in which no agent does anything and
//             all flags are cleared.
// Timing      A rotation has Slots clocks.
// Handshake   none
// Reset       wakes_o is 1. The rotation goes on, from slot 0 after power-up: where it began anew, a slot would
//             meet the one before it of its agent.
// Hazards     none
// Invariants  none
// Resources   5 flip-flops a stage
// Reference   none

module qs_agent_slots
  import qs_agents_pkg::*;
#(
    parameter int unsigned Agents = 16,  // 1..16
    parameter int unsigned Slots  = 16   // 16 or more
) (
    input logic clk_i,
    input logic rst_i,

    output logic [Slots-1:0][AgentBits-1:0] agent_o,  // in each stage
    output logic [Slots-1:0]                live_o,   // it is an agent
    output logic                            turn_o,   // the last clock of a turn
    output logic                            wakes_o
);

  localparam int unsigned SlotBits = $clog2(Slots);

  logic [SlotBits-1:0] slot_q = '0;
  logic turn_q = 1'b0;
  logic [Slots-1:1][AgentBits-1:0] agent_q;
  logic [Slots-1:1] live_q;
  logic wakes_q, wakes_longer_q;

  assign agent_o = {agent_q, AgentBits'(slot_q)};
  assign live_o  = {live_q, Agents == Slots || 32'(slot_q) < Agents};
  assign turn_o  = turn_q;
  assign wakes_o = wakes_q;

  always_ff @(posedge clk_i) begin
    slot_q  <= turn_q ? '0 : slot_q + 1'b1;
    turn_q  <= 32'(slot_q) == Slots - 2;
    agent_q <= agent_o[Slots-2:0];
    live_q  <= live_o[Slots-2:0];
  end

  always_ff @(posedge clk_i) begin
    if (turn_q) {wakes_q, wakes_longer_q} <= {wakes_longer_q, 1'b0};
    if (rst_i) {wakes_q, wakes_longer_q} <= '1;
  end

endmodule
