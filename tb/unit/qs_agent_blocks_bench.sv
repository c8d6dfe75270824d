// SPDX-License-Identifier: Apache-2.0
// The interleaved lane's blocks outside its pipeline, instantiated separately but driven by one slot rotation.
//
// Function    Contains the slots, generators, epsilon, budget, counters, bus, one word per agent, and delay lines. Each
//             block has its own inputs and outputs; the blocks share only the slots.
// Timing      slot_o is the number of the slot in stage 0. All other ports have the same timing as in their blocks.
// Reset       as in the blocks. Slots keep rotating, and clearing_o stays 1 until the end of the next rotation.

module qs_agent_blocks_bench
  import qs_agents_pkg::*;
#(
    parameter int unsigned Agents = 16,
    parameter int unsigned Slots = 16,
    parameter int unsigned Width = 16,
    parameter int unsigned CoeffFraction = 15,
    localparam int unsigned BusLength = 18
) (
    input  logic                            clk_i,
    input  logic                            rst_i,
    output logic [      4:0]                slot_o,
    output logic                            clearing_o,
    output logic [Slots-1:0][AgentBits-1:0] agent_o,
    output logic [Slots-1:0]                live_o,

    input logic [31:0] data_i,  // data of loads and settings

    input  logic                     draw_advance_i,
    input  logic [              1:0] draw_load_i,
    output logic [             63:0] draw_word_o,
    output logic [             63:0] draw_o,
    output logic [CoeffFraction-1:0] draw_rounding_o,
    output logic                     draw_table_o,

    input  logic                   epsilon_stepped_i,
    input  logic                   epsilon_ended_i,
    input  logic [            2:0] epsilon_set_i,
    input  logic [  AgentBits-1:0] epsilon_agent_i,
    input  logic [            1:0] epsilon_load_i,
    output logic [EpsilonBits-1:0] epsilon_o,
    output logic [EpisodeBits-1:0] epsilon_count_o,

    input  logic        budget_run_i,
    input  logic [47:0] budget_steps_i,
    input  logic        budget_stepped_i,
    output logic        budget_begins_o,
    output logic        budget_more_o,
    output logic        budget_left_o,
    output logic [42:0] budget_remaining_o,

    input  logic                        counters_stepped_i,
    input  logic                        counters_terminated_i,
    input  logic                        counters_truncated_i,
    input  logic signed [    Width-1:0] counters_reward_i,
    input  logic                        counters_saturated_i,
    input  logic                        counters_read_i,
    input  logic                        counters_write_i,
    input  logic        [AgentBits-1:0] counters_agent_i,
    input  logic        [          3:0] counters_word_i,
    input  logic        [         15:0] counters_data_i,
    output logic                        counters_done_o,
    output logic        [         15:0] counters_data_o,

    input  logic                 bus_valid_i,
    input  logic                 bus_write_i,
    input  logic [          2:0] bus_region_i,
    input  logic [         29:0] bus_index_i,
    input  logic                 bus_counted_i,
    output logic                 bus_done_o,
    output logic [         29:0] bus_index_o,
    output logic [         31:0] bus_data_o,
    output logic                 bus_write_o,
    output logic [AgentBits-1:0] bus_agent_o,
    output logic [          7:0] bus_set_o,
    output logic [          4:0] bus_field_o,
    output logic [          4:0] bus_load_o,
    output logic                 bus_entry_o,
    output logic                 bus_counter_read_o,
    output logic                 bus_counter_write_o,
    output logic [  BusLength:0] bus_token_o,

    input  logic                 ram_write_i,
    input  logic [AgentBits-1:0] ram_write_agent_i,
    input  logic [    Width-1:0] ram_data_i,
    input  logic [AgentBits-1:0] ram_read_agent_i,
    output logic [    Width-1:0] ram_data_o,

    input  logic [Width-1:0]            delay_i,
    output logic [      3:0][Width-1:0] delay_o   // after 0, 1 and 5 clocks, and from stage 2 to 9
);

  logic [4:0] slot_q;
  logic turn;
  logic [Slots-1:0][AgentBits-1:0] agent;
  logic [Slots-1:0] live;

  qs_agent_slots #(
      .Agents(Agents),
      .Slots (Slots)
  ) u_slots (
      .agent_o(agent),
      .live_o (live),
      .turn_o (turn),
      .*
  );

  assign agent_o = agent;
  assign live_o  = live;
  assign slot_o  = slot_q;
  always_ff @(posedge clk_i) slot_q <= turn ? '0 : slot_q + 1'b1;

  qs_draw #(
      .Agents       (Agents),
      .CoeffFraction(CoeffFraction)
  ) u_draw (
      .begin_agent_i    (agent[1]),
      .advance_i        (draw_advance_i),
      .mix_agent_i      (agent[3]),
      .mix_write_i      (live[3]),
      .mix_load_i       (draw_load_i),
      .load_data_i      (data_i),
      .advance_word_o   (draw_word_o),
      .request_draw_o   (draw_o),
      .policy_rounding_o(draw_rounding_o),
      .policy_table_o   (draw_table_o),
      .*
  );

  logic [11:0] epsilon_token;
  always_comb begin
    for (int unsigned k = 0; k <= 11; k++)
    epsilon_token[k] = epsilon_load_i != '0 && live[k] && agent[k] == epsilon_agent_i;
  end

  qs_epsilon #(
      .Agents(Agents)
  ) u_epsilon (
      .mix_agent_i      (agent[3]),
      .fetch_agent_i    (agent[4]),
      .policy_agent_i   (agent[6]),
      .count_agent_i    (agent[7]),
      .answer_agent_i   (agent[8]),
      .act_agent_i      (agent[10]),
      .tree_agent_i     (agent[11]),
      .set_i            (epsilon_set_i),
      .set_agent_i      (epsilon_agent_i),
      .load_epsilon_i   (epsilon_load_i[0]),
      .load_count_i     (epsilon_load_i[1]),
      .advance_token_i  (epsilon_token[2]),
      .count_token_i    (epsilon_token[7]),
      .act_token_i      (epsilon_token[10]),
      .tree_token_i     (epsilon_token[11]),
      .row_stepped_i    (epsilon_stepped_i),
      .row_ended_i      (epsilon_ended_i),
      .acts_i           (1'b1),
      .request_epsilon_o(epsilon_o),
      .row_count_o      (epsilon_count_o),
      .*
  );

  qs_agent_budget #(
      .Agents(Agents)
  ) u_budget (
      .run_i         (budget_run_i),
      .run_steps_i   (budget_steps_i),
      .turn_i        (turn),
      .answer_agent_i(agent[AnswerStage]),
      .act_agent_i   (agent[ActStage]),
      .act_live_i    (live[ActStage]),
      .row_stepped_i (budget_stepped_i),
      .begins_o      (budget_begins_o),
      .tree_more_o   (budget_more_o),
      .left_o        (budget_left_o),
      .*
  );
  assign budget_remaining_o = u_budget.remaining_q;

  qs_agent_counters #(
      .Agents(Agents),
      .Width (Width),
      .Slots (Slots)
  ) u_counters (
      .clk_i,
      .rst_i               (rst_i || clearing_o),
      .before_entry_agent_i(agent[12]),
      .before_entry_live_i (live[12]),
      .entry_agent_i       (agent[13]),
      .entry_live_i        (live[13]),
      .before_write_agent_i(agent[20%Slots]),
      .before_write_live_i (live[20%Slots]),
      .write_agent_i       (agent[21%Slots]),
      .write_live_i        (live[21%Slots]),
      .stepped_i           (counters_stepped_i),
      .terminated_i        (counters_terminated_i),
      .truncated_i         (counters_truncated_i),
      .reward_i            (counters_reward_i),
      .saturated_i         (counters_saturated_i),
      .read_i              (counters_read_i),
      .write_i             (counters_write_i),
      .want_agent_i        (counters_agent_i),
      .want_word_i         (counters_word_i),
      .want_data_i         (counters_data_i),
      .done_o              (counters_done_o),
      .data_o              (counters_data_o)
  );

  request_t request;
  access_t  access;
  assign request = '{
          write: bus_write_i,
          region: bus_region_i,
          index: bus_index_i,
          data: data_i
      };
  assign bus_index_o = access.index;
  assign bus_data_o = access.data;
  assign bus_write_o = access.write;
  assign bus_agent_o = access.agent;
  assign bus_set_o = access.set;
  assign bus_field_o = access.field;
  assign bus_load_o = access.load;
  assign bus_entry_o = access.entry;
  assign bus_counter_read_o = access.counter_read;
  assign bus_counter_write_o = access.counter_write;

  qs_agent_bus #(
      .Length(BusLength)
  ) u_bus (
      .bus_i         (request),
      .agent_i       (agent[0]),
      .live_i        (live[0]),
      .counter_done_i(bus_counted_i),
      .access_o      (access),
      .token_o       (bus_token_o),
      .*
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (Width)
  ) u_ram (
      .clk_i,
      .write_i      (ram_write_i),
      .write_agent_i(ram_write_agent_i),
      .write_data_i (ram_data_i),
      .read_agent_i (ram_read_agent_i),
      .clear_i      (1'b0),
      .data_o       (ram_data_o)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (Width)
  ) u_slot_delay (
      .clk_i,
      .write_i      (live[2]),
      .write_agent_i(agent[2]),
      .write_data_i (delay_i),
      .read_agent_i (agent[8]),
      .clear_i      (1'b0),
      .data_o       (delay_o[3])
  );

  for (genvar d = 0; d < 3; d++) begin : gen_delay
    localparam int unsigned Depth = d == 2 ? 5 : d;
    qs_delay #(
        .Width(Width),
        .Depth(Depth)
    ) u_delay (
        .clk_i,
        .data_i(delay_i),
        .data_o(delay_o[d])
    );
  end

endmodule
