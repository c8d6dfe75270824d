// SPDX-License-Identifier: Apache-2.0
// qs_agent_slots gives an agent one slot in 16 clocks, which passes through the stages one by one.
//
// Function    The assumptions of any/qs_agent_slots.sv are proved for each of 16 agents: once k clocks have passed
//             since power-up, stage k contains the agent whose slot started k clocks ago. For two rotations after the
//             reset, all agents are inactive (`clearing_o`).
// Assumed     Power-up is the only reset.

module slots_proof
  import qs_agents_pkg::*;
#(
    parameter int unsigned Slots = 16
) (
    input logic clk_i,
    input logic rst_i
);

  logic [Slots-1:0][AgentBits-1:0] agent_o;
  logic [Slots-1:0] live_o;
  logic turn_o, clearing_o;
  qs_agent_slots #(
      .Agents(Slots),
      .Slots (Slots)
  ) u_slots (
      .*
  );

  // The agent, an arbitrary constant; its first slot starts when the phase is 0.
  logic [AgentBits-1:0] chosen;
  logic [3:0] phase_q;
  logic [5:0] age_q = '0;
  logic past_q = 1'b0;
  always_ff @(posedge clk_i) begin
    chosen  <= chosen;
    phase_q <= phase_q + 1'b1;
    if (age_q != '1) age_q <= age_q + 1'b1;
    past_q <= 1'b1;
  end

  for (genvar k = 0; k < Slots; k++) begin : gen_stage
    always_comb begin
      if (32'(age_q) >= k) begin
        Stage_A : assert (live_o[k] && (agent_o[k] == chosen) == (phase_q == 4'(k)));
        Rotation_L : assert (agent_o[k] == 4'(u_slots.slot_q - 4'(k)));
      end
    end
  end

  always_comb begin
    assume (rst_i == !past_q);
    assume (past_q || 4'(phase_q + chosen) == '0);
    Past_L : assert (past_q == (age_q != '0));
    Begins_L : assert (4'(phase_q + chosen) == u_slots.slot_q);
    Turn_L : assert (u_slots.turn_q == (u_slots.slot_q == 4'd15));
    Age_L : assert (32'(age_q) >= 48 || u_slots.slot_q == age_q[3:0]);
    if (past_q) begin
      Longer_L : assert (u_slots.clearing_longer_q == (32'(age_q) < 16));
      Clearing_A : assert (clearing_o == (32'(age_q) < 2 * Slots));
    end
    Last_C : cover (chosen == 4'd9 && agent_o[6] == chosen && !clearing_o && turn_o);
  end

endmodule
