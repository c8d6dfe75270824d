// SPDX-License-Identifier: Apache-2.0
// What each agent does in its slot, and what it will do in the next one.
//
// Function    The agent's flags determine the slot's aim: see flags_t and aim_t. What the slot did determines
//             the flags of the next slot. A slot that was held (see qs_agent_order) has drawn, and nothing else.
// Timing      One slot per clock. Flags are read in SlotStage and written in TreeStage; the aim is known in
//             AnswerStage.
// Handshake   none
// Reset       wakes_i clears all flags.
// Hazards     none: a slot returns after it has been written.
// Invariants  none
// Resources   5 bits per agent and per stage
// Reference   none

module qs_agent_flags
  import qs_agents_pkg::*;
#(
    parameter int unsigned Agents = 16,  // 1..16
    parameter int unsigned Slots = 16,  // 16 or more
    parameter bit SharedTable = 0,  // the value beside the context is not used
    parameter bit StepLimit = 1  // else no step is truncated
) (
    input logic clk_i,

    input logic [Slots-1:0][AgentBits-1:0] agent_i,     // in each stage
    input logic [Slots-1:0]                live_i,
    input logic                            wakes_i,
    input logic                            begins_i,    // a run, in RowStage
    input logic                            tree_more_i,

    input access_t access_i,
    input logic    row_token_i,

    // The draw
    output logic advance_go_o,  // the agent has something to do
    output logic advance_o,

    // The world
    output logic   request_asks_o,
    output flags_t request_flags_o,
    output aim_t   answer_aim_o,
    input  logic   answer_ready_i,
    input  logic   answer_truncated_i,
    input  logic   acts_i
);

  flags_t
      read_flags,
      begin_flags,
      advance_flags_q,
      request_flags,
      count_flags,
      answer_flags_q,
      row_flags_q,
      act_flags_q,
      tree_flags_q;
  flags_t tree_flags, row_before_q, act_before_q;
  logic row_go_q, act_go_q;
  logic begin_go, advance_go_q, advance_q, request_go, count_go, answer_go_q;
  aim_t answer_aim_q;

  qs_agent_ram #(
      .Agents(Agents),
      .Width ($bits(flags_t))
  ) u_flags (
      .clk_i,
      .write_i      (live_i[TreeStage]),
      .write_agent_i(agent_i[TreeStage]),
      .write_data_i (tree_flags),
      .read_agent_i (agent_i[SlotStage]),
      .clear_i      (1'b0),
      .data_o       (read_flags)
  );

  always_comb begin
    begin_flags = read_flags;
    if (SharedTable) begin_flags.fresh = 1'b1;
    if (!StepLimit) begin_flags.pending = 1'b0;
  end

  assign begin_go = live_i[BeginStage] && !wakes_i && (begin_flags.more || begin_flags.pending);
  always_ff @(posedge clk_i) begin
    advance_flags_q <= begin_flags;
    advance_go_q <= begin_go;
    advance_q <= begin_go && !begin_flags.pending && !begin_flags.drawn &&
        (!begin_flags.begun || begin_flags.fresh);
  end

  assign advance_go_o = advance_go_q;
  assign advance_o = advance_q;

  qs_delay #(
      .Width(1 + $bits(flags_t)),
      .Depth(RequestStage - AdvanceStage)
  ) u_early_flags (
      .clk_i,
      .data_i({advance_go_q, advance_flags_q}),
      .data_o({request_go, request_flags})
  );

  assign request_flags_o = request_flags;
  assign request_asks_o = request_go && request_flags.begun && request_flags.fresh &&
      !request_flags.pending;

  qs_delay #(
      .Width(1 + $bits(flags_t)),
      .Depth(CountStage - RequestStage)
  ) u_flags_delay (
      .clk_i,
      .data_i({request_go, request_flags}),
      .data_o({count_go, count_flags})
  );

  always_ff @(posedge clk_i) begin
    answer_go_q <= count_go;
    answer_flags_q <= count_flags;
    answer_aim_q.finish <= count_go && count_flags.pending;
    answer_aim_q.start <= count_go && !count_flags.pending && !count_flags.begun;
    answer_aim_q.refresh <= count_go && !count_flags.pending && count_flags.begun &&
        !count_flags.fresh;
    answer_aim_q.asks <= count_go && !count_flags.pending && count_flags.begun && count_flags.fresh;
  end

  assign answer_aim_o = answer_aim_q;

  always_ff @(posedge clk_i) begin
    row_flags_q <= answer_flags_q;
    if (answer_go_q) begin
      row_flags_q.begun <= 1'b1;
      row_flags_q.fresh <= 1'b1;
      row_flags_q.pending <= answer_truncated_i;
      row_flags_q.drawn   <= answer_aim_q.asks ? !answer_ready_i :
          answer_aim_q.refresh && answer_flags_q.drawn;
    end

    act_flags_q <= row_flags_q;
    if (begins_i) act_flags_q.fresh <= 1'b0;
    if (row_token_i && access_i.load[4]) begin
      act_flags_q.drawn <= access_i.data[31];
      act_flags_q.begun <= access_i.data[30];
    end
    if (wakes_i) act_flags_q <= '0;

    row_go_q <= answer_go_q;
    row_before_q <= answer_flags_q;
    act_go_q <= row_go_q;
    act_before_q <= row_before_q;
    tree_flags_q <= act_flags_q;
    if (act_go_q && !acts_i && !wakes_i) begin
      tree_flags_q.begun   <= act_before_q.begun;
      tree_flags_q.pending <= act_before_q.pending;
      tree_flags_q.drawn   <= 1'b1;
    end
  end

  always_comb begin
    tree_flags = tree_flags_q;
    tree_flags.more = tree_more_i;
  end

  logic unused_bits;
  assign unused_bits = ^{agent_i, live_i, access_i, read_flags, act_before_q};

endmodule
