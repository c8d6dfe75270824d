// SPDX-License-Identifier: Apache-2.0
// The world at a board's pins: a handshake that needs no common clock.
//
// Function    An action stays at the pins, with pin_action_valid_o, until it is answered. The answer is taken when
//             pin_answer_valid_i rises; then pin_action_valid_o falls. It rises for the next action after
//             pin_answer_valid_i has fallen.
// Timing      Inputs pass two registers and outputs one: an answer reaches the device two clocks after the first edge
//             that sees it, and an action reaches the pins a clock after it leaves the device.
// Handshake   Four phases, as above. The other answer pins and pin_start_state_i must be valid a clock before
//             pin_answer_valid_i and stay until pin_action_valid_o has fallen.
// Reset       No action waits.
// Hazards     All inputs are asynchronous; only pin_answer_valid_i may change at any time.
// Invariants  none
// Resources   docs/live-worlds.md
// Reference   none

module qs_pins #(
    parameter int unsigned StateBits  = 5,
    parameter int unsigned ActionBits = 2,
    parameter int unsigned Width      = 16
) (
    input logic clk_i,
    input logic rst_i,

    // The device
    input  logic                  action_valid,
    input  logic [ StateBits-1:0] action_state,
    input  logic [ActionBits-1:0] action,
    output logic                  answer_valid,
    output logic [     Width-1:0] answer_reward,
    output logic [ StateBits-1:0] answer_next_state,
    output logic                  answer_terminated,
    output logic [ StateBits-1:0] start_state,

    // The pins
    output logic                  pin_action_valid_o,
    output logic [ StateBits-1:0] pin_action_state_o,
    output logic [ActionBits-1:0] pin_action_o,
    input  logic                  pin_answer_valid_i,
    input  logic [     Width-1:0] pin_answer_reward_i,
    input  logic [ StateBits-1:0] pin_answer_next_state_i,
    input  logic                  pin_answer_terminated_i,
    input  logic [ StateBits-1:0] pin_start_state_i
);

  localparam int unsigned WordBits = Width + 2 * StateBits + 1;

  logic [2:0] valid_q;
  logic [1:0][WordBits-1:0] word_q;
  logic waits_q, waits;

  assign {answer_reward, answer_next_state, answer_terminated, start_state} = word_q[1];
  assign answer_valid = waits_q && valid_q[1] && !valid_q[2];
  assign waits = action_valid || (waits_q && !answer_valid);

  always_ff @(posedge clk_i) begin
    valid_q <= {valid_q[1:0], pin_answer_valid_i};
    word_q <= {
      word_q[0],
      pin_answer_reward_i,
      pin_answer_next_state_i,
      pin_answer_terminated_i,
      pin_start_state_i
    };
    waits_q <= waits;
    pin_action_valid_o <= waits && !valid_q[1];
    if (action_valid) {pin_action_state_o, pin_action_o} <= {action_state, action};
    if (rst_i) begin
      waits_q <= 1'b0;
      pin_action_valid_o <= 1'b0;
    end
  end

endmodule
