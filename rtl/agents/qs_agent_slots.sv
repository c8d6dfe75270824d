// SPDX-License-Identifier: Apache-2.0
// The rotation of the interleaved lane: which agent is in which stage.
//
// Function    A slot enters stage 0 every clock. Slot n of each rotation belongs to agent n; the other slots are empty.
//             clearing_o is 1 for two rotations after reset, during which no agent acts and all flags are cleared.
// Timing      A rotation has Slots clocks.
// Handshake   none
// Reset       Sets clearing_o to 1. The rotation, which begins at slot 0 after power-up, is not restarted: a restart
//             could bring an agent's next slot too close to its previous one.
// Hazards     none
// Invariants  none
// Resources   30 flip-flops for a rotation of 16 slots, plus one per stage if some slots are empty
// Reference   none

module qs_agent_slots
  import qs_agents_pkg::*;
#(
    parameter int unsigned Agents = 16,  // 1..16
    parameter int unsigned Slots  = 16   // 16 or more
) (
    input logic clk_i,
    input logic rst_i,

    output logic [Slots-1:0][AgentBits-1:0] agent_o,    // in each stage
    output logic [Slots-1:0]                live_o,     // the slot has an agent
    output logic                            turn_o,     // last clock of a rotation
    output logic                            clearing_o
);

  localparam int unsigned SlotBits = $clog2(Slots);

  // verilator lint_off PROCASSINIT
  logic [SlotBits-1:0] slot_q = '0;
  logic turn_q = 1'b0;
  // verilator lint_on PROCASSINIT
  logic [Slots-1:1] live_q;
  logic clearing_q, clearing_longer_q;

  // Bit b of the agent number repeats every 2^(b + 1) slots if that divides the rotation's length, else every rotation.
  for (genvar b = 0; b < AgentBits; b++) begin : gen_bit
    localparam int unsigned Own = 2 << b;
    localparam int unsigned Period = Slots % Own == 0 ? Own : Slots;
    logic [Period-1:1] line_q;
    logic [Period-1:0] line;

    assign line = {line_q, 1'(slot_q >> b)};
    always_ff @(posedge clk_i) line_q <= line[Period-2:0];
    for (genvar k = 0; k < Slots; k++) begin : gen_stage
      assign agent_o[k][b] = line[k%Period];
    end
  end

  assign live_o = {live_q, Agents == Slots || 32'(slot_q) < Agents};
  assign turn_o = turn_q;
  assign clearing_o = clearing_q;

  always_ff @(posedge clk_i) begin
    slot_q <= turn_q ? '0 : slot_q + 1'b1;
    turn_q <= 32'(slot_q) == Slots - 2;
    live_q <= live_o[Slots-2:0];
  end

  always_ff @(posedge clk_i) begin
    if (turn_q) {clearing_q, clearing_longer_q} <= {clearing_longer_q, 1'b0};
    if (rst_i) {clearing_q, clearing_longer_q} <= '1;
  end

endmodule
