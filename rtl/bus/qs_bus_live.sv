// SPDX-License-Identifier: Apache-2.0
// Record interface of agents with an external world: sends actions and receives answers.
//
// Function    An action record contains the agent in bytes 0..3, the state in 4..7 and the action in 8..11. An answer
//             record contains the agent in bytes 0..3, the next state in 4..7, the reward (signed) in 8..11, 0 in
//             12..13, and terminated (0 or 1) in 14..15. With several planes, the state in these bytes is the row of
//             plane 0; the rows of the other planes follow from byte 16, two bytes each, and all remaining bytes are 0.
//             If the agents see tiles, records contain no states; the numbers of an observation follow from byte 16,
//             four bytes each. An answer record with 2 for terminated is the observation with which agents begin. An
//             answer is dropped if a field is out of range, if it is cut off, or if no sent action of its agent awaits
//             an answer.
// Timing      An answer reaches the agent one clock after its record. An action can be read one clock after
//             action_valid_i. One answer and one action per clock.
// Handshake   Answers are always accepted. An action is held until it is accepted. forget_i is a one-clock pulse when a
//             job begins: it drops pending actions and answers, except an action that has been sent.
// Reset       Same effect as forget_i.
// Hazards     none
// Invariants  ActionHasRoom_A
// Resources   A queue of 16 words.
// Reference   qstep_rtl.pins, docs/live-worlds.md

`include "qs_assert.svh"

module qs_bus_live #(
    parameter int unsigned States = 32,  // as in qs_agents
    parameter int unsigned Actions = 4,
    parameter int unsigned Width = 16,
    parameter int unsigned Agents = 16,  // 1..16
    parameter int unsigned Planes = 1,  // 1..16
    parameter int unsigned Numbers = 0,  // numbers of an observation; 0 if answers contain states
    parameter int unsigned RecordBytes = 16,  // at least 14 + 2 Planes, or 16 + 4 Numbers
    localparam int unsigned RowBits = $clog2(States),
    localparam int unsigned StateBits = Planes * RowBits,
    localparam int unsigned SeenBits = Numbers == 0 ? 1 : 32 * Numbers,
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                     in_valid_i,
    input logic [8*RecordBytes-1:0] in_data_i,
    input logic                     in_cut_i,

    output logic                     out_valid_o,
    input  logic                     out_ready_i,
    output logic [8*RecordBytes-1:0] out_data_o,

    input  logic forget_i,
    output logic refused_o,  // events, one clock each
    output logic cut_o,

    input logic                  action_valid_i,
    input logic [           3:0] action_agent_i,
    input logic [ StateBits-1:0] action_state_i,
    input logic [ActionBits-1:0] action_i,

    output logic answer_valid_o,
    input logic answer_ready_i,
    output logic [3:0] answer_agent_o,
    output logic [Width-1:0] answer_reward_o,
    output logic [StateBits-1:0] answer_next_state_o,
    output logic answer_terminated_o,
    output logic [SeenBits-1:0] observation_o  // of the answer; the initial one while forget_i is 1
);

  // --- Answers --------------------------------------------------------------------------------------
  logic have_q, cut_q, legal_q, legal, first_q, is_first;
  logic [15:0] out_q;  // agents with a sent, unanswered action
  logic [31:0] reward;
  logic [Planes-1:0][RowBits-1:0] next_state;

  assign reward   = in_data_i[95:64];
  assign is_first = Numbers != 0 && in_data_i[127:112] == 16'd2;

  always_comb begin
    legal = in_data_i[31:0] < Agents && reward == 32'($signed(reward[Width-1:0])) &&
        in_data_i[111:96] == '0 && (in_data_i[127:113] == '0 || is_first) && !in_cut_i;
    legal &= in_data_i >> (Numbers != 0 ? 128 + 32 * Numbers : 112 + 16 * Planes) == '0;
    legal &= in_data_i[63:32] < (Numbers != 0 ? 1 : States);
    next_state[0] = in_data_i[32+:RowBits];
    for (int unsigned t = 1; t < Planes; t++) begin
      legal &= 32'(in_data_i[112+16*t+:16]) < States;
      next_state[t] = in_data_i[112+16*t+:RowBits];
    end
  end

  always_ff @(posedge clk_i) begin
    have_q <= in_valid_i && !rst_i;
    cut_q <= in_cut_i;
    legal_q <= legal;
    first_q <= is_first;
    {answer_terminated_o, answer_reward_o, answer_next_state_o, answer_agent_o} <= {
      in_data_i[112], reward[Width-1:0], next_state, in_data_i[3:0]
    };
  end

  logic answered;
  assign answer_valid_o = have_q && legal_q && !first_q && out_q[answer_agent_o];
  assign answered = answer_valid_o && answer_ready_i;
  assign cut_o = have_q && cut_q;
  assign refused_o = have_q && !cut_q && !answered && !(legal_q && first_q);

  if (Numbers != 0) begin : gen_numbers
    logic [SeenBits-1:0] seen_q, begin_q;
    always_ff @(posedge clk_i) begin
      seen_q <= in_data_i[128+:SeenBits];
      if (in_valid_i && legal && is_first) begin_q <= in_data_i[128+:SeenBits];
    end
    assign observation_o = forget_i ? begin_q : seen_q;
  end else begin : gen_states
    assign observation_o = '0;
  end

  // --- Actions --------------------------------------------------------------------------------------
  logic room, taken;
  logic [3:0] agent;
  logic [Planes-1:0][RowBits-1:0] state;
  logic [ActionBits-1:0] action;

  qs_bus_fifo #(
      .Width(4 + StateBits + ActionBits),
      .Depth(16)
  ) u_actions (
      .clk_i,
      .rst_i  (rst_i || forget_i),
      .put_i  (action_valid_i && !forget_i),
      .data_i ({action_agent_i, action_state_i, action_i}),
      .room_o (room),
      .valid_o(out_valid_o),
      .data_o ({agent, state, action}),
      .take_i (taken)
  );

  assign taken = out_valid_o && out_ready_i;

  always_comb begin
    out_data_o = '0;
    out_data_o[95:0] = {32'(action), 32'(state[0]), 32'(agent)};
    for (int unsigned t = 1; t < Planes; t++) out_data_o[112+16*t+:16] = 16'(state[t]);
  end

  always_ff @(posedge clk_i) begin
    if (taken) out_q[agent] <= 1'b1;
    if (answered) out_q[answer_agent_o] <= 1'b0;
    if (rst_i || forget_i) out_q <= '0;
  end

  `QS_ASSERT(ActionHasRoom_A, !action_valid_i || room || forget_i)

endmodule
