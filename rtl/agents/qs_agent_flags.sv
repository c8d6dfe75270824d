// SPDX-License-Identifier: Apache-2.0
// The plan of each agent's slot, and the flags for its next one.
//
// Function    The agent's flags determine the slot's plan: see flags_t and plan_t. The slot's result determines the
//             flags of the next slot. A held slot (see qs_agent_order) draws, but does nothing else.
// Timing      One slot per clock. Flags are read in SlotStage and written in TreeStage; the plan is
//             known in CountStage, and registered in AnswerStage.
// Handshake   none
// Reset       clearing_i clears all flags.
// Hazards     none: flags are written before their agent's next read.
// Invariants  none
// Resources   5 bits per agent and per stage
// Reference   none

module qs_agent_flags
  import qs_agents_pkg::*;
#(
    parameter int unsigned Agents = 16,  // 1..16
    parameter bit SharedTable = 0,  // no value is cached
    parameter bit StepLimit = 1  // else no step is truncated
) (
    input logic clk_i,

    input logic [AgentBits-1:0] slot_agent_i,
    input logic                 begin_live_i,
    input logic [AgentBits-1:0] tree_agent_i,
    input logic                 tree_live_i,
    input logic                 tree_more_i,
    input logic                 clearing_i,
    input logic                 begins_i,      // a run begins, in RowStage

    input logic row_load_i,    // host loads the agent in RowStage
    input logic load_drawn_i,
    input logic load_begun_i,

    // The draw
    output logic advance_go_o,  // the slot has work to do
    output logic advance_o,

    // The world
    output logic   request_asks_o,
    output flags_t request_flags_o,
    output plan_t  count_plan_o,        // answer_plan_o one clock later
    output plan_t  answer_plan_o,
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
  plan_t count_plan, answer_plan_q;

  qs_agent_ram #(
      .Agents(Agents),
      .Width ($bits(flags_t))
  ) u_flags (
      .clk_i,
      .write_i      (tree_live_i),
      .write_agent_i(tree_agent_i),
      .write_data_i (tree_flags),
      .read_agent_i (slot_agent_i),
      .clear_i      (1'b0),
      .data_o       (read_flags)
  );

  always_comb begin
    begin_flags = read_flags;
    if (SharedTable) begin_flags.fresh = 1'b1;
    if (!StepLimit) begin_flags.pending = 1'b0;
  end

  assign begin_go = begin_live_i && !clearing_i && (begin_flags.more || begin_flags.pending);
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
    answer_plan_q <= count_plan;
  end

  always_comb begin
    count_plan.finish = count_go && count_flags.pending;
    count_plan.start = count_go && !count_flags.pending && !count_flags.begun;
    count_plan.refresh = count_go && !count_flags.pending && count_flags.begun &&
        !count_flags.fresh;
    count_plan.asks = count_go && !count_flags.pending && count_flags.begun && count_flags.fresh;
  end

  assign count_plan_o  = count_plan;
  assign answer_plan_o = answer_plan_q;

  always_ff @(posedge clk_i) begin
    row_flags_q <= answer_flags_q;
    if (answer_go_q) begin
      row_flags_q.begun <= 1'b1;
      row_flags_q.fresh <= 1'b1;
      row_flags_q.pending <= answer_truncated_i;
      row_flags_q.drawn   <= answer_plan_q.asks ? !answer_ready_i :
          answer_plan_q.refresh && answer_flags_q.drawn;
    end

    act_flags_q <= row_flags_q;
    if (begins_i) act_flags_q.fresh <= 1'b0;
    if (row_load_i) begin
      act_flags_q.drawn <= load_drawn_i;
      act_flags_q.begun <= load_begun_i;
    end
    if (clearing_i) act_flags_q <= '0;

    row_go_q <= answer_go_q;
    row_before_q <= answer_flags_q;
    act_go_q <= row_go_q;
    act_before_q <= row_before_q;
    tree_flags_q <= act_flags_q;
    if (act_go_q && !acts_i && !clearing_i) begin
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
  assign unused_bits = ^{read_flags, act_before_q};

endmodule
