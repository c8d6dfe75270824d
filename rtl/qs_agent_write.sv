// SPDX-License-Identifier: Apache-2.0
// From reward and target to the entry that a slot writes, and the value with which its agent continues.
//
// Function    The entry of a step is the value left by the agent's last slot: the value of the chosen action, or
//             the value just written if the step continues with the same pair. A truncated step leaves its new
//             value to the next slot, which writes it. Agents that share a table read the entry again, because
//             another agent may have written it. Host accesses write entries through the update, unchanged.
// Timing      Rewards in stage Entry, target in stage Target, the write in stage Write; see qs_agents_pkg. One
//             slot per clock.
// Handshake   token_i[k] is 1 when the slot of an access is in stage k.
// Reset       none: an agent's value is undefined until a slot has left one.
// Hazards     none: a slot returns after it has been written.
// Invariants  none
// Resources   those of qs_agent_update; a value and two coefficients per agent
// Reference   none

module qs_agent_write
  import qs_agents_pkg::*;
#(
    parameter int unsigned Actions = 4,  // 2..64
    parameter int unsigned Width = 16,  // 8..32
    parameter int unsigned Agents = 16,  // 1..16
    parameter int unsigned Algorithm = 0,  // algorithm_e
    parameter bit SharedTable = 0,  // all agents learn one
    parameter int unsigned Rounding = 0,  // qs_pkg::rounding_e
    localparam int unsigned Slots = slots(Actions, Algorithm),
    localparam int unsigned Entry = entry_stage(Actions, Algorithm),
    localparam int unsigned Write = write_stage(Actions, Algorithm),
    localparam int unsigned Tables = Algorithm == 32'(DoubleQLearning) ? 2 : 1
) (
    input logic clk_i,

    input logic    [Slots-1:0][AgentBits-1:0] agent_i,   // in each stage
    input logic    [Slots-1:0]                live_i,
    input access_t                            access_i,
    input logic    [  Write:0]                token_i,

    // PolicyStage, as it is drawn; only Double Q-learning has two tables
    input  logic [NoiseBits-1:0] policy_rounding_i,
    input  logic                 policy_table_i,
    output logic                 tree_number_o,

    input deed_t                   act_deed_i,
    input logic                    row_zero_i,   // the target counts as 0
    input logic signed [Width-1:0] row_reward_i,

    input logic        [Tables-1:0][Width-1:0] entries_i,  // of a shared table, in stage Entry
    input logic        [Tables-1:0][Width-1:0] values_i,   // of the next action, in stage Select
    input logic signed [   Width:0]            target_i,   // in stage Target
    input logic                                same_i,     // see qs_agent_place

    // For the counters, in stage Entry
    output deed_t                   entry_deed_o,
    output logic signed [Width-1:0] entry_reward_o,
    output logic                    saturated_o,     // stage Write

    output logic        [Tables-1:0] write_o,  // stage Write
    output logic signed [ Width-1:0] value_o
);

  localparam int unsigned Select = select_stage(Actions, Algorithm);

  deed_t last;  // stage Write - 1
  logic entry_number, last_number, write_step_q, saturated, tree_number, later_zero;
  logic [Tables-1:0] here;
  logic signed [Width-1:0] entry, entry_before, later_entry, reward;
  logic [qs_pkg::CoeffBits-1:0] alpha, kappa, alpha_q, kappa_q;
  logic [qs_pkg::CoeffFraction-1:0] bias;

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
      .Width($bits(deed_t)),
      .Depth(Entry - ActStage)
  ) u_entry_deed (
      .clk_i,
      .data_i(act_deed_i),
      .data_o(entry_deed_o)
  );

  qs_delay #(
      .Width(Width),
      .Depth(Entry - RowStage)
  ) u_reward (
      .clk_i,
      .data_i(row_reward_i),
      .data_o(reward)
  );
  // The world's answer to a held slot does not count.
  assign entry_reward_o = SharedTable && !entry_deed_o.step ? '0 : reward;

  qs_delay #(
      .Width($bits(deed_t) + 1),
      .Depth(Write - 1 - Entry)
  ) u_last (
      .clk_i,
      .data_i({entry_deed_o, entry_number}),
      .data_o({last, last_number})
  );

  always_ff @(posedge clk_i) write_step_q <= last.step;

  for (genvar t = 0; t < Tables; t++) begin : gen_write
    assign here[t] = Tables == 1 || last_number == 1'(t);
    always_ff @(posedge clk_i)
      write_o[t] <= (here[t] && ((last.step && !last.truncated) || last.finish)) ||
          (token_i[Write-1] && access_i.entry && access_i.write &&
           (Tables == 1 || access_i.index[26] == 1'(t)));
  end

  if (SharedTable) begin : gen_shared
    logic truncated_q;
    logic [Width-1:0] truncated_value;
    always_ff @(posedge clk_i) truncated_q <= last.truncated;

    qs_agent_ram #(
        .Agents(Agents),
        .Width (Width)
    ) u_value (
        .clk_i,
        .write_i      (truncated_q),
        .write_agent_i(agent_i[Write%Slots]),
        .write_data_i (value_o),
        .read_agent_i (agent_i[(Entry-1)%Slots]),
        .clear_i      (1'b0),
        .data_o       (truncated_value)
    );

    assign entry_before = entry_deed_o.finish ? truncated_value : entries_i[Tables>1&&entry_number];
    logic unused_values;
    assign unused_values = ^{values_i, same_i};
  end else begin : gen_own
    logic [Tables-1:0][Width-1:0] before_values, next_values, written;
    logic [Tables-1:0] new_q;
    logic values_q;

    qs_agent_delay #(
        .Agents(Agents),
        .Slots (Slots),
        .Width (Tables * Width),
        .From  (Select),
        .To    (Write)
    ) u_next_values (
        .clk_i,
        .agent_i,
        .live_i,
        .data_i(values_i),
        .data_o(next_values)
    );

    qs_agent_ram #(
        .Agents(Agents),
        .Width (Tables * Width)
    ) u_value (
        .clk_i,
        .write_i      (values_q),
        .write_agent_i(agent_i[Write%Slots]),
        .write_data_i (written),
        .read_agent_i (agent_i[(Entry-1)%Slots]),
        .clear_i      (1'b0),
        .data_o       (before_values)
    );

    always_ff @(posedge clk_i) values_q <= last.values;
    for (genvar t = 0; t < Tables; t++) begin : gen_value
      always_ff @(posedge clk_i)
        new_q[t] <= here[t] && (last.truncated || (same_i && (last.step || last.finish)));
      assign written[t] = new_q[t] ? value_o : next_values[t];
    end

    assign entry_before = before_values[Tables>1&&entry_number];
    logic unused_entries;
    assign unused_entries = ^entries_i;
  end

  assign entry = token_i[Entry] && access_i.entry ? access_i.data[Width-1:0] : entry_before;

  qs_delay #(
      .Width(1),
      .Depth(Entry + UpdateEntry - RowStage)
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
      .write_i      (access_i.set[0]),
      .write_agent_i(access_i.agent),
      .write_data_i (access_i.data[qs_pkg::CoeffBits-1:0]),
      .read_agent_i (agent_i[Entry%Slots]),
      .clear_i      (1'b0),
      .data_o       (alpha)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (qs_pkg::CoeffBits)
  ) u_kappa (
      .clk_i,
      .write_i      (access_i.set[0]),
      .write_agent_i(access_i.agent),
      .write_data_i (access_i.data[31-:qs_pkg::CoeffBits]),
      .read_agent_i (agent_i[(Entry+1)%Slots]),
      .clear_i      (1'b0),
      .data_o       (kappa)
  );

  // Multipliers are far from memories.
  always_ff @(posedge clk_i) begin
    alpha_q <= alpha;
    kappa_q <= kappa;
  end

  qs_agent_delay #(
      .Agents(Agents),
      .Slots (Slots),
      .Width (Width),
      .From  (Entry),
      .To    (Entry + UpdateEntry)
  ) u_later_entry (
      .clk_i,
      .agent_i,
      .live_i,
      .data_i(entry),
      .data_o(later_entry)
  );

  if (Rounding == 32'(qs_pkg::RoundStochastic)) begin : gen_noise
    qs_agent_delay #(
        .Agents(Agents),
        .Slots (Slots),
        .Width (NoiseBits),
        .From  (PolicyStage),
        .To    (Entry + UpdateEntry)
    ) u_noise (
        .clk_i,
        .agent_i,
        .live_i,
        .data_i(policy_rounding_i),
        .data_o(bias)
    );
  end else begin : gen_no_noise
    logic unused_rounding;
    assign unused_rounding = ^policy_rounding_i;
    assign bias = Rounding == 32'(qs_pkg::RoundNearest) ? qs_pkg::HALF : '0;
  end

  qs_agent_update #(
      .Width(Width)
  ) u_update (
      .clk_i,
      .s0_reward_i(entry_reward_o),
      .s0_entry_i (entry_before),
      .s0_keep_i  (entry_deed_o.finish || (token_i[Entry] && access_i.entry)),
      .s2_alpha_i (alpha_q),
      .s3_target_i(target_i),
      .s3_kappa_i (kappa_q),
      .s5_zero_i  (later_zero),
      .s5_entry_i (later_entry),
      .s5_bias_i  (bias),
      .value_o,
      .saturated_o(saturated)
  );

  assign saturated_o = saturated && write_step_q;

  logic unused_bits;
  assign unused_bits = ^{agent_i, live_i, access_i, token_i, last};

endmodule
