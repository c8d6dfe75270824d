// SPDX-License-Identifier: Apache-2.0
// Plays the world at a board's pins, with no clock in common as far as it can: a bench.
//
// Function    As qs_pins_bench, of one agent, but each phase of the handshake of qs_pins comes some clocks late, and
//             while nothing is answered the pins of an answer are noise.
// Timing      none
// Handshake   as qs_pins has it
// Reset       Nobody waits.
// Hazards     none
// Invariants  ActionStays_A
// Resources   none
// Reference   none

module qs_led_pins_bench (
    input logic clk,
    input logic rst,

    input  logic       rx_valid,
    output logic       rx_ready,
    input  logic [7:0] rx_data,
    output logic       tx_valid,
    input  logic       tx_ready,
    output logic [7:0] tx_data,

    output logic [15:0] divisor
);

  logic action_valid, answer_valid, answer_terminated;
  logic [2:0] action_state, answer_next_state, start_state;
  logic [ 1:0] action;
  logic [15:0] answer_reward;

  qstep_device u_device (
      .clk,
      .rst,
      .rx_valid,
      .rx_ready,
      .rx_data,
      .tx_valid,
      .tx_ready,
      .tx_data,
      .divisor,
      .line_break  ('0),
      .build       ('0),
      .action_agent(),
      .answer_agent('0),
      .answer_ready(),
      .*
  );

  logic said, answered_q;
  logic [2:0] said_state, next_q;
  logic [1:0] said_action;
  logic [15:0] noise_q;
  logic [5:0] pause_q;
  logic there_q;

  qs_pins #(
      .StateBits (3),
      .ActionBits(2),
      .Width     (16)
  ) u_pins (
      .clk_i                  (clk),
      .rst_i                  (rst),
      .pin_action_valid_o     (said),
      .pin_action_state_o     (said_state),
      .pin_action_o           (said_action),
      .pin_answer_valid_i     (answered_q),
      .pin_answer_reward_i    (there_q ? 16'(next_q) : noise_q),
      .pin_answer_next_state_i(there_q ? next_q : noise_q[2:0]),
      .pin_answer_terminated_i(there_q ? next_q == 3'd7 : noise_q[3]),
      .pin_start_state_i      ('0),
      .*
  );

  logic slow;
  assign slow = noise_q[6:4] == '0;

  always_ff @(posedge clk) begin
    noise_q <= {noise_q[14:0], noise_q[15] ^ noise_q[13] ^ noise_q[12] ^ noise_q[10]};
    if (pause_q != '0) begin
      pause_q <= pause_q - 1'b1;
    end else if (said && !there_q) begin
      there_q <= 1'b1;
      next_q  <= said_state + 3'(said_action) + 1'b1;
      pause_q <= 6'(noise_q[3:0]);
    end else if (there_q && !answered_q) begin
      answered_q <= 1'b1;
      if (slow) pause_q <= 6'd45;  // the next action waits until this answer goes
    end else if (answered_q && !said) begin
      answered_q <= 1'b0;
      there_q <= 1'b0;
      pause_q <= 6'(noise_q[1:0]);
    end
    if (rst) begin
      {there_q, answered_q} <= '0;
      pause_q <= '0;
      noise_q <= 16'hACE1;
    end
  end

  // An action stays at the pins until it is answered.
  logic said_q;
  logic [4:0] word_q;
  always_ff @(posedge clk) begin
    said_q <= said;
    word_q <= {said_state, said_action};
    if (!rst && said_q && !answered_q) begin
      ActionStays_A : assert (said && word_q == {said_state, said_action});
    end
  end

  // Latency, from the clock in which an answer is at the pins to that in which the next action is.
  int now, since, least, most, latency;
  assign latency = now - since;
  always_ff @(posedge clk) begin
    now <= now + 1;
    if (!answered_q && there_q && pause_q == '0) since <= slow ? 0 : now + 1;
    if (said && !said_q && since != 0 && (latency < least || latency > most)) begin
      $fdisplay(32'h8000_0002, "latency %0d to %0d clocks", latency < least ? latency : least,
                latency > most ? latency : most);
      if (latency < least) least <= latency;
      if (latency > most) most <= latency;
    end
    if (rst) begin
      since <= 0;
      least <= 1000;
      most  <= 0;
    end
  end

endmodule
