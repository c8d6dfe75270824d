// SPDX-License-Identifier: Apache-2.0
// Replaces qs_agent_slots: one agent has one slot in 16 clocks; other slots contain arbitrary other agents or none.
//
// Function    `slots_proof.sv` proves that qs_agent_slots behaves like this for each agent. The agent is the same as
//             in any/qs_agent_ram.sv. `phase_q` is the stage of its youngest slot. `age_q` counts clocks from
//             power-up; stages above it contain arbitrary values. Searches from power-up start in phase 0, and
//             induction starts in any phase. Until the induction's clocks have passed, a proof can make statements
//             only about the slot that was in stage 0 at power-up.

module qs_agent_slots
  import qs_agents_pkg::*;
#(
    parameter int unsigned Agents = 16,
    parameter int unsigned Slots  = 16   // 16
) (
    input logic clk_i,
    input logic rst_i,

    output logic [Slots-1:0][AgentBits-1:0] agent_o,
    output logic [Slots-1:0]                live_o,
    output logic                            turn_o,
    output logic                            clearing_o
);

  logic [5:0] age_q = '0;
  logic [3:0] phase_q = '0;
  // An undriven net may be read in one place only, so registers store the arbitrary values.
  logic [Slots-1:0][AgentBits-1:0] others_q, any_others;
  logic [Slots-1:0] lives_q, any_lives;
  logic turn_q, any_turn, any_clearing;

  for (genvar k = 0; k < Slots; k++) begin : gen_stage
    logic mine;
    assign mine       = phase_q == 4'(k) && 32'(age_q) >= k;
    assign agent_o[k] = mine ? agent_lane_proof.chosen : others_q[k];
    assign live_o[k]  = mine || lives_q[k];
    always_comb assume (others_q[k] != agent_lane_proof.chosen || 32'(age_q) < k);
  end
  assign turn_o = turn_q;
  assign clearing_o = age_q == '0 ? any_clearing : 32'(age_q) < 2 * Slots;

  always_ff @(posedge clk_i) begin
    if (age_q != '1) age_q <= age_q + 1'b1;
    phase_q <= phase_q + 1'b1;
    {others_q, lives_q, turn_q} <= {any_others, any_lives, any_turn};
  end

  logic unused_reset;
  assign unused_reset = rst_i;

endmodule
