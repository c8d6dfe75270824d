// SPDX-License-Identifier: Apache-2.0
// The exploration of all agents: one epsilon each, and its schedule.
//
// Function    The count rises at the end of each unit (a step or an episode). When it reaches the period it
//             starts again, and epsilon = max(end, epsilon - decrement - (shift ? epsilon >> shift : 0)).
//             Golden model: ActingModel.lower_epsilon in qstep.golden.agents.
// Timing      One slot per clock. Epsilon is valid in stage 5 and the count in stage 9. Every slot computes their
//             next values; at the end of a unit the count is written in stage 10 and epsilon in stage 11.
// Handshake   access_i.set writes a setting: 1 {by_episodes, end}, 2 {shift, decrement}, 3 period - 1.
//             access_i.load writes epsilon (2) and the count (3) of the slot that token_i follows. Epsilon, end and
//             decrement are 0..2^24. A slot takes no step while it is loaded.
// Reset       none: undefined until loaded.
// Hazards     none: a slot returns after it has been written.
// Invariants  EpsilonInRange_A
// Resources   Two multipliers, two block RAMs, adders of 38, 26, 26 and 16 bits. A shifter in place of the product
//             would take 83 more LUT4 and 77 more flip-flops on ECP5.
// Reference   none

`include "qs_assert.svh"

module qs_epsilon
  import qs_agents_pkg::*;
#(
    parameter int unsigned Agents = 16,  // 1..16
    parameter int unsigned Slots = 16,  // 16 or more
    localparam int unsigned Count = EpisodeBits
) (
    input logic clk_i,
    input logic rst_i,  // only gates the assertion

    input logic    [Slots-1:0][AgentBits-1:0] agent_i,   // in each stage
    input access_t                            access_i,
    input logic    [TreeStage:0]              token_i,   // the slot of an access is in this stage

    input logic s9_stepped_i,  // a step is over
    input logic s9_ended_i,    // and so is its episode
    input logic s10_acts_i,

    output logic [EpsilonBits-1:0] s5_epsilon_o,
    output logic [      Count-1:0] s9_count_o
);

  localparam int unsigned Part = 4;  // bits of a count that are compared in one clock
  localparam int unsigned Parts = Count / Part;
  localparam int unsigned Low = 16;  // bits of epsilon that the first multiplier takes
  localparam int unsigned High = EpsilonBits - Low;
  localparam int unsigned MostShift = 12;
  localparam logic [Low-1:0] ROUND_UP = (1 << MostShift) - 1;

  logic s9_by_episodes, s10_unit_q, s10_due, s10_load_count, s11_due_q, s11_load, s11_less_q;
  logic [3:0] s4_shift;
  logic [Count-1:0] s9_last_count, s10_count_q;
  logic [Parts-1:0] s10_same_q;
  logic [MostShift:0] s4_keep, s5_keep_q, s6_keep_q;
  logic [ Low-1:0] s6_low_q;
  logic [High-1:0] s6_high_q;
  logic [Low+MostShift:0] s7_low_q, s8_low_q;
  logic [High+MostShift:0] s7_high_q, s8_high_q;
  logic [EpsilonBits+MostShift:0] s8_kept;
  logic [EpsilonBits-1:0] s8_decrement, s9_end, s9_kept_q, s9_decrement_q, s10_end_q;
  logic [EpsilonBits-1:0] s11_left_q, s11_end_q, s11_epsilon;
  logic [EpsilonBits:0] s10_left_q, s10_lead;

  // A loaded epsilon takes the place of the end, with which the slot then continues in any case.
  qs_agent_settings #(
      .Words(2 << AgentBits),
      .Width(1 + EpsilonBits)
  ) u_end (
      .clk_i,
      .write_i      (access_i.set[1] || (token_i[AdvanceStage] && access_i.load[2])),
      .write_index_i({access_i.load[2], access_i.agent}),
      .write_data_i (access_i.data[EpsilonBits:0]),
      .read_index_i ({token_i[CountStage] && access_i.load[2], agent_i[CountStage]}),
      .data_o       ({s9_by_episodes, s9_end})
  );

  qs_agent_settings #(
      .Words(1 << AgentBits),
      .Width(EpsilonBits)
  ) u_decrement (
      .clk_i,
      .write_i      (access_i.set[2]),
      .write_index_i(access_i.agent),
      .write_data_i (access_i.data[EpsilonBits-1:0]),
      .read_index_i (agent_i[PolicyStage]),
      .data_o       (s8_decrement)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (4)
  ) u_shift (
      .clk_i,
      .write_i      (access_i.set[2]),
      .write_agent_i(access_i.agent),
      .write_data_i (access_i.data[EpsilonBits+:4]),
      .read_agent_i (agent_i[MixStage]),
      .clear_i      (1'b0),
      .data_o       (s4_shift)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (Count)
  ) u_period (
      .clk_i,
      .write_i      (access_i.set[3]),
      .write_agent_i(access_i.agent),
      .write_data_i (access_i.data[Count-1:0]),
      .read_agent_i (agent_i[AnswerStage]),
      .clear_i      (1'b0),
      .data_o       (s9_last_count)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (EpsilonBits)
  ) u_epsilon (
      .clk_i,
      .write_i      (s11_due_q || s11_load),
      .write_agent_i(agent_i[TreeStage]),
      .write_data_i (s11_epsilon),
      .read_agent_i (agent_i[FetchStage]),
      .clear_i      (1'b0),
      .data_o       (s5_epsilon_o)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (Count)
  ) u_count (
      .clk_i,
      .write_i      ((s10_unit_q && s10_acts_i) || s10_load_count),
      .write_agent_i(agent_i[ActStage]),
      .write_data_i (s10_load_count ? access_i.data[31-:Count] : s10_due ? '0 : s10_count_q),
      .read_agent_i (agent_i[AnswerStage]),
      .clear_i      (1'b0),
      .data_o       (s9_count_o)
  );

  // Before the decrement, a period leaves (1 - 2^-shift) epsilon, rounded up. This product is split in two, with
  // registers before, inside and after the multipliers. Those before have no reset, so they can move inside.
  always_comb begin
    s4_keep[MostShift] = s4_shift == '0;
    for (int unsigned n = 0; n < MostShift; n++) s4_keep[n] = s4_shift >= 4'(MostShift - n);
  end

  assign s8_kept  = {s8_high_q, ROUND_UP} + (EpsilonBits + MostShift + 1)'(s8_low_q);
  assign s10_lead = s10_left_q - {1'b0, s10_end_q};

  always_ff @(posedge clk_i) begin
    s5_keep_q      <= s4_keep;
    s6_keep_q      <= s5_keep_q;
    s6_low_q       <= s5_epsilon_o[Low-1:0];
    s6_high_q      <= s5_epsilon_o[EpsilonBits-1:Low];
    s7_low_q       <= s6_keep_q * s6_low_q;
    s7_high_q      <= s6_keep_q * s6_high_q;
    s8_low_q       <= s7_low_q;
    s8_high_q      <= s7_high_q;

    // Block RAMs are slow, so their outputs are registered.
    s9_kept_q      <= s8_kept[MostShift+:EpsilonBits];
    s9_decrement_q <= s8_decrement;
    s10_left_q     <= {1'b0, s9_kept_q} - {1'b0, s9_decrement_q};
    s10_end_q      <= s9_end;
    s11_less_q     <= s10_lead[EpsilonBits];
    if (token_i[ActStage] && access_i.load[2]) s11_less_q <= 1'b1;
    s11_left_q  <= s10_left_q[EpsilonBits-1:0];
    s11_end_q   <= s10_end_q;
    s11_due_q   <= s10_due;

    s10_unit_q  <= s9_stepped_i && (s9_ended_i || !s9_by_episodes);

    // Compares the count with the period four bits at a time: all at once would take too long for a clock.
    s10_count_q <= s9_count_o + 1'b1;
    for (int unsigned p = 0; p < Parts; p++)
    s10_same_q[p] <= s9_count_o[p*Part+:Part] == s9_last_count[p*Part+:Part];
  end

  assign s10_due = s10_unit_q && s10_acts_i && s10_same_q == '1;
  assign s11_load = token_i[TreeStage] && access_i.load[2];
  assign s11_epsilon = s11_less_q ? s11_end_q : s11_left_q;
  assign s10_load_count = token_i[ActStage] && access_i.load[3];

  logic unused_bits;
  assign unused_bits = ^{agent_i, access_i, token_i, s8_kept, s10_lead[EpsilonBits-1:0]};

  `QS_ASSERT(EpsilonInRange_A, !s11_due_q || s11_epsilon <= EpsilonBits'(1) << 24)

endmodule
