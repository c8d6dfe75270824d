// SPDX-License-Identifier: Apache-2.0
// Epsilon of each agent, and its schedule.
//
// Function    The count is incremented at the end of each unit (a step or an episode). When it reaches the period, it
//             restarts at 0, and epsilon = max(end, epsilon - decrement - (shift ? epsilon >> shift : 0)). Golden
//             model: ActingModel.lower_epsilon in qstep.golden.agents.
// Timing      One slot per clock. Epsilon is valid in RequestStage and the count in RowStage. Every slot computes
//             their next values; the count is written in ActStage at the end of a unit, epsilon in TreeStage at the
//             end of a period.
// Handshake   set_i writes the end, the step or the period of an agent's schedule. load_epsilon_i and load_count_i
//             write epsilon and the count of the agent whose slot the tokens follow. Epsilon, end and decrement are
//             0..2^24. A slot takes no step while its epsilon or count is loaded.
// Reset       none: all words are undefined until loaded.
// Hazards     none: a word is written before its agent's next read.
// Invariants  EpsilonInRange_A
// Resources   Two multipliers, two block RAMs, adders of 38, 26, 26 and 16 bits. A shifter instead of the product
//             would take 83 more LUT4 and 77 more flip-flops on ECP5.
// Reference   none

`include "qs_assert.svh"

module qs_epsilon
  import qs_agents_pkg::*;
  import qs_map_pkg::*;
#(
    parameter int unsigned Agents = 16,  // 1..16
    localparam int unsigned Count = EpisodeBits
) (
    input logic clk_i,
    input logic rst_i,  // only gates the assertion

    input logic [AgentBits-1:0] mix_agent_i,
    input logic [AgentBits-1:0] fetch_agent_i,
    input logic [AgentBits-1:0] policy_agent_i,
    input logic [AgentBits-1:0] count_agent_i,
    input logic [AgentBits-1:0] answer_agent_i,
    input logic [AgentBits-1:0] act_agent_i,
    input logic [AgentBits-1:0] tree_agent_i,

    input logic [SettingSchedulePeriod:SettingScheduleEnd] set_i,
    input logic [AgentBits-1:0] set_agent_i,
    input word_t data_i,  // of any access
    input logic load_epsilon_i,
    input logic load_count_i,
    input logic advance_token_i,  // the slot of an access is in this stage
    input logic count_token_i,
    input logic act_token_i,
    input logic tree_token_i,

    input logic row_stepped_i,  // a step is complete
    input logic row_ended_i,    // the step ends its episode
    input logic acts_i,

    output logic [EpsilonBits-1:0] request_epsilon_o,
    output logic [      Count-1:0] row_count_o
);

  localparam int unsigned Part = 4;  // bits of a count per comparator
  localparam int unsigned Parts = Count / Part;
  localparam int unsigned Low = 16;  // bits of epsilon in the first multiplier
  localparam int unsigned High = EpsilonBits - Low;
  localparam int unsigned MostShift = 12;
  localparam logic [Low-1:0] ROUND_UP = (1 << MostShift) - 1;

  logic row_by_episodes, act_unit_q, act_due, act_load_count, tree_due_q, tree_load, tree_less_q;
  logic [3:0] fetch_shift;
  logic [Count-1:0] row_last_count, act_count_q;
  logic [Parts-1:0] act_same_q;
  logic [MostShift:0] fetch_keep, request_keep_q, policy_keep_q;
  logic [Low-1:0] policy_low_q;
  logic [High-1:0] policy_high_q;
  // `keep`: without it, yosys absorbs both registers after iCE40's multiplier, and the multiplier is lost.
  (* keep *) logic [Low+MostShift:0] count_low_q;
  (* keep *) logic [High+MostShift:0] count_high_q;
  logic [Low+MostShift:0] answer_low_q;
  logic [High+MostShift:0] answer_high_q;
  logic [EpsilonBits+MostShift:0] answer_kept;
  logic [EpsilonBits-1:0] answer_decrement, row_end, row_kept_q, row_decrement_q, act_end_q;
  logic [EpsilonBits-1:0] tree_left_q, tree_end_q, tree_epsilon;
  logic [EpsilonBits:0] act_left_q, act_lead;

  // For a load, the loaded epsilon is read instead of the end, and always becomes the new epsilon.
  qs_ram #(
      .Words(2 << AgentBits),
      .Width(1 + EpsilonBits),
      .Style("block")
  ) u_end (
      .clk_i,
      .write_i      (set_i[SettingScheduleEnd] || (advance_token_i && load_epsilon_i)),
      .write_index_i({load_epsilon_i, set_agent_i}),
      .write_data_i ({data_i.schedule_end.by_episodes, data_i.schedule_end.epsilon}),
      .read_index_i ({count_token_i && load_epsilon_i, count_agent_i}),
      .data_o       ({row_by_episodes, row_end})
  );

  qs_ram #(
      .Words(1 << AgentBits),
      .Width(EpsilonBits),
      .Style("block")
  ) u_decrement (
      .clk_i,
      .write_i      (set_i[SettingScheduleStep]),
      .write_index_i(set_agent_i),
      .write_data_i (data_i.schedule_step.decrement),
      .read_index_i (policy_agent_i),
      .data_o       (answer_decrement)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (4)
  ) u_shift (
      .clk_i,
      .write_i      (set_i[SettingScheduleStep]),
      .write_agent_i(set_agent_i),
      .write_data_i (data_i.schedule_step.shift),
      .read_agent_i (mix_agent_i),
      .clear_i      (1'b0),
      .data_o       (fetch_shift)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (Count)
  ) u_period (
      .clk_i,
      .write_i      (set_i[SettingSchedulePeriod]),
      .write_agent_i(set_agent_i),
      .write_data_i (data_i.schedule_period.last_count),
      .read_agent_i (answer_agent_i),
      .clear_i      (1'b0),
      .data_o       (row_last_count)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (EpsilonBits)
  ) u_epsilon (
      .clk_i,
      .write_i      (tree_due_q || tree_load),
      .write_agent_i(tree_agent_i),
      .write_data_i (tree_epsilon),
      .read_agent_i (fetch_agent_i),
      .clear_i      (1'b0),
      .data_o       (request_epsilon_o)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (Count)
  ) u_count (
      .clk_i,
      .write_i      ((act_unit_q && acts_i) || act_load_count),
      .write_agent_i(act_agent_i),
      .write_data_i (act_load_count ? data_i.counts.count : act_due ? '0 : act_count_q),
      .read_agent_i (answer_agent_i),
      .clear_i      (1'b0),
      .data_o       (row_count_o)
  );

  // At the end of a period, epsilon is first multiplied by 1 - 2^-shift, rounded up, and then decremented. The product
  // is split in two, with registers before, inside and after the multipliers. The first registers have no reset, so
  // synthesis can move them into the multipliers.
  always_comb begin
    fetch_keep[MostShift] = fetch_shift == '0;
    for (int unsigned n = 0; n < MostShift; n++) fetch_keep[n] = fetch_shift >= 4'(MostShift - n);
  end

  assign answer_kept = {answer_high_q, ROUND_UP} + (EpsilonBits + MostShift + 1)'(answer_low_q);
  assign act_lead = act_left_q - {1'b0, act_end_q};

  always_ff @(posedge clk_i) begin
    request_keep_q  <= fetch_keep;
    policy_keep_q   <= request_keep_q;
    policy_low_q    <= request_epsilon_o[Low-1:0];
    policy_high_q   <= request_epsilon_o[EpsilonBits-1:Low];
    count_low_q     <= policy_keep_q * policy_low_q;
    count_high_q    <= policy_keep_q * policy_high_q;
    answer_low_q    <= count_low_q;
    answer_high_q   <= count_high_q;

    // Block RAMs are slow, so their outputs are registered.
    row_kept_q      <= answer_kept[MostShift+:EpsilonBits];
    row_decrement_q <= answer_decrement;
    act_left_q      <= {1'b0, row_kept_q} - {1'b0, row_decrement_q};
    act_end_q       <= row_end;
    tree_less_q     <= act_lead[EpsilonBits];
    if (act_token_i && load_epsilon_i) tree_less_q <= 1'b1;
    tree_left_q <= act_left_q[EpsilonBits-1:0];
    tree_end_q  <= act_end_q;
    tree_due_q  <= act_due;

    act_unit_q  <= row_stepped_i && (row_ended_i || !row_by_episodes);

    // Compare the count with the period in groups of four bits: a full comparison is too slow for one clock.
    act_count_q <= row_count_o + 1'b1;
    for (int unsigned p = 0; p < Parts; p++)
    act_same_q[p] <= row_count_o[p*Part+:Part] == row_last_count[p*Part+:Part];
  end

  assign act_due = act_unit_q && acts_i && act_same_q == '1;
  assign tree_load = tree_token_i && load_epsilon_i;
  assign tree_epsilon = tree_less_q ? tree_end_q : tree_left_q;
  assign act_load_count = act_token_i && load_count_i;

  logic unused_bits;
  assign unused_bits = ^{answer_kept, act_lead[EpsilonBits-1:0]};

  `QS_ASSERT(EpsilonInRange_A, !tree_due_q || tree_epsilon <= EpsilonBits'(1) << 24)

endmodule
