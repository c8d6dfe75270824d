// SPDX-License-Identifier: Apache-2.0
// The theorem: qs_agents runs each agent exactly like a lone agent that finishes each step before the next.
//
// Function    The reference models one arbitrary agent. In the clock in which a slot of this agent may write, the
//             reference computes the step of qstep.golden.agents on the table with the writes of all earlier slots.
//             Both give the same requests to the world, draws, actions, rows, episodes, writes and counter inputs.
//             The proof covers steps that read one arbitrary row and write one arbitrary entry in each table or plane
//             (any/qs_agent_rows.sv).
// Assumed     Power-up is the only reset. The reference starts with the random state and step count that the memories
//             contain at power-up, before any episode has begun. The host writes settings only while the flags are
//             being cleared. If the entry lies in the row, its two copies agree at power-up. Runs may start, end and
//             be stopped at any time.

module agent_lane_proof
  import qs_agents_pkg::*;
  import qs_map_pkg::*;
#(
    parameter  int unsigned States     = 4096,
    parameter  int unsigned Actions    = 4,
    parameter  int unsigned Width      = 16,
    parameter  int unsigned Agents     = 16,
    parameter  int unsigned Algorithm  = 0,
    parameter  int unsigned Planes     = 1,
    localparam int unsigned PlaneBits  = $clog2(States),
    localparam int unsigned StateBits  = Planes * PlaneBits,
    localparam int unsigned ActionBits = $clog2(Actions),
    localparam int unsigned Tables     = Algorithm == DoubleQLearning ? 2 : Planes,
    localparam int unsigned SumBits    = Width + sum_stages(Planes)
) (
    input logic clk_i,
    input logic rst_i,

    input logic            bus_valid_i,
    input request_t        bus_i,
    input logic            run_i,
    input logic     [47:0] run_steps_i,
    input logic            stop_i,

    input logic                        world_ready_i,
    input logic signed [    Width-1:0] world_reward_i,
    input logic        [StateBits-1:0] world_next_state_i,
    input logic                        world_terminated_i,
    input logic        [StateBits-1:0] world_start_state_i
);

  localparam int unsigned Slots = slots(Actions, Algorithm, Planes);
  localparam int unsigned Select = select_stage(Actions, Algorithm, Planes);
  localparam int unsigned Entry = entry_stage(Actions, Algorithm, Planes);
  localparam int unsigned Write = write_stage(Actions, Algorithm, Planes);
  localparam int unsigned Read = Entry - sum_stages(Planes);

  logic bus_done_o, busy_o, world_valid_o;
  logic [31:0] bus_data_o;
  logic [AgentBits-1:0] world_agent_o;
  logic [StateBits-1:0] world_state_o;
  logic [ActionBits-1:0] world_action_o;
  logic [DrawBits-1:0] world_outcome_o, world_start_o;
  logic [AgentBits-1:0] world_acting_o;
  logic world_goes_o, world_restarts_o;

  qs_agents #(
      .States   (States),
      .Actions  (Actions),
      .Width    (Width),
      .Agents   (Agents),
      .Algorithm(Algorithm),
      .Rounding (32'(qs_pkg::RoundStochastic)),
      .Schedules(0),
      .Planes   (Planes)
  ) u_agents (
      .*
  );

  // The agent, and the action of the entry: arbitrary constants.
  logic [ AgentBits-1:0] chosen;
  logic [ActionBits-1:0] entry_action;
  always_ff @(posedge clk_i) begin
    chosen       <= chosen;
    entry_action <= entry_action;
  end

  // `mine`: a slot of the agent may write now. `clearing`: after power-up, slots do nothing yet.
  logic past_q = 1'b0;
  logic [6:0] age_q = '0;
  logic mine, clearing;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    if (age_q != '1) age_q <= age_q + 1'b1;
  end
  assign mine = u_agents.u_slots.phase_q == 4'(Write) && 32'(age_q) >= Slots - 1 + Write;
  assign clearing = 32'(age_q) < 2 * Slots - 1 + Write;

  // --- What this slot read, requested and received in its earlier stages ------------------------------
  logic [63:0] word;
  flags_t flags;
  logic asked, explored, ready, terminated;
  logic [StateBits-1:0] asked_state, next_state, start_state;
  logic [ActionBits-1:0] asked_action, went_on_with;
  logic [DrawBits-1:0] asked_outcome, asked_start;
  logic [EpisodeBits-1:0] steps;
  plan_t plan;
  logic [Width-1:0] reward, counted_reward;
  result_t counted;
  logic [Tables-1:0][Width-1:0] carried;

  qs_delay #(
      .Width(64),
      .Depth(Write - 2)
  ) u_stage_2 (
      .clk_i,
      .data_i(u_agents.advance_word),
      .data_o(word)
  );
  qs_delay #(
      .Width($bits(flags_t) + 2 + StateBits + ActionBits + 2 * DrawBits),
      .Depth(Write - RequestStage)
  ) u_stage_5 (
      .clk_i,
      .data_i({
        u_agents.request_flags,
        u_agents.request_explored,
        world_valid_o,
        world_state_o,
        world_action_o,
        world_outcome_o,
        world_start_o
      }),
      .data_o({flags, explored, asked, asked_state, asked_action, asked_outcome, asked_start})
  );
  qs_delay #(
      .Width(EpisodeBits),
      .Depth(Write - 7)
  ) u_stage_7 (
      .clk_i,
      .data_i(u_agents.count_steps),
      .data_o(steps)
  );
  qs_delay #(
      .Width($bits(plan_t) + 2 + Width + 2 * StateBits),
      .Depth(Write - AnswerStage)
  ) u_stage_8 (
      .clk_i,
      .data_i({
        u_agents.answer_plan,
        world_ready_i,
        world_terminated_i,
        world_reward_i,
        world_next_state_i,
        world_start_state_i
      }),
      .data_o({plan, ready, terminated, reward, next_state, start_state})
  );
  qs_delay #(
      .Width(Tables * Width),
      .Depth(Write - Read)
  ) u_stage_read (
      .clk_i,
      .data_i(u_agents.u_write.gen_own.before_values),
      .data_o(carried)
  );
  qs_delay #(
      .Width($bits(result_t) + Width),
      .Depth(Write - Entry)
  ) u_stage_entry (
      .clk_i,
      .data_i({u_agents.entry_result, u_agents.entry_reward}),
      .data_o({counted, counted_reward})
  );
  qs_delay #(
      .Width(ActionBits),
      .Depth(Write - Select)
  ) u_stage_select (
      .clk_i,
      .data_i(u_agents.next_action),
      .data_o(went_on_with)
  );

  // --- The reference ------------------------------------------------------------------------------------
  // pending: the step is truncated, and the action at the next start is not chosen yet. late: the world was late, so
  // the draws of the step already exist.
  logic begun_q, pending_q, late_q, explored_q;
  logic [63:0] word_q;
  logic [EpisodeBits-1:0] steps_q;
  logic [StateBits-1:0] state_q;
  logic [ActionBits-1:0] action_q;
  logic pending_known_q;
  logic [Planes-1:0][Width-1:0] pending_values_q;
  logic pending_saturated_q;

  logic [63:0] advanced, word_now, draw;
  logic [14:0] bias;
  logic any_table, number, draws;
  drawn u_advanced (
      .word_i    (word_q),
      .advanced_o(advanced),
      .draw_o    (),
      .rounding_o(),
      .table_o   ()
  );
  drawn u_drawn (
      .word_i    (word_now),
      .advanced_o(),
      .draw_o    (draw),
      .rounding_o(bias),
      .table_o   (any_table)
  );
  assign draws = (plan.start || plan.asks) && !late_q;
  assign word_now = draws ? advanced : word_q;
  assign number = Tables > Planes && any_table;

  logic step, last, truncated, ends, writes;
  assign step = plan.asks && ready;
  assign last = u_agents.u_episode.gen_limit.limits_q &&
      steps_q == u_agents.u_episode.gen_limit.last_steps_q;
  assign truncated = step && last && !terminated;
  assign ends = step && (last || terminated);
  assign writes = (step && !truncated) || plan.finish;

  // The next state and action, from the table with the writes of all earlier slots.
  localparam int unsigned PolicyTables = Tables / Planes;
  logic [StateBits-1:0] x;
  logic [Tables-1:0][Actions-1:0][Width-1:0] rows;
  logic [PolicyTables-1:0][Actions-1:0][SumBits-1:0] pooled;
  logic [Tables-1:0][Width-1:0] entries;
  logic [Tables-1:0] rows_known, entries_known;
  logic explores, goes_on, row_known, entry_known;
  logic [EpsilonBits-1:0] epsilon;
  logic [ThresholdBits-1:0] threshold;
  logic [DrawBits+ActionBits:0] scaled;
  logic [ActionBits-1:0] next_action;
  logic [SumBits:0] target;

  for (genvar t = 0; t < Tables; t++) begin : gen_table
    localparam int unsigned Plane = t % Planes;
    assign rows[t] = u_agents.gen_table[t].gen_own.u_table.row_q;
    assign entries[t] = u_agents.gen_table[t].gen_own.u_table.entry_q;
    assign rows_known[t] = x[Plane*PlaneBits+:PlaneBits] ==
        u_agents.gen_table[t].gen_own.u_table.row_state;
    assign entries_known[t] = action_q == entry_action &&
        state_q[Plane*PlaneBits+:PlaneBits] == u_agents.gen_table[t].gen_own.u_table.entry_state;
  end
  for (genvar t = 0; t < PolicyTables; t++) begin : gen_pooled
    for (genvar a = 0; a < Actions; a++) begin : gen_action
      logic [Planes-1:0][Width-1:0] weights;
      for (genvar p = 0; p < Planes; p++) begin : gen_weight
        assign weights[p] = rows[t*Planes+p][a];
      end
      summed #(
          .Terms(Planes),
          .Width(Width)
      ) u_summed (
          .terms_i(weights),
          .sum_o  (pooled[t][a])
      );
    end
  end
  assign x = plan.start || plan.finish || terminated ? start_state : next_state;
  assign row_known = &rows_known;
  assign entry_known = &entries_known;
  assign epsilon = u_agents.gen_constant.u_epsilon.u_epsilon.word_q;
  assign threshold = epsilon[EpsilonBits-1-:ThresholdBits];
  assign explores = {1'b0, draw[DrawBits+:DrawBits]} < threshold;
  assign scaled = ($bits(scaled))'(draw[DrawBits-1:0]) * ($bits(scaled))'(Actions);
  assign goes_on = plan.start || writes;

  policy #(
      .Actions(Actions),
      .Width  (SumBits),
      .Tables (PolicyTables)
  ) u_policy (
      .rows_i       (pooled),
      .pick_i       (explores),
      .pick_action_i(scaled[DrawBits+:ActionBits]),
      .number_i     (number),
      .threshold_i  (Algorithm == ExpectedSarsa ? threshold : '0),
      .action_o     (next_action),
      .target_o     (target)
  );

  logic [Planes-1:0][Width-1:0] carried_entries, own_entries, values;
  logic saturated;
  if (Planes > 1) begin : gen_planes
    assign own_entries = entries;
    assign carried_entries = carried;
  end else begin : gen_plane
    assign own_entries = entries[number];
    assign carried_entries = carried[number];
  end
  agent_value #(
      .Width (Width),
      .Planes(Planes)
  ) u_value (
      .alpha_i    (u_agents.u_write.u_alpha.word_q),
      .kappa_i    (u_agents.u_write.u_kappa.word_q),
      .entries_i  (own_entries),
      .reward_i   (reward),
      .target_i   (terminated ? '0 : target),
      .bias_i     (bias),
      .values_o   (values),
      .saturated_o(saturated)
  );

  always_ff @(posedge clk_i) begin
    if (mine && clearing) begin
      {begun_q, pending_q, late_q} <= '0;
      word_q <= word;
      steps_q <= steps;
    end else if (mine) begin
      word_q <= word_now;
      if (plan != '0) begun_q <= 1'b1;
      if (plan.asks || plan.start || plan.finish) late_q <= plan.asks && !ready;
      if (plan.asks || plan.finish) pending_q <= truncated;
      if (step)
        steps_q <= ends ? '0 : steps_q + EpisodeBits'(u_agents.u_episode.gen_limit.limits_q);
      if (goes_on) begin
        state_q <= x;
        // For other rows, the reference copies the hardware's action; another choice of the row covers them.
        action_q <= explores || row_known ? next_action : went_on_with;
        explored_q <= explores;
      end
      pending_known_q <= row_known && entry_known;
      {pending_saturated_q, pending_values_q} <= {saturated, values};
    end
  end

  // --- Assumed --------------------------------------------------------------------------------------------
  always_comb begin
    assume (rst_i == !past_q);
    assume (32'(chosen) < Agents && 32'(entry_action) < Actions);
    assume (!bus_valid_i || (32'(age_q) < 2 * Slots && bus_i.region == RegionSettings));
  end
  for (genvar t = 0; t < Tables; t++) begin : gen_copies
    logic agrees;
    assign agrees = u_agents.gen_table[t].gen_own.u_table.row_state ==
        u_agents.gen_table[t].gen_own.u_table.entry_state;
    always_comb begin
      assume (past_q || !agrees || rows[t][entry_action] == entries[t]);
      Copies_L : assert (!agrees || rows[t][entry_action] == entries[t]);
    end
  end

  // --- The theorem ------------------------------------------------------------------------------------------
  logic [Tables-1:0] written;
  for (genvar t = 0; t < Tables; t++) begin : gen_written
    localparam int unsigned Plane = t % Planes;
    assign written[t] = writes && (Tables == Planes || number == 1'(t));
    always_comb begin
      if (mine && !clearing) begin
        Carried_L :
        assert (!begun_q || pending_q || !flags.fresh || !entries_known[t] ||
                carried[t] == entries[t]);
        Where_A :
        assert (!writes || u_agents.gen_table[t].write_address ==
                {chosen, state_q[Plane*PlaneBits+:PlaneBits]});
      end
    end
  end

  always_comb begin
    Age_L : assert (u_agents.u_slots.age_q == (32'(age_q) < 63 ? 6'(age_q) : 6'd63));
    if (past_q) begin
      NoAccess_L :
      assert (u_agents.token == '0 && u_agents.u_bus.state_q inside {3'd0, 3'd1, 3'd5});
      Settings_L :
      assert (u_agents.u_bus.state_q != 3'd1 || u_agents.u_bus.region_q == RegionSettings);
      Settled_L :
      assert (32'(age_q) < 2 * Slots + 3 || (u_agents.u_bus.state_q == '0 &&
              u_agents.access.set == '0));
    end
    if (mine && clearing && 32'(age_q) >= Slots + Write)
      Cleared_L : assert (!flags.begun && !flags.pending && !flags.drawn);
    if (mine && !clearing) begin
      Flags_L :
      assert (flags.begun == begun_q && flags.pending == pending_q && flags.drawn == late_q);
      Word_L : assert (word == word_q);
      Steps_L : assert (steps == steps_q);
      Place_L : assert (!begun_q || (asked_state == state_q && asked_action == action_q));
      Pending_L : assert (!pending_q || !pending_known_q || carried_entries == pending_values_q);
      Aim_A :
      assert ($onehot0(
          plan
      ) && (!plan.start || !begun_q) && plan.finish == pending_q && (!plan.asks || begun_q));
      // An agent with steps left uses each of its slots, and makes a step in the slot after a refresh.
      Goes_A :
      assert ((plan != '0) == (flags.more || pending_q) &&
              plan.refresh == (plan != '0 && begun_q && !pending_q && !flags.fresh));
      Asks_A :
      assert (asked == plan.asks &&
              (!asked || (asked_state == state_q && asked_action == action_q)));
      Draws_A : assert (!asked || asked_outcome == draw[63-:DrawBits]);
      Start_A : assert (!(asked || goes_on) || asked_start == draw[63-DrawBits-:DrawBits]);
      GoesOn_A : assert (!goes_on || !(explores || row_known) || went_on_with == next_action);
      Writes_A : assert (u_agents.write == written);
      Action_A : assert (!writes || u_agents.write_action == action_q);
      Value_A :
      assert (!writes || plan.finish || !row_known || !entry_known || u_agents.value == values);
      Kept_A : assert (!plan.finish || !pending_known_q || u_agents.value == pending_values_q);
      Saturated_A : assert (!step || !row_known || !entry_known || u_agents.saturated == saturated);
      Counted_A :
      assert (counted.step == step && counted.terminated == (step && terminated) &&
              counted.truncated == truncated && counted_reward == (step ? reward : '0));
    end
  end

  // --- Not vacuous --------------------------------------------------------------------------------------------
  logic checked;
  assign checked = mine && !clearing && row_known && entry_known && chosen == 4'(Agents - 1);
  always_comb begin
    Step_C : cover (checked && step && !ends && !explores && late_q);
    Stays_C : cover (checked && step && state_q == x && action_q == next_action && !explores);
    Kept_C : cover (mine && !clearing && plan.finish && pending_known_q);
  end

endmodule
