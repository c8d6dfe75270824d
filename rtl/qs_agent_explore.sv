// SPDX-License-Identifier: Apache-2.0
// The random part of the policy: whether a slot explores, and with which action.
//
// Function    The agent explores if its draw is below the threshold of epsilon; its action is then
//             (draw * Actions) >> 16. If the value of a known action is wanted, that action is picked instead.
//             Golden model: ActingModel._chosen in qstep.golden.agents.
// Timing      One slot per clock: draw and epsilon in stage 5, exploration in stage 9, the pick in TreeStage.
// Handshake   none
// Reset       none: data only.
// Hazards     none
// Invariants  none
// Resources   A comparator of 17 bits, a multiplication by a constant
// Reference   none

module qs_agent_explore
  import qs_agents_pkg::*;
#(
    parameter  int unsigned Actions    = 4,               // 2..64
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,

    input logic [   DrawBits-1:0] s5_explore_i,
    input logic [   DrawBits-1:0] s5_action_i,
    input logic [EpsilonBits-1:0] s5_epsilon_i,
    input logic                   s9_pick_i,
    input logic [ ActionBits-1:0] s9_action_i,

    output logic                  s9_explores_o,
    output logic                  picks_o,
    output logic [ActionBits-1:0] pick_o
);

  localparam int unsigned ScaledBits = DrawBits + ActionBits + 1;
  logic [ScaledBits-1:0] scaled;
  logic s6_explores_q, s10_picks_q;
  logic [ActionBits-1:0] s6_random_q, s9_random, s10_pick_q;

  assign scaled = ScaledBits'(s5_action_i) * ScaledBits'(Actions);
  always_ff @(posedge clk_i) begin
    s6_explores_q <= {1'b0, s5_explore_i} < s5_epsilon_i[EpsilonBits-1-:ThresholdBits];
    s6_random_q   <= scaled[DrawBits+:ActionBits];
  end

  qs_delay #(
      .Width(1 + ActionBits),
      .Depth(RowStage - PolicyStage)
  ) u_random (
      .clk_i,
      .data_i({s6_explores_q, s6_random_q}),
      .data_o({s9_explores_o, s9_random})
  );

  always_ff @(posedge clk_i) begin
    s10_picks_q <= s9_explores_o || s9_pick_i;
    s10_pick_q  <= s9_pick_i ? s9_action_i : s9_random;
  end

  qs_delay #(
      .Width(1 + ActionBits),
      .Depth(TreeStage - ActStage)
  ) u_pick (
      .clk_i,
      .data_i({s10_picks_q, s10_pick_q}),
      .data_o({picks_o, pick_o})
  );

  logic unused_bits;
  assign unused_bits = ^{scaled, s5_epsilon_i};

endmodule
