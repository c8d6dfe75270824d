// SPDX-License-Identifier: Apache-2.0
// qs_agent_explore explores if one draw is below epsilon's threshold; another picks action (draw * Actions) >> 16.
//
// Function    The reference applies the formula to a delay line of each slot's inputs: the decision to explore is due
//             four clocks later, the pick six clocks later.
// Assumed     Epsilon is at most 1.

module explore_proof
  import qs_agents_pkg::*;
#(
    parameter  int unsigned Actions    = 6,
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,

    input logic [   DrawBits-1:0] request_explore_i,
    input logic [   DrawBits-1:0] request_action_i,
    input logic [EpsilonBits-1:0] request_epsilon_i,
    input logic                   row_pick_i,
    input logic [ ActionBits-1:0] row_action_i
);

  logic row_explores_o, picks_o;
  logic [ActionBits-1:0] pick_o;
  qs_agent_explore #(.Actions(Actions)) u_explore (.*);

  // Slots in stages 6 to 11, from power-up on.
  logic [11:6] slot_q = '0, explores_q;
  logic [11:6][DrawBits-1:0] action_q;
  logic [11:10] known_q;
  logic [11:10][ActionBits-1:0] known_action_q;
  always_ff @(posedge clk_i) begin
    slot_q         <= {slot_q[10:6], 1'b1};
    explores_q     <= {explores_q[10:6], {1'b0, request_explore_i} < (request_epsilon_i >> 8)};
    action_q       <= {action_q[10:6], request_action_i};
    known_q        <= {known_q[10], row_pick_i};
    known_action_q <= {known_action_q[10], row_action_i};
  end

  logic [DrawBits+ActionBits:0] scaled;
  localparam int unsigned ScaledBits = DrawBits + ActionBits + 1;
  assign scaled = ScaledBits'(action_q[11]) * ScaledBits'(Actions);

  always_comb begin
    assume (request_epsilon_i <= EpsilonBits'(1) << 24);
    assume (32'(row_action_i) < Actions);
    Explores_A : assert (!slot_q[9] || row_explores_o == explores_q[9]);
    if (slot_q[11]) begin
      Picks_A : assert (picks_o == (known_q[11] || explores_q[11]));
      Pick_A :
      assert (!picks_o || pick_o == (known_q[11] ? known_action_q[11] : ActionBits'(scaled >> 16)));
      InRange_A : assert (!picks_o || 32'(pick_o) < Actions);
      Last_C : cover (picks_o && !known_q[11] && 32'(pick_o) == Actions - 1);
    end
  end

endmodule
