// SPDX-License-Identifier: Apache-2.0
// Connects an external world to a board's pins with a handshake that needs no common clock.
//
// Function    An action stays at the pins, with pin_action_valid_o asserted, until it is answered. The answer is
//             sampled when pin_answer_valid_i rises; then pin_action_valid_o falls. It rises for the next action
//             after pin_answer_valid_i has fallen.
// Timing      Inputs pass through two registers and outputs through one: an answer reaches the device two clocks after
//             the edge that first samples it, and an action reaches the pins one clock after it leaves the device.
// Handshake   Four phases, as above. pin_answer_i must be valid one clock before pin_answer_valid_i rises, and stay
//             stable until pin_action_valid_o has fallen.
// Reset       No action is pending.
// Hazards     All inputs are asynchronous; only pin_answer_valid_i may change at any time.
// Invariants  none
// Resources   docs/live-worlds.md
// Reference   none

module qs_pins #(
    parameter int unsigned ActionBits = 7,  // all words of an action, without its valid bit
    parameter int unsigned AnswerBits = 27  // all words of an answer
) (
    input logic clk_i,
    input logic rst_i,

    // The device
    input  logic                  action_valid_i,
    input  logic [ActionBits-1:0] action_i,
    output logic                  answer_valid_o,
    output logic [AnswerBits-1:0] answer_o,

    // The pins
    output logic                  pin_action_valid_o,
    output logic [ActionBits-1:0] pin_action_o,
    input  logic                  pin_answer_valid_i,
    input  logic [AnswerBits-1:0] pin_answer_i
);

  logic [2:0] valid_q;
  logic [1:0][AnswerBits-1:0] answer_q;
  logic waits_q, waits;

  assign answer_o = answer_q[1];
  assign answer_valid_o = waits_q && valid_q[1] && !valid_q[2];
  assign waits = action_valid_i || (waits_q && !answer_valid_o);

  always_ff @(posedge clk_i) begin
    valid_q <= {valid_q[1:0], pin_answer_valid_i};
    answer_q <= {answer_q[0], pin_answer_i};
    waits_q <= waits;
    pin_action_valid_o <= waits && !valid_q[1];
    if (action_valid_i) pin_action_o <= action_i;
    if (rst_i) begin
      waits_q <= 1'b0;
      pin_action_valid_o <= 1'b0;
    end
  end

endmodule
