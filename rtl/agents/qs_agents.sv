// SPDX-License-Identifier: Apache-2.0
// The interleaved lane: up to 16 agents that act in a world and learn, with separate tables or a shared one.
//
// Function    A slot starts every clock, and slot n of each rotation belongs to agent n. In one slot, an agent takes
//             one complete step as defined in docs/acting.md: it draws, sends a request to the world, reads a row,
//             chooses an action, and updates its entry. After n steps of each agent, tables, contexts and counters
//             match the golden model bit for bit: ActingModel in qstep.golden.agents.
//             Four events need an extra slot: choosing the first start state; choosing the action after a truncation,
//             with the same draw, from a row read before the step's write; reading Q[state, action] at the start of a
//             run; and a late world.
// Timing      One slot per clock. A rotation has Slots clocks (qs_agents_pkg), so an agent takes one step per Slots
//             clocks. See docs/agents.md for a table of the stages.
// Handshake   Bus: bus_valid_i and bus_i are held until bus_done_o is 1 for one clock, when bus_data_o is the word
//             read. One access at a time. While busy_o is 1, only counters may be read.
//             run_i is a one-clock pulse, allowed only while busy_o is 0; each agent then takes run_steps_i steps.
//             stop_i is a one-clock pulse, allowed at any time; agents then finish their current step. busy_o falls
//             when all steps are done and all counters are complete.
//             World: world_valid_o marks a request. Exactly AnswerStage - RequestStage clocks later, the answer is
//             sampled if world_ready_i is 1. Otherwise the agent repeats the request every Slots clocks until it is
//             answered or stopped.
//             world_start_state_i is always valid: it is the start state drawn by the world_start_o of AnswerStage -
//             RequestStage clocks earlier.
// Reset       Stops all agents. Memories keep their contents (undefined after power-up: write them first).
// Hazards     None with separate tables: the agent's previous slot has written or forwarded every operand. For a shared
//             table, see qs_agent_order.
// Invariants  RunWaits_A, BusWaits_A
// Resources   docs/agents.md
// Reference   Sutton and Barto, "Reinforcement learning" (2018), chapter 6.

`include "qs_assert.svh"

module qs_agents
  import qs_agents_pkg::*;
  import qs_map_pkg::*;
#(
    parameter int unsigned States = 32,  // 2..65536, times agents at most 65536
    parameter int unsigned Actions = 4,  // 2..64
    parameter int unsigned Width = 16,  // 8..32
    parameter int unsigned CoeffFraction = 15,  // fractional bits of alpha and kappa, 15..24
    parameter int unsigned Agents = 16,  // 1..16
    parameter int unsigned Algorithm = 0,  // algorithm_e
    parameter int unsigned Rounding = 0,  // qs_pkg::rounding_e
    // Generators pass one-bit parameters as 32-bit numbers.
    // verilator lint_off WIDTHTRUNC
    parameter bit SharedTable = 0,  // one table for all agents
    parameter bit Schedules = 1,  // else epsilon stays as loaded
    parameter bit StepLimit = 1,  // per episode; else no limit
    // verilator lint_on WIDTHTRUNC
    parameter int unsigned Planes = 1,  // 1..16, of States rows each; 1 for Double Q-learning
    localparam int unsigned PlaneBits = $clog2(States),
    localparam int unsigned StateBits = Planes * PlaneBits,
    localparam int unsigned ActionBits = $clog2(Actions)
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
    input  logic        [ StateBits-1:0] world_start_state_i,

    // Outcome of the request ActStage - RequestStage clocks ago: the episode continues, or a new one begins.
    // The agent's number is output one clock earlier.
    output logic [AgentBits-1:0] world_acting_o,
    output logic                 world_goes_o,
    output logic                 world_restarts_o
);

  localparam int unsigned Slots = slots(Actions, Algorithm, Planes);
  localparam int unsigned Select = select_stage(Actions, Algorithm, Planes);
  localparam int unsigned Entry = entry_stage(Actions, Algorithm, Planes);
  localparam int unsigned Write = write_stage(Actions, Algorithm, Planes);
  localparam int unsigned SumStages = sum_stages(Planes);
  localparam int unsigned SumBits = Width + SumStages;
  localparam int unsigned Read = Entry - SumStages;
  localparam int unsigned Values = Select + 32'(Planes > 1);  // the next action's weights are known
  localparam int unsigned Tables = Algorithm == DoubleQLearning ? 2 : Planes;
  localparam bit Shares = SharedTable && Agents > 1;
  localparam bit Owns = !SharedTable && Agents > 1;
  localparam int unsigned IndexBits = Owns ? $clog2(Agents) : 0;
  localparam int unsigned Rows = Owns ? Agents << PlaneBits : States;
  localparam int unsigned RowBits = IndexBits + PlaneBits;

  if (Agents < 1 || Agents > 16) begin : gen_bad_agents
    $fatal(1, "qs_agents: Agents is %0d, legal is 1..16", Agents);
  end
  if (States < 2 || Rows > 65536) begin : gen_bad_states
    $fatal(1, "qs_agents: States is %0d, legal is 2..65536, and 65536 for all agents", States);
  end
  if (CoeffFraction < 15 || CoeffFraction > 24) begin : gen_bad_coeff_fraction
    $fatal(1, "qs_agents: CoeffFraction is %0d, legal is 15..24", CoeffFraction);
  end
  if (Planes < 1 || Planes > (Algorithm == DoubleQLearning ? 1 : 16)) begin : gen_bad_planes
    $fatal(1, "qs_agents: Planes is %0d, legal is 1..16, and 1 for Double Q-learning", Planes);
  end
  if (Algorithm > 3) begin : gen_bad_algorithm
    $fatal(1, "qs_agents: Algorithm is %0d, legal is 0..3", Algorithm);
  end
  if (Rounding > 2) begin : gen_bad_rounding
    $fatal(1, "qs_agents: Rounding is %0d, legal is 0..2", Rounding);
  end

  logic [Slots-1:0][AgentBits-1:0] rotation;
  logic [Slots-1:0] rotation_live;
  // The agent in each stage; slots in stages k and k + Slots belong to the same agent.
  logic [Write:0][AgentBits-1:0] agent;
  logic [Write:0] live;
  logic turn, clearing;

  qs_agent_slots #(
      .Agents(Agents),
      .Slots (Slots)
  ) u_slots (
      .clk_i,
      .rst_i,
      .agent_o(rotation),
      .live_o(rotation_live),
      .turn_o(turn),
      .clearing_o(clearing)
  );

  assign agent = {rotation[Write-Slots:0], rotation};
  assign live  = {rotation_live[Write-Slots:0], rotation_live};

  // --- Bus: an access to an agent's words happens in its slot, which `token` follows ----------------
  access_t access;
  logic [Write:0] token;
  logic counter_done;
  logic [15:0] counter_data;
  logic [31:0] counter;
  logic [PlaneBits-1:0] request_row;

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

  // --- Stages 0 to 11: the agent's plan --------------------------------------------------------------
  flags_t request_flags;
  plan_t count_plan, answer_plan;
  logic advance_go, advance, answer_truncated, begins, tree_more, left;
  result_t row_result, act_result_q, act_result;
  logic acts, row_load;
  logic [31:0] holds;
  logic signed [Width-1:0] row_reward;
  logic [StateBits-1:0] row_state, row_x;
  logic [ActionBits-1:0] row_action;

  qs_agent_flags #(
      .Agents     (Agents),
      .SharedTable(Shares),
      .StepLimit  (StepLimit)
  ) u_flags (
      .clk_i,
      .slot_agent_i      (agent[SlotStage]),
      .begin_live_i      (live[BeginStage]),
      .tree_agent_i      (agent[TreeStage]),
      .tree_live_i       (live[TreeStage]),
      .tree_more_i       (tree_more),
      .clearing_i        (clearing),
      .begins_i          (begins),
      .row_load_i        (row_load),
      .load_drawn_i      (access.data.place.drawn),
      .load_begun_i      (access.data.place.begun),
      .advance_go_o      (advance_go),
      .advance_o         (advance),
      .request_asks_o    (world_valid_o),
      .request_flags_o   (request_flags),
      .count_plan_o      (count_plan),
      .answer_plan_o     (answer_plan),
      .answer_ready_i    (world_ready_i),
      .answer_truncated_i(answer_truncated),
      .acts_i            (acts)
  );

  // Flags are loaded with the row of the first plane.
  assign row_load = token[RowStage] && access.load[ContextPlace] &&
      (Planes == 1 || access.index.in_context.plane == '0);

  always_ff @(posedge clk_i) act_result_q <= row_result;

  if (Shares) begin : gen_order
    qs_agent_order #(
        .States   (States),
        .Actions  (Actions),
        .Agents   (Agents),
        .Algorithm(Algorithm),
        .Planes   (Planes)
    ) u_order (
        .clk_i,
        .rst_i,
        .run_i,
        .run_steps_i,
        .stop_i,
        .restarts_i  (row_load),
        .row_x_i     (row_x),
        .row_state_i (row_state),
        .row_action_i(row_action),
        .act_agent_i (agent[ActStage]),
        .act_live_i  (live[ActStage]),
        .act_result_i(act_result_q),
        .tree_agent_i(agent[TreeStage]),
        .acts_o      (acts),
        .tree_more_o (tree_more),
        .left_o      (left),
        .holds_o     (holds)
    );
    assign act_result = acts ? act_result_q : '0;
    assign begins = 1'b0;
  end else begin : gen_budget
    qs_agent_budget #(
        .Agents(Agents)
    ) u_budget (
        .clk_i,
        .rst_i,
        .run_i         (run_i || stop_i),
        .run_steps_i   (stop_i ? '0 : run_steps_i),
        .turn_i        (turn),
        .answer_agent_i(agent[AnswerStage]),
        .act_agent_i   (agent[ActStage]),
        .act_live_i    (live[ActStage]),
        .row_stepped_i (row_result.step),
        .begins_o      (begins),
        .tree_more_o   (tree_more),
        .left_o        (left)
    );
    assign acts = 1'b1;
    assign act_result = act_result_q;
    assign holds = '0;
  end

  // --- Stages 1 to 6: the draw, and epsilon ---------------------------------------------------------
  logic [63:0] advance_word, request_draw;
  logic [CoeffFraction-1:0] policy_rounding;
  logic policy_table;
  logic [EpsilonBits-1:0] request_epsilon;
  logic [EpisodeBits-1:0] row_count;
  logic [1:0] mix_load_q;

  always_ff @(posedge clk_i)
    mix_load_q <= {2{token[AdvanceStage]}} & access.load[ContextGeneratorHigh:ContextGeneratorLow];

  qs_draw #(
      .Agents       (Agents),
      .CoeffFraction(CoeffFraction)
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
        .Agents(Agents)
    ) u_epsilon (
        .clk_i,
        .rst_i,
        .mix_agent_i      (agent[MixStage]),
        .fetch_agent_i    (agent[FetchStage]),
        .policy_agent_i   (agent[PolicyStage]),
        .count_agent_i    (agent[CountStage]),
        .answer_agent_i   (agent[AnswerStage]),
        .act_agent_i      (agent[ActStage]),
        .tree_agent_i     (agent[TreeStage]),
        .set_i            (access.set[SettingSchedulePeriod:SettingScheduleEnd]),
        .set_agent_i      (access.agent),
        .data_i           (access.data),
        .load_epsilon_i   (access.load[ContextEpsilon]),
        .load_count_i     (access.load[ContextCounts]),
        .advance_token_i  (token[AdvanceStage]),
        .count_token_i    (token[CountStage]),
        .act_token_i      (token[ActStage]),
        .tree_token_i     (token[TreeStage]),
        .row_stepped_i    ((row_result.step && !row_result.truncated) || row_result.finish),
        .row_ended_i      (row_result.terminated || row_result.finish),
        .acts_i           (acts),
        .request_epsilon_o(request_epsilon),
        .row_count_o      (row_count)
    );
  end else begin : gen_constant
    qs_epsilon_constant #(
        .Agents(Agents)
    ) u_epsilon (
        .clk_i,
        .rst_i,
        .advance_agent_i  (agent[AdvanceStage]),
        .advance_load_i   (token[AdvanceStage] && access.load[ContextEpsilon]),
        .load_epsilon_i   (access.data.epsilon.epsilon),
        .fetch_agent_i    (agent[FetchStage]),
        .request_epsilon_o(request_epsilon)
    );
    assign row_count = '0;
  end

  // --- Stages 5 to 9: place, and the world ----------------------------------------------------------
  logic [StateBits-1:0] answer_state, entry_state, write_state;
  logic [ActionBits-1:0] entry_action, next_action, write_action;
  logic request_explored, row_explores;
  logic [Planes-1:0] same, select_load_q;
  logic [EpisodeBits-1:0] count_steps;
  logic answer_stays_q, answer_starts_q;  // which state x is

  always_ff @(posedge clk_i) begin
    answer_stays_q  <= count_plan.refresh || (token[CountStage] && access.entry);
    answer_starts_q <= count_plan.start || count_plan.finish;
  end

  for (genvar t = 0; t < Planes; t++) begin : gen_place_load
    always_ff @(posedge clk_i)
      select_load_q[t] <= token[Select-1] && access.load[ContextPlace] &&
          (Planes == 1 || access.index.in_context.plane == 4'(t));
  end

  qs_agent_place #(
      .States   (States),
      .Actions  (Actions),
      .Agents   (Agents),
      .Algorithm(Algorithm),
      .Planes   (Planes)
  ) u_place (
      .clk_i,
      .fetch_agent_i        (agent[FetchStage]),
      .answer_agent_i       (agent[AnswerStage]),
      .answer_live_i        (live[AnswerStage]),
      .row_agent_i          (agent[RowStage]),
      .row_live_i           (live[RowStage]),
      .before_select_agent_i(agent[Select-1]),
      .select_agent_i       (agent[Select]),
      .select_live_i        (live[Select]),
      .before_write_agent_i (agent[Write-1]),
      .request_entry_i      (token[RequestStage] && access.entry),
      .access_state_i       ({Planes{access.index.in_table.state[PlaneBits-1:0]}}),
      .access_action_i      (access.index.in_table.action[ActionBits-1:0]),
      .select_load_i        (select_load_q),
      .load_explored_i      (access.data.place.explored),
      .load_action_i        (access.data.place.action[ActionBits-1:0]),
      .load_row_i           (access.data.place.state[PlaneBits-1:0]),
      .request_state_o      (world_state_o),
      .request_action_o     (world_action_o),
      .request_explored_o   (request_explored),
      .answer_state_o       (answer_state),
      .row_state_o          (row_state),
      .row_action_o         (row_action),
      .entry_state_o        (entry_state),
      .entry_action_o       (entry_action),
      .act_chooses_i        (act_result.chooses),
      .row_x_i              (row_x),
      .row_explores_i       (row_explores),
      .action_i             (next_action),
      .same_o               (same),
      .write_state_o        (write_state),
      .write_action_o       (write_action)
  );

  assign world_agent_o = agent[RequestStage];
  assign {world_outcome_o, world_start_o} = request_draw[63:2*DrawBits];

  qs_agent_episode #(
      .States     (States),
      .Planes     (Planes),
      .Width      (Width),
      .Agents     (Agents),
      .SharedTable(Shares),
      .StepLimit  (StepLimit)
  ) u_episode (
      .clk_i,
      .rst_i,
      .request_agent_i   (agent[RequestStage]),
      .answer_agent_i    (agent[AnswerStage]),
      .act_agent_i       (agent[ActStage]),
      .set_limit_i       (access.set[SettingLimit]),
      .answer_load_i     (token[AnswerStage] && access.load[ContextCounts]),
      .load_steps_i      (access.data.counts.steps),
      .limits_i          (access.data.limit.limits),
      .last_steps_i      (access.data.limit.last_steps),
      .answer_stays_i    (answer_stays_q),
      .answer_starts_i   (answer_starts_q),
      .answer_plan_i     (answer_plan),
      .answer_state_i    (answer_state),
      .world_ready_i,
      .world_reward_i,
      .world_next_state_i,
      .world_terminated_i,
      .world_start_state_i,
      .count_steps_o     (count_steps),
      .answer_truncated_o(answer_truncated),
      .acts_i            (acts),
      .row_result_o      (row_result),
      .row_x_o           (row_x),
      .row_reward_o      (row_reward)
  );

  // --- Stages 9 to Select: row of x, next action and its value, target ------------------------------
  logic [Tables-1:0][Actions-1:0][Width-1:0] rows;
  logic [Tables-1:0] write;
  logic [Planes-1:0][Width-1:0] value;
  logic [Tables-1:0][Width-1:0] entries;  // for a shared table only, from a second copy

  for (genvar t = 0; t < Tables; t++) begin : gen_table
    localparam int unsigned Plane = t % Planes;
    logic [RowBits-1:0] row_address, entry_address, write_address;

    assign entry_address = RowBits'(entry_state[Plane*PlaneBits+:PlaneBits]);
    if (Owns) begin : gen_agent_rows
      assign row_address = {agent[RowStage][IndexBits-1:0], row_x[Plane*PlaneBits+:PlaneBits]};
      assign write_address = {agent[Write][IndexBits-1:0], write_state[Plane*PlaneBits+:PlaneBits]};
    end else begin : gen_agent_row
      assign row_address   = row_x[Plane*PlaneBits+:PlaneBits];
      assign write_address = write_state[Plane*PlaneBits+:PlaneBits];
    end

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
          .write_data_i  (value[Plane])
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
          .write_data_i  (value[Plane])
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
  logic signed [SumBits:0] target;

  always_ff @(posedge clk_i) row_pick_q <= answer_stays_q;

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

  assign row_zero = row_result.terminated || row_result.finish || (token[RowStage] && access.entry);
  if (Algorithm == ExpectedSarsa) begin : gen_threshold
    localparam int unsigned ThresholdStage = Select + (Actions > 2 ? 0 : 1);
    qs_agent_ram #(
        .Agents(Agents),
        .Width (ThresholdBits)
    ) u_threshold (
        .clk_i,
        .write_i      (live[RequestStage]),
        .write_agent_i(agent[RequestStage]),
        .write_data_i (request_epsilon[EpsilonBits-1-:ThresholdBits]),
        .read_agent_i (agent[ThresholdStage-1]),
        .clear_i      (1'b0),
        .data_o       (threshold)
    );
  end else begin : gen_no_threshold
    assign threshold = '0;
  end

  if (Planes == 1) begin : gen_choice
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
  end else begin : gen_planes
    logic [Actions-1:0][SumBits-1:0] sums;
    logic [Planes-1:0][Actions-1:0][Width-1:0] select_rows;
    logic sum_picks;
    logic [ActionBits-1:0] sum_pick;
    logic [SumBits-1:0] unused_value;

    for (genvar a = 0; a < Actions; a++) begin : gen_sum
      logic [Planes-1:0][Width-1:0] weights;
      for (genvar t = 0; t < Planes; t++) begin : gen_weight
        assign weights[t] = rows[t][a];
      end
      qs_sum_tree #(
          .Terms(Planes),
          .Width(Width)
      ) u_sum (
          .clk_i,
          .terms_i(weights),
          .sum_o  (sums[a])
      );
    end

    qs_delay #(
        .Width(1 + ActionBits),
        .Depth(SumStages)
    ) u_pick (
        .clk_i,
        .data_i({tree_picks, tree_pick}),
        .data_o({sum_picks, sum_pick})
    );

    qs_agent_choice #(
        .Actions  (Actions),
        .Width    (SumBits),
        .Algorithm(Algorithm)
    ) u_choice (
        .clk_i,
        .rst_i,
        .rows_i       (sums),
        .pick_i       (sum_picks),
        .pick_action_i(sum_pick),
        .number_i     (1'b0),
        .threshold_i  (threshold),
        .action_o     (next_action),
        .values_o     (unused_value),
        .target_o     (target)
    );

    // The weights of the next action.
    qs_agent_ram #(
        .Agents(Agents),
        .Width (Planes * Actions * Width)
    ) u_rows (
        .clk_i,
        .write_i      (live[TreeStage]),
        .write_agent_i(agent[TreeStage]),
        .write_data_i (rows),
        .read_agent_i (agent[Select-1]),
        .clear_i      (1'b0),
        .data_o       (select_rows)
    );
    for (genvar t = 0; t < Planes; t++) begin : gen_values
      always_ff @(posedge clk_i) next_values[t] <= select_rows[t][next_action];
    end

    logic unused_number;
    assign unused_number = tree_number;
  end

  // --- Stages Entry to Write: the update ------------------------------------------------------------
  result_t entry_result;
  logic signed [Width-1:0] entry_reward;
  logic saturated;
  logic [Tables-1:0] access_writes;

  for (genvar t = 0; t < Tables; t++) begin : gen_access_write
    assign access_writes[t] = token[Write-1] && access.entry && access.write &&
        (Tables == 1 || access.index.in_table.table_number == 4'(t));
  end

  qs_agent_write #(
      .Actions      (Actions),
      .Width        (Width),
      .CoeffFraction(CoeffFraction),
      .Agents       (Agents),
      .Algorithm    (Algorithm),
      .SharedTable  (Shares),
      .Rounding     (Rounding),
      .Planes       (Planes)
  ) u_write (
      .clk_i,
      .policy_agent_i      (agent[PolicyStage]),
      .policy_live_i       (live[PolicyStage]),
      .before_read_agent_i (agent[Read-1]),
      .read_agent_i        (agent[Read]),
      .read_live_i         (live[Read]),
      .entry_agent_i       (agent[Entry]),
      .after_entry_agent_i (agent[Entry+1]),
      .values_agent_i      (agent[Values]),
      .values_live_i       (live[Values]),
      .before_bias_agent_i (agent[Entry+UpdateAgain-1]),
      .before_add_agent_i  (agent[Write-3]),
      .before_write_agent_i(agent[Write-1]),
      .write_agent_i       (agent[Write]),
      .set_rates_i         (access.set[SettingRates]),
      .set_agent_i         (access.agent),
      .rates_i             (access.data.rates),
      .read_access_i       (token[Read] && access.entry),
      .entry_access_i      (token[Entry] && access.entry),
      .access_writes_i     (access_writes),
      .access_value_i      (access.data[Width-1:0]),
      .policy_rounding_i   (policy_rounding),
      .policy_table_i      (policy_table),
      .tree_number_o       (tree_number),
      .act_result_i        (act_result),
      .row_zero_i          (row_zero),
      .row_reward_i        (row_reward),
      .entries_i           (entries),
      .values_i            (next_values),
      .target_i            (target),
      .same_i              (same),
      .entry_result_o      (entry_result),
      .entry_reward_o      (entry_reward),
      .saturated_o         (saturated),
      .write_o             (write),
      .value_o             (value)
  );

  // --- Counters, and reads of the bus ---------------------------------------------------------------
  // With several planes, the plane that the host reads is selected one clock earlier.
  localparam int unsigned Picks = 32'(Planes > 1);
  logic read_drawn, read_begun, read_explored;
  logic [PlaneBits-1:0] read_row;
  logic [ActionBits-1:0] read_action;
  logic [Width-1:0] read_value;

  qs_agent_counters #(
      .Agents    (Agents),
      .Width     (Width),
      .Slots     (Slots),
      .WriteDelay(Write - Entry),
      .StepLimit (StepLimit)
  ) u_counters (
      .clk_i,
      .rst_i               (rst_i || clearing),
      .before_entry_agent_i(agent[Entry-1]),
      .before_entry_live_i (live[Entry-1]),
      .entry_agent_i       (agent[Entry]),
      .entry_live_i        (live[Entry]),
      .before_write_agent_i(agent[Write-1]),
      .before_write_live_i (live[Write-1]),
      .write_agent_i       (agent[Write]),
      .write_live_i        (live[Write]),
      .stepped_i           (entry_result.step),
      .terminated_i        (entry_result.terminated),
      .truncated_i         (entry_result.truncated),
      .reward_i            (entry_reward),
      .saturated_i         (saturated),
      .read_i              (access.counter_read),
      .write_i             (access.counter_write),
      .want_agent_i        (access.agent),
      .want_word_i         (access.index.in_counters.word),
      .want_data_i         (access.data[15:0]),
      .done_o              (counter_done),
      .data_o              (counter_data)
  );

  if (Planes > 1) begin : gen_request_row
    assign request_row = world_state_o[access.index.in_context.plane*PlaneBits+:PlaneBits];
  end else begin : gen_request_state
    assign request_row = world_state_o;
  end

  qs_delay #(
      .Width(3 + PlaneBits + ActionBits),
      .Depth(Picks)
  ) u_read_place (
      .clk_i,
      .data_i({
        request_flags.drawn, request_flags.begun, request_explored, request_row, world_action_o
      }),
      .data_o({read_drawn, read_begun, read_explored, read_row, read_action})
  );

  qs_delay #(
      .Width(Width),
      .Depth(Picks)
  ) u_read_value (
      .clk_i,
      .data_i(next_values[Tables>1?32'(access.index.in_table.table_number)%Tables : 0]),
      .data_o(read_value)
  );

  assign counter = Shares && access.index.in_counters.holds ? holds : 32'(counter_data);

  qs_agent_read #(
      .States (States),
      .Actions(Actions),
      .Width  (Width)
  ) u_read (
      .clk_i,
      .field_i(access.field),
      .entry_i(access.entry),
      .counter_read_i(access.counter_read),
      .begin_token_i(token[BeginStage]),
      .fetch_token_i(token[FetchStage]),
      .policy_token_i(token[PolicyStage]),
      .answer_token_i(token[AnswerStage]),
      .place_token_i(token[FetchStage+Picks]),
      .value_token_i(token[Values+Picks-1]),
      .advance_word_i(advance_word),
      .request_epsilon_i(request_epsilon),
      .drawn_i(read_drawn),
      .begun_i(read_begun),
      .state_i(read_row),
      .action_i(read_action),
      .explored_i(read_explored),
      .count_steps_i(count_steps),
      .row_count_i(row_count),
      .next_value_i(read_value),
      .counter_i(counter),
      .data_o(bus_data_o)
  );

  assign world_acting_o = agent[ActStage-1];
  assign world_goes_o = act_result.chooses && act_result.step && !act_result.terminated;
  assign world_restarts_o = act_result.chooses && !world_goes_o;

  // Stages and access fields that no submodule uses.
  logic unused_bits;
  assign unused_bits = ^{
    agent, live, token, access, count_plan, request_flags, entry_result, row_state
  };

  // --- Busy: until all counters are complete ---------------------------------------------------------
  localparam int unsigned QuietTurns = Slots + 7;
  logic [$clog2(QuietTurns+1)-1:0] quiet_q;
  always_ff @(posedge clk_i) begin
    if (run_i || left || clearing || advance_go) quiet_q <= ($clog2(QuietTurns + 1))'(QuietTurns);
    else if (turn && quiet_q != '0) quiet_q <= quiet_q - 1'b1;
    busy_o <= run_i || clearing || quiet_q != '0;
    if (rst_i) begin
      quiet_q <= '0;
      busy_o  <= 1'b1;
    end
  end

  `QS_ASSERT(RunWaits_A, !run_i || !busy_o)
  `QS_ASSERT(BusWaits_A,
             !busy_o || !bus_valid_i || (!bus_i.write && bus_i.region == RegionCounters))

endmodule
