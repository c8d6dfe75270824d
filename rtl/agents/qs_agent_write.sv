// SPDX-License-Identifier: Apache-2.0
// Computes the entry that a slot writes, and the value that it passes to its agent's next slot.
//
// Function    The entry of a step is the value stored by the agent's previous slot: the value of the chosen action, or
//             the value just written if the agent continues with the same pair. A truncated step passes its new value
//             to the next slot, which writes it. Agents that share a table read the entry again, because another agent
//             may have written it. Host accesses write entries through the update, unchanged. With several planes, this
//             applies to each plane's entry, and the update uses the sum of these entries.
// Timing      Rewards in stage Entry, target in stage Target, the write in stage Write; see qs_agents_pkg. One
//             slot per clock.
// Handshake   set_rates_i writes the rates of agent set_agent_i. entry_access_i: the host accesses an entry in this
//             slot; access_writes_i, one bit per table, writes access_value_i to it.
// Reset       none: an agent's value is undefined until a slot stores one.
// Hazards     none: a value is written before its agent's next read.
// Invariants  none
// Resources   qs_agent_update; a value and two coefficients per agent
// Reference   none

module qs_agent_write
  import qs_agents_pkg::*;
  import qs_map_pkg::*;
#(
    parameter int unsigned Actions = 4,  // 2..64
    parameter int unsigned Width = 16,  // 8..32
    parameter int unsigned CoeffFraction = 15,  // 15..24
    parameter int unsigned Agents = 16,  // 1..16
    parameter int unsigned Algorithm = 0,  // algorithm_e
    parameter bit SharedTable = 0,  // one table for all agents
    parameter int unsigned Rounding = 0,  // qs_pkg::rounding_e
    parameter int unsigned Planes = 1,  // 1..16; with two tables 1
    localparam int unsigned SumStages = sum_stages(Planes),
    localparam int unsigned SumBits = Width + SumStages,
    localparam int unsigned Entry = entry_stage(Actions, Algorithm, Planes),
    localparam int unsigned Write = write_stage(Actions, Algorithm, Planes),
    localparam int unsigned Tables = Algorithm == DoubleQLearning ? 2 : Planes
) (
    input logic clk_i,

    input logic [AgentBits-1:0] policy_agent_i,
    input logic policy_live_i,
    input logic [AgentBits-1:0] before_read_agent_i,  // stage Read - 1
    input logic [AgentBits-1:0] read_agent_i,
    input logic read_live_i,
    input logic [AgentBits-1:0] entry_agent_i,
    input logic [AgentBits-1:0] after_entry_agent_i,  // stage Entry + 1
    input logic [AgentBits-1:0] values_agent_i,  // the stage of values_i
    input logic values_live_i,
    input logic [AgentBits-1:0] before_bias_agent_i,  // stage Entry + UpdateAgain - 1
    input logic [AgentBits-1:0] before_add_agent_i,  // one clock before the increment is added
    input logic [AgentBits-1:0] before_write_agent_i,  // stage Write - 1
    input logic [AgentBits-1:0] write_agent_i,

    input logic                        set_rates_i,
    input logic        [AgentBits-1:0] set_agent_i,
    input rates_word_t                 rates_i,
    input logic                        read_access_i,    // the host accesses an entry; stage Read
    input logic                        entry_access_i,
    input logic        [   Tables-1:0] access_writes_i,  // stage Write - 1
    input logic        [    Width-1:0] access_value_i,

    // PolicyStage, as drawn; only Double Q-learning has two tables
    input  logic [CoeffFraction-1:0] policy_rounding_i,
    input  logic                     policy_table_i,
    output logic                     tree_number_o,

    input result_t                 act_result_i,
    input logic                    row_zero_i,    // treats the target as 0
    input logic signed [Width-1:0] row_reward_i,

    input logic        [Tables-1:0][Width-1:0] entries_i,  // of a shared table, in stage Read
    input logic        [Tables-1:0][Width-1:0] values_i,   // of the next action
    input logic signed [ SumBits:0]            target_i,   // in stage Target
    input logic        [Planes-1:0]            same_i,     // see qs_agent_place

    // For the counters, in stage Entry
    output result_t                 entry_result_o,
    output logic signed [Width-1:0] entry_reward_o,
    output logic                    saturated_o,     // stage Write

    output logic [Tables-1:0]            write_o,  // stage Write
    output logic [Planes-1:0][Width-1:0] value_o
);

  localparam int unsigned Read = Entry - SumStages;

  result_t read_result, last;  // stages Read and Write - 1
  logic entry_number, last_number, write_step_q, saturated, tree_number, later_zero;
  logic [Tables-1:0] here;
  logic signed [Width-1:0] reward;
  logic signed [SumBits-1:0] entry_before;
  logic [Planes-1:0][Width-1:0] entries, later_entries;  // entries: as read, in stage Read
  logic [qs_pkg::CoeffBits-1:0] alpha, kappa, alpha_q, kappa_q;
  logic [CoeffFraction-1:0] bias;

  qs_delay #(
      .Width(1),
      .Depth(TreeStage - PolicyStage)
  ) u_number (
      .clk_i,
      .data_i(policy_table_i),
      .data_o(tree_number)
  );
  assign tree_number_o = tree_number;

  qs_delay #(
      .Width(1),
      .Depth(Entry - TreeStage)
  ) u_entry_number (
      .clk_i,
      .data_i(tree_number),
      .data_o(entry_number)
  );

  qs_delay #(
      .Width($bits(result_t)),
      .Depth(Read - ActStage)
  ) u_read_result (
      .clk_i,
      .data_i(act_result_i),
      .data_o(read_result)
  );

  qs_delay #(
      .Width($bits(result_t)),
      .Depth(SumStages)
  ) u_entry_result (
      .clk_i,
      .data_i(read_result),
      .data_o(entry_result_o)
  );

  qs_delay #(
      .Width(Width),
      .Depth(Entry - RowStage)
  ) u_reward (
      .clk_i,
      .data_i(row_reward_i),
      .data_o(reward)
  );
  // The reward in the world's answer to a held slot is ignored.
  assign entry_reward_o = SharedTable && !entry_result_o.step ? '0 : reward;

  qs_delay #(
      .Width($bits(result_t) + 1),
      .Depth(Write - 1 - Entry)
  ) u_last (
      .clk_i,
      .data_i({entry_result_o, entry_number}),
      .data_o({last, last_number})
  );

  always_ff @(posedge clk_i) write_step_q <= last.step;

  for (genvar t = 0; t < Tables; t++) begin : gen_write
    assign here[t] = Tables == Planes || last_number == 1'(t);
    always_ff @(posedge clk_i)
      write_o[t] <= (here[t] && ((last.step && !last.truncated) || last.finish)) ||
          access_writes_i[t];
  end

  if (SharedTable) begin : gen_shared
    logic truncated_q;
    logic [Planes-1:0][Width-1:0] truncated_values;
    always_ff @(posedge clk_i) truncated_q <= last.truncated;

    qs_agent_ram #(
        .Agents(Agents),
        .Width (Planes * Width)
    ) u_value (
        .clk_i,
        .write_i      (truncated_q),
        .write_agent_i(write_agent_i),
        .write_data_i (value_o),
        .read_agent_i (before_read_agent_i),
        .clear_i      (1'b0),
        .data_o       (truncated_values)
    );

    for (genvar t = 0; t < Planes; t++) begin : gen_entry
      assign entries[t] = read_result.finish ? truncated_values[t] :
          entries_i[Tables == Planes ? t : 32'(entry_number)];
    end
    logic unused_values;
    assign unused_values = ^{values_i, same_i, values_agent_i, values_live_i, before_write_agent_i};
  end else begin : gen_own
    logic [Tables-1:0][Width-1:0] before_values, next_values, written;
    logic [Tables-1:0] new_q;
    logic values_q;

    qs_agent_ram #(
        .Agents(Agents),
        .Width (Tables * Width)
    ) u_next_values (
        .clk_i,
        .write_i      (values_live_i),
        .write_agent_i(values_agent_i),
        .write_data_i (values_i),
        .read_agent_i (before_write_agent_i),
        .clear_i      (1'b0),
        .data_o       (next_values)
    );

    qs_agent_ram #(
        .Agents(Agents),
        .Width (Tables * Width)
    ) u_value (
        .clk_i,
        .write_i      (values_q),
        .write_agent_i(write_agent_i),
        .write_data_i (written),
        .read_agent_i (before_read_agent_i),
        .clear_i      (1'b0),
        .data_o       (before_values)
    );

    always_ff @(posedge clk_i) values_q <= last.values;
    for (genvar t = 0; t < Tables; t++) begin : gen_value
      localparam int unsigned Plane = t % Planes;
      always_ff @(posedge clk_i)
        new_q[t] <= here[t] && (last.truncated || (same_i[Plane] && (last.step || last.finish)));
      assign written[t] = new_q[t] ? value_o[Plane] : next_values[t];
    end

    for (genvar t = 0; t < Planes; t++) begin : gen_entry
      assign entries[t] = before_values[Tables==Planes?t : 32'(entry_number)];
    end
    logic unused_entries;
    assign unused_entries = ^{entries_i, read_result};
  end

  qs_sum_tree #(
      .Terms(Planes),
      .Width(Width)
  ) u_sum (
      .clk_i,
      .terms_i(entries),
      .sum_o  (entry_before)
  );

  qs_delay #(
      .Width(1),
      .Depth(Entry + UpdateAgain - RowStage)
  ) u_zero (
      .clk_i,
      .data_i(row_zero_i),
      .data_o(later_zero)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (qs_pkg::CoeffBits)
  ) u_alpha (
      .clk_i,
      .write_i      (set_rates_i),
      .write_agent_i(set_agent_i),
      .write_data_i (rates_i.alpha),
      .read_agent_i (entry_agent_i),
      .clear_i      (1'b0),
      .data_o       (alpha)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (qs_pkg::CoeffBits)
  ) u_kappa (
      .clk_i,
      .write_i      (set_rates_i),
      .write_agent_i(set_agent_i),
      .write_data_i (rates_i.kappa),
      .read_agent_i (after_entry_agent_i),
      .clear_i      (1'b0),
      .data_o       (kappa)
  );

  // Registered, because multipliers are far from memories.
  always_ff @(posedge clk_i) begin
    alpha_q <= alpha;
    kappa_q <= kappa;
  end

  // Delays the entry of a single plane until the bias is valid, or the entries of several planes until the increment
  // is.
  qs_agent_ram #(
      .Agents(Agents),
      .Width (Planes * Width)
  ) u_later_entries (
      .clk_i,
      .write_i      (read_live_i),
      .write_agent_i(read_agent_i),
      .write_data_i (read_access_i ? {Planes{access_value_i}} : entries),
      .read_agent_i (Planes > 1 ? before_add_agent_i : before_bias_agent_i),
      .clear_i      (1'b0),
      .data_o       (later_entries)
  );

  if (Rounding == 32'(qs_pkg::RoundStochastic)) begin : gen_noise
    qs_agent_ram #(
        .Agents(Agents),
        .Width (CoeffFraction)
    ) u_noise (
        .clk_i,
        .write_i      (policy_live_i),
        .write_agent_i(policy_agent_i),
        .write_data_i (policy_rounding_i),
        .read_agent_i (before_bias_agent_i),
        .clear_i      (1'b0),
        .data_o       (bias)
    );
  end else begin : gen_no_noise
    logic unused_rounding;
    assign unused_rounding = ^{policy_rounding_i, policy_agent_i, policy_live_i};
    assign bias = CoeffFraction'(Rounding == 32'(qs_pkg::RoundNearest)) << (CoeffFraction - 1);
  end

  qs_agent_update #(
      .Width        (Width),
      .CoeffFraction(CoeffFraction),
      .Planes       (Planes)
  ) u_update (
      .clk_i,
      .entry_reward_i(entry_reward_o),
      .entry_value_i(entry_before),
      .entry_keep_i(entry_result_o.finish || entry_access_i),
      .alpha_coeff_i(alpha_q),
      .target_value_i(target_i),
      .target_kappa_i(kappa_q),
      .again_zero_i(later_zero),
      .again_value_i(later_entries[0]),
      .again_bias_i(bias),
      .increment_weights_i(later_entries),
      .value_o,
      .saturated_o(saturated)
  );

  assign saturated_o = saturated && write_step_q;

  logic unused_bits;
  assign unused_bits = ^{last, before_add_agent_i, read_result};

endmodule
