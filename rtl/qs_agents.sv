// SPDX-License-Identifier: Apache-2.0
// The interleaved lane: up to 16 agents, with own tables or a shared one, which act in a world and learn.
//
// Function    A slot starts in every clock, and agent n has slot n of each rotation. In one slot an agent makes
//             one whole step of docs/acting.md: it draws, asks the world, reads a row, chooses, and updates.
//             After n steps of each agent, tables, contexts and counters equal those of the golden model bit
//             for bit: ActingModel in qstep.golden.agents.
//             Four things take an extra slot: the first start state; the choice of the action after a
//             truncation, whose row is read in the slot after the step's, with the same draw, before the
//             step's write; the value of Q[state, action] at the start of a run; and a late world.
// Timing      One slot per clock. A rotation has Slots clocks (qs_agents_pkg), so an agent makes a step every
//             Slots clocks. docs/agents.md has the table of stages.
// Handshake   Bus: bus_valid_i and bus_i stay until bus_done_o is 1, for one clock, in which bus_data_o is the
//             word read. One access at a time. While busy_o is 1, only counters may be read.
//             run_i for one clock, only while busy_o is 0: each agent makes run_steps_i steps. stop_i for one
//             clock at any time: agents finish their current step. busy_o falls when all steps are made and
//             all counters are complete.
//             World: it is asked in the clock in which world_valid_o is 1. Exactly AnswerStage - RequestStage
//             clocks later its answer is taken if world_ready_i is 1. Otherwise the agent asks the same again
//             Slots clocks after the first request, until it gets an answer or is stopped.
//             world_start_state_i is the start state for that clock's world_start_o, and always valid.
// Reset       Stops all agents. Memories keep their contents (undefined after power-up: write them first).
// Hazards     With own tables none: the agent's last slot has written everything that a slot reads, or passes
//             it on. For a shared table see qs_agent_order.
// Invariants  RunWaits_A, BusWaits_A
// Resources   docs/agents.md
// Reference   Sutton and Barto, "Reinforcement learning" (2018), chapter 6.

`include "qs_assert.svh"

module qs_agents
  import qs_agents_pkg::*;
#(
    parameter  int unsigned States      = 32,              // 2..65536, times agents at most 65536
    parameter  int unsigned Actions     = 4,               // 2..64
    parameter  int unsigned Width       = 16,              // 8..32
    parameter  int unsigned Agents      = 16,              // 1..16
    parameter  int unsigned Algorithm   = 0,               // algorithm_e
    parameter  int unsigned Rounding    = 0,               // qs_pkg::rounding_e
    parameter  bit          SharedTable = 0,               // all agents learn one
    parameter  bit          Schedules   = 1,               // else epsilon stays as it was loaded
    parameter  bit          StepLimit   = 1,               // of an episode; else there is none
    localparam int unsigned StateBits   = $clog2(States),
    localparam int unsigned ActionBits  = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,

    // Settings, contexts, counters and tables; docs/agents.md has the map of regions
    input  logic            bus_valid_i,
    input  request_t        bus_i,
    output logic            bus_done_o,
    output logic     [31:0] bus_data_o,

    // Runs
    input  logic        run_i,
    input  logic [47:0] run_steps_i,
    input  logic        stop_i,
    output logic        busy_o,

    // The world
    output logic                         world_valid_o,
    output logic        [ AgentBits-1:0] world_agent_o,
    output logic        [ StateBits-1:0] world_state_o,
    output logic        [ActionBits-1:0] world_action_o,
    output logic        [  DrawBits-1:0] world_outcome_o,
    output logic        [  DrawBits-1:0] world_start_o,
    input  logic                         world_ready_i,
    input  logic signed [     Width-1:0] world_reward_i,
    input  logic        [ StateBits-1:0] world_next_state_i,
    input  logic                         world_terminated_i,
    input  logic        [ StateBits-1:0] world_start_state_i
);

  localparam int unsigned Slots = slots(Actions, Algorithm);
  localparam int unsigned Select = select_stage(Actions, Algorithm);
  localparam int unsigned Entry = entry_stage(Actions, Algorithm);
  localparam int unsigned Write = write_stage(Actions, Algorithm);
  localparam int unsigned Tables = Algorithm == 32'(DoubleQLearning) ? 2 : 1;
  localparam bit Shares = SharedTable && Agents > 1;
  localparam bit Owns = !SharedTable && Agents > 1;
  localparam int unsigned IndexBits = Owns ? $clog2(Agents) : 0;
  localparam int unsigned Rows = Owns ? Agents << StateBits : States;
  localparam int unsigned RowBits = IndexBits + StateBits;

  if (Agents < 1 || Agents > 16) begin : gen_bad_agents
    $fatal(1, "qs_agents: Agents is %0d, legal is 1..16", Agents);
  end
  if (States < 2 || Rows > 65536) begin : gen_bad_states
    $fatal(1, "qs_agents: States is %0d, legal is 2..65536, and 65536 for all agents", States);
  end
  if (Algorithm > 3) begin : gen_bad_algorithm
    $fatal(1, "qs_agents: Algorithm is %0d, legal is 0..3", Algorithm);
  end
  if (Rounding > 2) begin : gen_bad_rounding
    $fatal(1, "qs_agents: Rounding is %0d, legal is 0..2", Rounding);
  end

  logic [Slots-1:0][AgentBits-1:0] agent;
  logic [Slots-1:0] live;
  logic turn, wakes;

  qs_agent_slots #(
      .Agents(Agents),
      .Slots (Slots)
  ) u_slots (
      .clk_i,
      .rst_i,
      .agent_o(agent),
      .live_o (live),
      .turn_o (turn),
      .wakes_o(wakes)
  );

  // --- Bus: an access to an agent's words happens in its slot, which `token` follows ----------------
  access_t access;
  logic [Write:0] token;
  logic counter_done;
  logic [15:0] counter_data;

  qs_agent_bus #(
      .Length(Write)
  ) u_bus (
      .clk_i,
      .rst_i,
      .bus_valid_i,
      .bus_i,
      .bus_done_o,
      .agent_i       (agent[SlotStage]),
      .live_i        (live[SlotStage]),
      .counter_done_i(counter_done),
      .access_o      (access),
      .token_o       (token)
  );

  // --- Stages 0 to 11: the agent's aim --------------------------------------------------------------
  flags_t request_flags;
  aim_t   answer_aim;
  logic advance_go, advance, answer_truncated, begins, tree_more, left;
  deed_t row_deed, act_deed_q, act_deed;
  logic acts;
  logic [31:0] holds;
  logic signed [Width-1:0] row_reward;
  logic [StateBits-1:0] row_state, row_x;
  logic [ActionBits-1:0] row_action;

  qs_agent_flags #(
      .Agents     (Agents),
      .Slots      (Slots),
      .SharedTable(Shares),
      .StepLimit  (StepLimit)
  ) u_flags (
      .clk_i,
      .agent_i           (agent),
      .live_i            (live),
      .wakes_i           (wakes),
      .begins_i          (begins),
      .tree_more_i       (tree_more),
      .access_i          (access),
      .row_token_i       (token[RowStage]),
      .advance_go_o      (advance_go),
      .advance_o         (advance),
      .request_asks_o    (world_valid_o),
      .request_flags_o   (request_flags),
      .answer_aim_o      (answer_aim),
      .answer_ready_i    (world_ready_i),
      .answer_truncated_i(answer_truncated),
      .acts_i            (acts)
  );

  always_ff @(posedge clk_i) act_deed_q <= row_deed;

  if (Shares) begin : gen_order
    qs_agent_order #(
        .States   (States),
        .Actions  (Actions),
        .Agents   (Agents),
        .Algorithm(Algorithm)
    ) u_order (
        .clk_i,
        .rst_i,
        .run_i,
        .run_steps_i,
        .stop_i,
        .restarts_i  (token[RowStage] && access.load[4]),
        .agent_i     (agent),
        .live_i      (live),
        .row_x_i     (row_x),
        .row_state_i (row_state),
        .row_action_i(row_action),
        .act_deed_i  (act_deed_q),
        .acts_o      (acts),
        .tree_more_o (tree_more),
        .left_o      (left),
        .holds_o     (holds)
    );
    assign act_deed = acts ? act_deed_q : '0;
    assign begins   = 1'b0;
  end else begin : gen_budget
    qs_agent_budget #(
        .Agents(Agents),
        .Slots (Slots)
    ) u_budget (
        .clk_i,
        .rst_i,
        .run_i        (run_i || stop_i),
        .run_steps_i  (stop_i ? '0 : run_steps_i),
        .turn_i       (turn),
        .agent_i      (agent),
        .live_i       (live),
        .row_stepped_i(row_deed.step),
        .begins_o     (begins),
        .tree_more_o  (tree_more),
        .left_o       (left)
    );
    assign acts = 1'b1;
    assign act_deed = act_deed_q;
    assign holds = '0;
  end

  // --- Stages 1 to 6: the draw, and epsilon ---------------------------------------------------------
  logic [63:0] advance_word, request_draw;
  logic [NoiseBits-1:0] policy_rounding;
  logic policy_table;
  logic [EpsilonBits-1:0] request_epsilon;
  logic [EpisodeBits-1:0] row_count;
  logic [1:0] mix_load_q;

  always_ff @(posedge clk_i) mix_load_q <= {2{token[AdvanceStage]}} & access.load[1:0];

  qs_draw #(
      .Agents(Agents)
  ) u_draw (
      .clk_i,
      .rst_i,
      .begin_agent_i    (agent[BeginStage]),
      .advance_i        (advance),
      .mix_agent_i      (agent[MixStage]),
      .mix_write_i      (live[MixStage]),
      .mix_load_i       (mix_load_q),
      .load_data_i      (access.data),
      .advance_word_o   (advance_word),
      .request_draw_o   (request_draw),
      .policy_rounding_o(policy_rounding),
      .policy_table_o   (policy_table)
  );

  if (Schedules) begin : gen_epsilon
    // A truncated step ends with its second slot, which chooses with the same epsilon.
    qs_epsilon #(
        .Agents(Agents),
        .Slots (Slots)
    ) u_epsilon (
        .clk_i,
        .rst_i,
        .agent_i          (agent),
        .access_i         (access),
        .token_i          (token[TreeStage:0]),
        .row_stepped_i    ((row_deed.step && !row_deed.truncated) || row_deed.finish),
        .row_ended_i      (row_deed.terminated || row_deed.finish),
        .acts_i           (acts),
        .request_epsilon_o(request_epsilon),
        .row_count_o      (row_count)
    );
  end else begin : gen_constant
    qs_epsilon_constant #(
        .Agents(Agents),
        .Slots (Slots)
    ) u_epsilon (
        .clk_i,
        .rst_i,
        .agent_i          (agent),
        .access_i         (access),
        .advance_token_i  (token[AdvanceStage]),
        .request_epsilon_o(request_epsilon)
    );
    assign row_count = '0;
  end

  // --- Stages 5 to 9: place, and the world ----------------------------------------------------------
  logic [StateBits-1:0] answer_state, entry_state, write_state;
  logic [ActionBits-1:0] entry_action, next_action, write_action;
  logic request_explored, row_explores, same;
  logic [EpisodeBits-1:0] count_steps;

  qs_agent_place #(
      .States   (States),
      .Actions  (Actions),
      .Agents   (Agents),
      .Algorithm(Algorithm)
  ) u_place (
      .clk_i,
      .agent_i           (agent),
      .live_i            (live),
      .access_i          (access),
      .token_i           (token),
      .request_state_o   (world_state_o),
      .request_action_o  (world_action_o),
      .request_explored_o(request_explored),
      .answer_state_o    (answer_state),
      .row_state_o       (row_state),
      .row_action_o      (row_action),
      .entry_state_o     (entry_state),
      .entry_action_o    (entry_action),
      .act_chooses_i     (act_deed.chooses),
      .row_x_i           (row_x),
      .row_explores_i    (row_explores),
      .action_i          (next_action),
      .same_o            (same),
      .write_state_o     (write_state),
      .write_action_o    (write_action)
  );

  assign world_agent_o = agent[RequestStage];
  assign {world_outcome_o, world_start_o} = request_draw[63:2*DrawBits];

  qs_agent_episode #(
      .States     (States),
      .Width      (Width),
      .Agents     (Agents),
      .Slots      (Slots),
      .SharedTable(Shares),
      .StepLimit  (StepLimit)
  ) u_episode (
      .clk_i,
      .rst_i,
      .agent_i           (agent),
      .access_i          (access),
      .answer_token_i    (token[AnswerStage]),
      .answer_aim_i      (answer_aim),
      .answer_state_i    (answer_state),
      .world_ready_i,
      .world_reward_i,
      .world_next_state_i,
      .world_terminated_i,
      .world_start_state_i,
      .count_steps_o     (count_steps),
      .answer_truncated_o(answer_truncated),
      .acts_i            (acts),
      .row_deed_o        (row_deed),
      .row_x_o           (row_x),
      .row_reward_o      (row_reward)
  );

  // --- Stages 9 to Select: row of x, next action and its value, target ------------------------------
  logic [Tables-1:0][Actions-1:0][Width-1:0] rows;
  logic [Tables-1:0] write;
  logic [RowBits-1:0] row_address, entry_address, write_address;
  logic signed [Width-1:0] value;
  logic [Tables-1:0][Width-1:0] entries;  // for a shared table only, from a second copy

  if (Owns) begin : gen_agent_rows
    assign row_address   = {agent[RowStage][IndexBits-1:0], row_x};
    assign write_address = {agent[Write%Slots][IndexBits-1:0], write_state};
  end else begin : gen_agent_row
    assign row_address   = row_x;
    assign write_address = write_state;
  end

  assign entry_address = RowBits'(entry_state);

  for (genvar t = 0; t < Tables; t++) begin : gen_table
    if (Shares) begin : gen_shared
      qs_table #(
          .States (Rows),
          .Actions(Actions),
          .Width  (Width)
      ) u_table (
          .clk_i,
          .rst_i,
          .row_state_i   (row_address),
          .row_o         (rows[t]),
          .entry_state_i (entry_address),
          .entry_action_i(entry_action),
          .entry_o       (entries[t]),
          .write_i       (write[t]),
          .write_state_i (write_address),
          .write_action_i(write_action),
          .write_data_i  (value)
      );
    end else begin : gen_own
      qs_agent_rows #(
          .States (Rows),
          .Actions(Actions),
          .Width  (Width)
      ) u_table (
          .clk_i,
          .rst_i,
          .row_state_i   (row_address),
          .row_o         (rows[t]),
          .write_i       (write[t]),
          .write_state_i (write_address),
          .write_action_i(write_action),
          .write_data_i  (value)
      );
      assign entries[t] = '0;
      logic unused_entry;
      assign unused_entry = ^{entry_address, entry_action};
    end
  end

  logic row_pick_q, row_zero, tree_picks, tree_number;
  logic [ActionBits-1:0] tree_pick;
  logic [ThresholdBits-1:0] threshold;
  logic [Tables-1:0][Width-1:0] next_values;
  logic signed [Width:0] target;

  always_ff @(posedge clk_i)
    row_pick_q <= answer_aim.refresh || (token[AnswerStage] && access.entry);

  qs_agent_explore #(
      .Actions(Actions)
  ) u_explore (
      .clk_i,
      .request_explore_i(request_draw[DrawBits+:DrawBits]),
      .request_action_i (request_draw[0+:DrawBits]),
      .request_epsilon_i(request_epsilon),
      .row_pick_i       (row_pick_q),
      .row_action_i     (row_action),
      .row_explores_o   (row_explores),
      .picks_o          (tree_picks),
      .pick_o           (tree_pick)
  );

  assign row_zero = row_deed.terminated || row_deed.finish || (token[RowStage] && access.entry);
  if (Algorithm == 32'(ExpectedSarsa)) begin : gen_threshold
    qs_agent_delay #(
        .Agents(Agents),
        .Slots (Slots),
        .Width (ThresholdBits),
        .From  (RequestStage),
        .To    (TreeStage + qs_pkg::tree_stages(Actions) + (Actions > 2 ? 1 : 2))
    ) u_threshold (
        .clk_i,
        .agent_i(agent),
        .live_i (live),
        .data_i (request_epsilon[EpsilonBits-1-:ThresholdBits]),
        .data_o (threshold)
    );
  end else begin : gen_no_threshold
    assign threshold = '0;
  end

  qs_agent_choice #(
      .Actions  (Actions),
      .Width    (Width),
      .Algorithm(Algorithm)
  ) u_choice (
      .clk_i,
      .rst_i,
      .rows_i       (rows),
      .pick_i       (tree_picks),
      .pick_action_i(tree_pick),
      .number_i     (tree_number),
      .threshold_i  (threshold),
      .action_o     (next_action),
      .values_o     (next_values),
      .target_o     (target)
  );

  // --- Stages Entry to Write: the update ------------------------------------------------------------
  deed_t entry_deed;
  logic signed [Width-1:0] entry_reward;
  logic saturated;

  qs_agent_write #(
      .Actions    (Actions),
      .Width      (Width),
      .Agents     (Agents),
      .Algorithm  (Algorithm),
      .SharedTable(Shares),
      .Rounding   (Rounding)
  ) u_write (
      .clk_i,
      .agent_i          (agent),
      .live_i           (live),
      .access_i         (access),
      .token_i          (token),
      .policy_rounding_i(policy_rounding),
      .policy_table_i   (policy_table),
      .tree_number_o    (tree_number),
      .act_deed_i       (act_deed),
      .row_zero_i       (row_zero),
      .row_reward_i     (row_reward),
      .entries_i        (entries),
      .values_i         (next_values),
      .target_i         (target),
      .same_i           (same),
      .entry_deed_o     (entry_deed),
      .entry_reward_o   (entry_reward),
      .saturated_o      (saturated),
      .write_o          (write),
      .value_o          (value)
  );

  // --- Counters, and reads of the bus ---------------------------------------------------------------
  qs_agent_counters #(
      .Agents   (Agents),
      .Width    (Width),
      .Slots    (Slots),
      .Stage    (Entry),
      .StepLimit(StepLimit)
  ) u_counters (
      .clk_i,
      .rst_i       (rst_i || wakes),
      .agent_i     (agent),
      .live_i      (live),
      .stepped_i   (entry_deed.step),
      .terminated_i(entry_deed.terminated),
      .truncated_i (entry_deed.truncated),
      .reward_i    (entry_reward),
      .saturated_i (saturated),
      .read_i      (access.counter_read),
      .write_i     (access.counter_write),
      .want_agent_i(access.agent),
      .want_word_i (access.index[3:0]),
      .want_data_i (access.data[15:0]),
      .done_o      (counter_done),
      .data_o      (counter_data)
  );

  qs_agent_read #(
      .States(States),
      .Actions(Actions),
      .Width(Width),
      .SharedTable(Shares),
      .Select(Select)
  ) u_read (
      .clk_i,
      .access_i          (access),
      .token_i           (token[Select:0]),
      .advance_word_i    (advance_word),
      .request_epsilon_i (request_epsilon),
      .request_flags_i   (request_flags),
      .request_state_i   (world_state_o),
      .request_action_i  (world_action_o),
      .request_explored_i(request_explored),
      .count_steps_i     (count_steps),
      .row_count_i       (row_count),
      .next_value_i      (next_values[Tables>1&&access.index[26]]),
      .counter_i         (counter_data),
      .holds_i           (holds),
      .data_o            (bus_data_o)
  );

  logic unused_bits;
  assign unused_bits = ^{access, entry_deed, row_state};

  // --- Busy: until all counters are complete ---------------------------------------------------------
  localparam int unsigned QuietTurns = Slots + 7;
  logic [$clog2(QuietTurns+1)-1:0] quiet_q;
  always_ff @(posedge clk_i) begin
    if (run_i || left || wakes || advance_go) quiet_q <= ($clog2(QuietTurns + 1))'(QuietTurns);
    else if (turn && quiet_q != '0) quiet_q <= quiet_q - 1'b1;
    busy_o <= run_i || wakes || quiet_q != '0;
    if (rst_i) begin
      quiet_q <= '0;
      busy_o  <= 1'b1;
    end
  end

  `QS_ASSERT(RunWaits_A, !run_i || !busy_o)
  `QS_ASSERT(BusWaits_A,
             !busy_o || !bus_valid_i || (!bus_i.write && bus_i.region == RegionCounters))

endmodule
