// SPDX-License-Identifier: Apache-2.0
// Instantiates qs_world with a counter in place of random draws. The last 32 answers are packed into vectors, so that
// a Python bench can check every draw with one read per 32 clocks.
//
// Function    The draw is first_i in the clock after restart_i, and increases by 1 in every later clock. Element 0 of
//             each vector is the latest answer.
// Timing      latency_o is the number of clocks from a draw to its answer.

module qs_world_bench
  import qs_agents_pkg::*;
#(
    parameter  int unsigned States     = 6,
    parameter  int unsigned Actions    = 3,
    parameter  int unsigned Width      = 8,
    parameter  int unsigned Outcomes   = 4,
    parameter  int unsigned Starts     = 2,
    localparam int unsigned StateBits  = $clog2(States),
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,

    input logic        world_write_i,
    input logic        start_write_i,
    input logic [29:0] index_i,
    input logic [31:0] data_i,

    input logic                  restart_i,
    input logic [  DrawBits-1:0] first_i,
    input logic [ StateBits-1:0] state_i,
    input logic [ActionBits-1:0] action_i,

    output logic [31:0][31:0] rewards_o,
    output logic [31:0][15:0] next_states_o,
    output logic [31:0][15:0] starts_o,
    output logic [31:0] terminated_o,
    output logic [7:0] latency_o
);

  logic [DrawBits-1:0] draw_q;
  logic signed [Width-1:0] reward;
  logic [StateBits-1:0] next_state, start_state;
  logic terminated;

  assign latency_o = 8'(AnswerStage - RequestStage);

  qs_world #(
      .States  (States),
      .Actions (Actions),
      .Width   (Width),
      .Outcomes(Outcomes),
      .Starts  (Starts)
  ) u_world (
      .outcome_i    (draw_q),
      .start_i      (draw_q),
      .reward_o     (reward),
      .next_state_o (next_state),
      .terminated_o (terminated),
      .start_state_o(start_state),
      .*
  );

  always_ff @(posedge clk_i) begin
    draw_q        <= restart_i ? first_i : draw_q + 1'b1;
    rewards_o     <= {rewards_o[30:0], 32'(reward)};
    next_states_o <= {next_states_o[30:0], 16'(next_state)};
    starts_o      <= {starts_o[30:0], 16'(start_state)};
    terminated_o  <= {terminated_o[30:0], terminated};
  end

endmodule
