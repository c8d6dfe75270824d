// SPDX-License-Identifier: Apache-2.0
// Testbench that emulates the world at the pins of a device or of a board.
//
// Function    A step moves the agent action + 1 states forward, modulo 8; its reward is the number of the new state.
//             State 7 ends an episode. At a device's pins, each answer arrives 1 to 32 clocks after the action. At a
//             board's pins, where one agent acts through qs_pins, each phase of the handshake is delayed by some
//             clocks, and the answer pins carry noise while no answer is valid. The bench prints the minimum and
//             maximum numbers of clocks from an answer to the agent's next action whenever one of them changes.
//             With two planes, a state's second row is the inverse of its first one. In a tiled device, an answer
//             carries two numbers instead of rows: the observation of the state in which the agent acts next.
// Handshake   as in pins.py and qs_pins
// Reset       No action is pending.
// Invariants  AnswerIsTaken_A, ActionStays_A, RowsAgree_A

module qs_pins_bench #(
    parameter int unsigned Agents = 3,
    parameter int unsigned Planes = 1,  // 1 or 2
    parameter bit AtBoard = 0,  // with one agent
    parameter bit Tiled = 0,
    localparam int unsigned StateBits = 3 * Planes,
    localparam int unsigned NumberBits = 10  // as in the tiles of test_pin_worlds
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
  logic [StateBits-1:0] action_state, answer_next_state, start_state;
  logic [2*NumberBits-1:0] observation;
  logic [2:0] acts_in;  // the state in which the agent acts
  logic [1:0] action;
  logic [15:0] answer_reward;

  qstep_device u_device (
      .line_break('0),
      .build     ('0),
      .*
  );

  if (Tiled) begin : gen_tiled
    logic [2:0] state_q[Agents];

    assign acts_in = state_q[action_agent];

    always_ff @(posedge clk) begin
      if (answer_valid && answer_ready) state_q[answer_agent] <= goes_on(answer_next_state[2:0]);
      if (rst) for (int n = 0; n < Agents; n++) state_q[n] <= '0;
    end
  end else begin : gen_rows
    assign acts_in = action_state[2:0];

    always_ff @(posedge clk) begin
      if (!rst && action_valid) RowsAgree_A : assert (action_state == rows(acts_in));
    end
  end

  logic [15:0] noise_q;
  always_ff @(posedge clk) begin
    noise_q <= {noise_q[14:0], noise_q[15] ^ noise_q[13] ^ noise_q[12] ^ noise_q[10]};
    if (rst) noise_q <= 16'hACE1;
  end

  // Returns the row of a state in each plane.
  function automatic logic [StateBits-1:0] rows(logic [2:0] state);
    return StateBits'({~state, state});
  endfunction

  // Returns the state in which the agent acts next: the start state after a terminal one.
  function automatic logic [2:0] goes_on(logic [2:0] state);
    return state == 3'd7 ? '0 : state;
  endfunction

  // Returns the two observed numbers of a state.
  function automatic logic [2*NumberBits-1:0] numbers(logic [2:0] state);
    int first, second;
    first  = 120 * int'(state) - 410;
    second = 9 * int'(state) * int'(state);
    return {second[NumberBits-1:0], first[NumberBits-1:0]};
  endfunction

  // Events at the pins in this clock: an answer, an action, and an answer whose latency is not counted.
  logic answered, acted, forgotten;
  logic [3:0] answered_agent, acted_agent;

  if (AtBoard) begin : gen_board
    // The board sends all fields of an answer here; the device ignores fields for which it has no port.
    localparam int unsigned AnswerBits = 17 + 2 * StateBits + 2 * NumberBits;

    logic said, answered_q;
    logic [2:0] next_q, said_in;
    logic [1:0] said_action;
    logic [5:0] pause_q;
    logic there_q;
    logic [AnswerBits-1:0] noise, answer;

    assign noise = AnswerBits'({8{noise_q}});
    assign answer = {
      numbers(there_q ? goes_on(next_q) : '0),
      rows('0),
      there_q ? {next_q == 3'd7, rows(next_q), 16'(next_q)} : noise[16+StateBits:0]
    };

    qs_pins #(
        .ActionBits(5),
        .AnswerBits(AnswerBits)
    ) u_pins (
        .clk_i(clk),
        .rst_i(rst),
        .action_valid_i(action_valid),
        .action_i({acts_in, action}),
        .answer_valid_o(answer_valid),
        .answer_o({observation, start_state, answer_terminated, answer_next_state, answer_reward}),
        .pin_action_valid_o(said),
        .pin_action_o({said_in, said_action}),
        .pin_answer_valid_i(answered_q),
        .pin_answer_i(answer)
    );

    assign answer_agent = '0;

    logic slow, slow_q;
    assign slow = noise_q[6:4] == '0;

    always_ff @(posedge clk) begin
      if (pause_q != '0) begin
        pause_q <= pause_q - 1'b1;
      end else if (said && !there_q) begin
        there_q <= 1'b1;
        next_q  <= said_in + 3'(said_action) + 1'b1;
        pause_q <= 6'(noise_q[3:0]);
      end else if (there_q && !answered_q) begin
        answered_q <= 1'b1;
        slow_q <= slow;
        if (slow) pause_q <= 6'd45;  // the next action must wait until this answer is withdrawn
      end else if (answered_q && !said) begin
        answered_q <= 1'b0;
        there_q <= 1'b0;
        pause_q <= 6'(noise_q[1:0]);
      end
      if (rst) begin
        {there_q, answered_q} <= '0;
        pause_q <= '0;
      end
    end

    // An action stays stable at the pins until it is answered.
    logic said_q, before_q;
    logic [4:0] word_q;
    always_ff @(posedge clk) begin
      said_q   <= said;
      before_q <= answered_q;
      word_q   <= {said_in, said_action};
      if (!rst && said_q && !answered_q) begin
        ActionStays_A : assert (said && word_q == {said_in, said_action});
      end
    end

    assign answered = answered_q && !before_q;
    assign acted = said && !said_q;
    assign forgotten = slow_q;
    assign {answered_agent, acted_agent} = '0;
  end else begin : gen_device
    // For each agent: a pending action, the next state of its answer, and the clocks left until the answer.
    logic [Agents-1:0] waits_q;
    logic [2:0] next_q[Agents];
    logic [4:0] left_q[Agents];

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

    assign answer_next_state = rows(next_q[answer_agent]);
    assign answer_terminated = next_q[answer_agent] == 3'd7;
    assign answer_reward = answer_valid ? 16'(next_q[answer_agent]) : noise_q;
    assign start_state = rows({3{rst}});  // its value during reset does not matter
    assign observation = numbers(answer_valid ? goes_on(next_q[answer_agent]) : '0);

    always_ff @(posedge clk) begin
      for (int n = 0; n < Agents; n++) if (left_q[n] != '0) left_q[n] <= left_q[n] - 1'b1;
      if (answer_valid && answer_ready) waits_q[answer_agent] <= 1'b0;
      if (action_valid) begin
        waits_q[action_agent] <= 1'b1;
        next_q[action_agent]  <= acts_in + 3'(action) + 1'b1;
        left_q[action_agent]  <= noise_q[4:0];
      end
      if (rst) begin
        waits_q <= '0;
      end
    end

    always_ff @(posedge clk) begin
      if (!rst) begin
        AnswerIsTaken_A : assert (!answer_valid || answer_ready);
      end
    end

    assign answered = answer_valid;
    assign acted = action_valid;
    assign forgotten = 1'b0;
    assign answered_agent = answer_agent;
    assign acted_agent = action_agent;
  end

  int now, since[Agents], least, most, latency;
  logic [Agents-1:0] counts_q;
  assign latency = now - since[acted_agent];
  always_ff @(posedge clk) begin
    now <= now + 1;
    if (answered) {since[answered_agent], counts_q[answered_agent]} <= {now, !forgotten};
    if (acted && counts_q[acted_agent]) begin
      counts_q[acted_agent] <= 1'b0;
      if (latency < least || latency > most) begin
        $fdisplay(32'h8000_0002, "latency %0d to %0d clocks", latency < least ? latency : least,
                  latency > most ? latency : most);
        if (latency < least) least <= latency;
        if (latency > most) most <= latency;
      end
    end
    if (rst) begin
      counts_q <= '0;
      least <= 1000;
      most <= 0;
    end
  end

endmodule
