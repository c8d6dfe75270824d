// SPDX-License-Identifier: Apache-2.0
// Plays the world at the pins of a device: a bench.
//
// Function    One goes action + 1 states on, modulo 8, and gets that state's number; state 7 ends an episode.
//             Each answer comes 1 to 32 clocks after the action. Prints the least and most clocks from an
//             answer to the agent's next action whenever one of them changes.
// Timing      none
// Handshake   as pins.py has it
// Reset       Nobody waits.
// Hazards     none
// Invariants  AnswerIsTaken_A
// Resources   none
// Reference   none

module qs_pins_bench #(
    parameter int unsigned Agents = 3
) (
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

  logic action_valid, answer_valid, answer_ready, answer_terminated;
  logic [3:0] action_agent, answer_agent;
  logic [2:0] action_state, answer_next_state;
  logic [1:0] action;
  logic signed [15:0] answer_reward;

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
      .line_break ('0),
      .build      ('0),
      .start_state('0),
      .*
  );

  // Whose action is to be answered with which state, and in how many clocks.
  logic [Agents-1:0] waits_q;
  logic [2:0] next_q[Agents];
  logic [4:0] left_q[Agents];
  logic [15:0] noise_q;

  always_comb begin
    answer_valid = 1'b0;
    answer_agent = '0;
    for (int n = 0; n < Agents; n++) begin
      if (!answer_valid && waits_q[n] && left_q[n] == '0) begin
        answer_valid = 1'b1;
        answer_agent = 4'(n);
      end
    end
  end

  assign answer_next_state = next_q[answer_agent];
  assign answer_terminated = answer_next_state == 3'd7;
  assign answer_reward = 16'(answer_next_state);

  always_ff @(posedge clk) begin
    noise_q <= {noise_q[14:0], noise_q[15] ^ noise_q[13] ^ noise_q[12] ^ noise_q[10]};
    for (int n = 0; n < Agents; n++) if (left_q[n] != '0) left_q[n] <= left_q[n] - 1'b1;
    if (answer_valid && answer_ready) waits_q[answer_agent] <= 1'b0;
    if (action_valid) begin
      waits_q[action_agent] <= 1'b1;
      next_q[action_agent]  <= action_state + 3'(action) + 1'b1;
      left_q[action_agent]  <= noise_q[4:0];
    end
    if (rst) begin
      waits_q <= '0;
      noise_q <= 16'hACE1;
    end
  end

  always_ff @(posedge clk) begin
    if (!rst) begin
      AnswerIsTaken_A : assert (!answer_valid || answer_ready);
    end
  end

  // Latency of each agent, from its answer's clock to that of its action.
  int now, since[Agents], least, most, latency;
  logic [Agents-1:0] answered_q;
  assign latency = now - since[action_agent];
  always_ff @(posedge clk) begin
    now <= now + 1;
    if (answer_valid) {since[answer_agent], answered_q[answer_agent]} <= {now, 1'b1};
    if (action_valid && answered_q[action_agent]) begin
      answered_q[action_agent] <= 1'b0;
      if (latency < least || latency > most) begin
        $fdisplay(32'h8000_0002, "latency %0d to %0d clocks", latency < least ? latency : least,
                  latency > most ? latency : most);
        if (latency < least) least <= latency;
        if (latency > most) most <= latency;
      end
    end
    if (rst) begin
      answered_q <= '0;
      least <= 1000;
      most <= 0;
    end
  end

endmodule
