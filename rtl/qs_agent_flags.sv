// SPDX-License-Identifier: Apache-2.0
// What each agent does in its slot, and what it will do in the next one.
//
// Function    The agent's flags determine the slot's aim: see flags_t and aim_t. What the slot did determines
//             the flags of the next slot. A slot that was held (see qs_agent_order) has drawn, and nothing else.
// Timing      One slot per clock. Flags are read in stage 0 and written in stage 11; the aim is known in stage 8.
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

    input logic [Slots-1:0][AgentBits-1:0] agent_i,    // in each stage
    input logic [Slots-1:0]                live_i,
    input logic                            wakes_i,
    input logic                            begins_i,   // a run, in stage 9
    input logic                            s11_more_i,

    input access_t access_i,
    input logic    s9_token_i,

    // The draw
    output logic s2_go_o,      // the agent has something to do
    output logic s2_advance_o,

    // The world
    output logic   s5_asks_o,
    output flags_t s5_flags_o,
    output aim_t   s8_aim_o,
    input  logic   s8_ready_i,
    input  logic   s8_truncated_i,
    input  logic   s10_acts_i
);

  flags_t
      read_flags,
      s1_flags,
      s2_flags_q,
      s5_flags,
      s7_flags,
      s8_flags_q,
      s9_flags_q,
      s10_flags_q,
      s11_flags_q;
  flags_t s11_flags, s9_before_q, s10_before_q;
  logic s9_go_q, s10_go_q;
  logic s1_go, s2_go_q, s2_advance_q, s5_go, s7_go, s8_go_q;
  aim_t s8_aim_q;

  qs_agent_ram #(
      .Agents(Agents),
      .Width ($bits(flags_t))
  ) u_flags (
      .clk_i,
      .write_i      (live_i[TreeStage]),
      .write_agent_i(agent_i[TreeStage]),
      .write_data_i (s11_flags),
      .read_agent_i (agent_i[SlotStage]),
      .clear_i      (1'b0),
      .data_o       (read_flags)
  );

  always_comb begin
    s1_flags = read_flags;
    if (SharedTable) s1_flags.fresh = 1'b1;
    if (!StepLimit) s1_flags.pending = 1'b0;
  end

  assign s1_go = live_i[BeginStage] && !wakes_i && (s1_flags.more || s1_flags.pending);
  always_ff @(posedge clk_i) begin
    s2_flags_q <= s1_flags;
    s2_go_q <= s1_go;
    s2_advance_q <= s1_go && !s1_flags.pending && !s1_flags.drawn &&
        (!s1_flags.begun || s1_flags.fresh);
  end

  assign s2_go_o = s2_go_q;
  assign s2_advance_o = s2_advance_q;

  qs_delay #(
      .Width(1 + $bits(flags_t)),
      .Depth(RequestStage - AdvanceStage)
  ) u_early_flags (
      .clk_i,
      .data_i({s2_go_q, s2_flags_q}),
      .data_o({s5_go, s5_flags})
  );

  assign s5_flags_o = s5_flags;
  assign s5_asks_o  = s5_go && s5_flags.begun && s5_flags.fresh && !s5_flags.pending;

  qs_delay #(
      .Width(1 + $bits(flags_t)),
      .Depth(CountStage - RequestStage)
  ) u_flags_delay (
      .clk_i,
      .data_i({s5_go, s5_flags}),
      .data_o({s7_go, s7_flags})
  );

  always_ff @(posedge clk_i) begin
    s8_go_q <= s7_go;
    s8_flags_q <= s7_flags;
    s8_aim_q.finish <= s7_go && s7_flags.pending;
    s8_aim_q.start <= s7_go && !s7_flags.pending && !s7_flags.begun;
    s8_aim_q.refresh <= s7_go && !s7_flags.pending && s7_flags.begun && !s7_flags.fresh;
    s8_aim_q.asks <= s7_go && !s7_flags.pending && s7_flags.begun && s7_flags.fresh;
  end

  assign s8_aim_o = s8_aim_q;

  always_ff @(posedge clk_i) begin
    s9_flags_q <= s8_flags_q;
    if (s8_go_q) begin
      s9_flags_q.begun   <= 1'b1;
      s9_flags_q.fresh   <= 1'b1;
      s9_flags_q.pending <= s8_truncated_i;
      s9_flags_q.drawn   <= s8_aim_q.asks ? !s8_ready_i : s8_aim_q.refresh && s8_flags_q.drawn;
    end

    s10_flags_q <= s9_flags_q;
    if (begins_i) s10_flags_q.fresh <= 1'b0;
    if (s9_token_i && access_i.load[4]) begin
      s10_flags_q.drawn <= access_i.data[31];
      s10_flags_q.begun <= access_i.data[30];
    end
    if (wakes_i) s10_flags_q <= '0;

    s9_go_q <= s8_go_q;
    s9_before_q <= s8_flags_q;
    s10_go_q <= s9_go_q;
    s10_before_q <= s9_before_q;
    s11_flags_q <= s10_flags_q;
    if (s10_go_q && !s10_acts_i) begin
      s11_flags_q.begun   <= s10_before_q.begun;
      s11_flags_q.pending <= s10_before_q.pending;
      s11_flags_q.drawn   <= 1'b1;
    end
  end

  always_comb begin
    s11_flags = s11_flags_q;
    s11_flags.more = s11_more_i;
  end

  logic unused_bits;
  assign unused_bits = ^{agent_i, live_i, access_i, read_flags, s10_before_q};

endmodule
