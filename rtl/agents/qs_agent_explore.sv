// SPDX-License-Identifier: Apache-2.0
// Exploration: decides whether a slot explores, and with which action.
//
// Function    The agent explores if its draw is below epsilon's threshold; its action is then (draw * Actions) >> 16.
//             If the slot needs the value of a known action, that action is picked instead. Golden model:
//             ActingModel._chosen in qstep.golden.agents.
// Timing      One slot per clock: draw and epsilon in RequestStage, exploration in RowStage, the pick in TreeStage.
// Handshake   none
// Reset       none: data only.
// Hazards     none
// Invariants  none
// Resources   A 17-bit comparator, a multiplication by a constant
// Reference   none

module qs_agent_explore
  import qs_agents_pkg::*;
#(
    parameter  int unsigned Actions    = 4,               // 2..64
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,

    input logic [   DrawBits-1:0] request_explore_i,
    input logic [   DrawBits-1:0] request_action_i,
    input logic [EpsilonBits-1:0] request_epsilon_i,
    input logic                   row_pick_i,
    input logic [ ActionBits-1:0] row_action_i,

    output logic                  row_explores_o,
    output logic                  picks_o,
    output logic [ActionBits-1:0] pick_o
);

  localparam int unsigned ScaledBits = DrawBits + ActionBits + 1;
  logic [ScaledBits-1:0] scaled;
  logic policy_explores_q, act_picks_q;
  logic [ActionBits-1:0] policy_random_q, row_random, act_pick_q;

  assign scaled = ScaledBits'(request_action_i) * ScaledBits'(Actions);
  always_ff @(posedge clk_i) begin
    policy_explores_q <= {1'b0, request_explore_i} <
        request_epsilon_i[EpsilonBits-1-:ThresholdBits];
    policy_random_q <= scaled[DrawBits+:ActionBits];
  end

  qs_delay #(
      .Width(1 + ActionBits),
      .Depth(RowStage - PolicyStage)
  ) u_random (
      .clk_i,
      .data_i({policy_explores_q, policy_random_q}),
      .data_o({row_explores_o, row_random})
  );

  always_ff @(posedge clk_i) begin
    act_picks_q <= row_explores_o || row_pick_i;
    act_pick_q  <= row_pick_i ? row_action_i : row_random;
  end

  qs_delay #(
      .Width(1 + ActionBits),
      .Depth(TreeStage - ActStage)
  ) u_pick (
      .clk_i,
      .data_i({act_picks_q, act_pick_q}),
      .data_o({picks_o, pick_o})
  );

  logic unused_bits;
  assign unused_bits = ^{scaled, request_epsilon_i};

endmodule
