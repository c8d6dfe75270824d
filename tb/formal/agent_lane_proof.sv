// SPDX-License-Identifier: Apache-2.0
// The theorem: to each agent, qs_agents is an agent alone that finishes each step before it takes the next.
//
// Function    The reference is one agent, which may be any. In the clock in which a slot of this agent may write, it does
//             what qstep.golden.agents does, on the table as all earlier slots have left it. Requests to the world,
//             draws, actions, places, episodes, writes and what the counters are told are equal.
//             The proof is about steps that read one row and write one entry, which may be any (any/qs_agent_rows.sv).
// Assumed     Power-up is a reset, and the only one; the reference begins with the word and the steps that memory then
//             holds, and no episode has begun. The host writes settings while agents wake, and nothing after. The two
//             copies of an entry, in row and entry, agree at power-up. Runs may begin, end and be cut off at any time.

module agent_lane_proof
  import qs_agents_pkg::*;
#(
    parameter  int unsigned States     = 4096,
    parameter  int unsigned Actions    = 4,
    parameter  int unsigned Width      = 16,
    parameter  int unsigned Agents     = 16,
    parameter  int unsigned Algorithm  = 0,
    localparam int unsigned StateBits  = $clog2(States),
    localparam int unsigned ActionBits = $clog2(Actions),
    localparam int unsigned Tables     = Algorithm == 32'(DoubleQLearning) ? 2 : 1
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

  localparam int unsigned Slots = slots(Actions, Algorithm);
  localparam int unsigned Select = select_stage(Actions, Algorithm);
  localparam int unsigned Entry = entry_stage(Actions, Algorithm);
  localparam int unsigned Write = write_stage(Actions, Algorithm);
  localparam int unsigned RowBits = AgentBits + StateBits;

  logic bus_done_o, busy_o, world_valid_o;
  logic [31:0] bus_data_o;
  logic [AgentBits-1:0] world_agent_o;
  logic [StateBits-1:0] world_state_o;
  logic [ActionBits-1:0] world_action_o;
  logic [DrawBits-1:0] world_outcome_o, world_start_o;

  qs_agents #(
      .States   (States),
      .Actions  (Actions),
      .Width    (Width),
      .Agents   (Agents),
      .Algorithm(Algorithm),
      .Rounding (32'(qs_pkg::RoundStochastic)),
      .Schedules(0)
  ) u_agents (
      .*
  );

  // The agent, the row and the entry: they may be any, and stay the same.
  logic [AgentBits-1:0] chosen;
  logic [StateBits-1:0] row_state, entry_state;
  logic [ActionBits-1:0] entry_action;
  logic [RowBits-1:0] row_address, entry_address;
  always_ff @(posedge clk_i) begin
    chosen       <= chosen;
    row_state    <= row_state;
    entry_state  <= entry_state;
    entry_action <= entry_action;
  end
  assign row_address   = {chosen, row_state};
  assign entry_address = {chosen, entry_state};

  // A slot of the agent may write now; `wakes`: it is the last one in which it did nothing after power-up.
  logic past_q = 1'b0;
  logic [6:0] age_q = '0;
  logic mine, wakes;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    if (age_q != '1) age_q <= age_q + 1'b1;
  end
  assign mine  = u_agents.u_slots.phase_q == 4'(Write) && 32'(age_q) >= Slots - 1 + Write;
  assign wakes = 32'(age_q) < 2 * Slots - 1 + Write;

  // --- What this slot read, asked and was told, in its earlier stages ---------------------------------
  logic [63:0] word;
  flags_t flags;
  logic asked, explored, ready, terminated;
  logic [StateBits-1:0] asked_state, next_state, start_state;
  logic [ActionBits-1:0] asked_action, went_on_with;
  logic [DrawBits-1:0] asked_outcome, asked_start;
  logic [EpisodeBits-1:0] steps;
  aim_t aim;
  logic [Width-1:0] reward, counted_reward;
  deed_t counted;
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
      .Width($bits(aim_t) + 2 + Width + 2 * StateBits),
      .Depth(Write - AnswerStage)
  ) u_stage_8 (
      .clk_i,
      .data_i({
        u_agents.answer_aim,
        world_ready_i,
        world_terminated_i,
        world_reward_i,
        world_next_state_i,
        world_start_state_i
      }),
      .data_o({aim, ready, terminated, reward, next_state, start_state})
  );
  qs_delay #(
      .Width($bits(deed_t) + Width + Tables * Width),
      .Depth(Write - Entry)
  ) u_stage_entry (
      .clk_i,
      .data_i({u_agents.entry_deed, u_agents.entry_reward, u_agents.u_write.gen_own.before_values}),
      .data_o({counted, counted_reward, carried})
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
  // pending: the step is truncated, and the action at the next start is not chosen yet. late: the world was, so the
  // draws of the step are already there.
  logic begun_q, pending_q, late_q, explored_q;
  logic [63:0] word_q;
  logic [EpisodeBits-1:0] steps_q;
  logic [StateBits-1:0] state_q;
  logic [ActionBits-1:0] action_q;
  logic pending_known_q;
  logic [Width-1:0] pending_value_q;
  logic pending_saturated_q;

  logic [63:0] advanced, word_now, draw;
  logic [NoiseBits-1:0] bias;
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
  assign draws = (aim.start || aim.asks) && !late_q;
  assign word_now = draws ? advanced : word_q;
  assign number = Tables > 1 && any_table;

  logic step, last, truncated, ends, writes;
  assign step = aim.asks && ready;
  assign last = u_agents.u_episode.gen_limit.limits_q &&
      steps_q == u_agents.u_episode.gen_limit.last_steps_q;
  assign truncated = step && last && !terminated;
  assign ends = step && (last || terminated);
  assign writes = (step && !truncated) || aim.finish;

  // Where it goes on, from the table as all earlier slots have left it.
  logic [StateBits-1:0] x;
  logic [Tables-1:0][Actions-1:0][Width-1:0] rows;
  logic [Tables-1:0][Width-1:0] entries;
  logic explores, goes_on, row_known, entry_known;
  logic [EpsilonBits-1:0] epsilon;
  logic [ThresholdBits-1:0] threshold;
  logic [DrawBits+ActionBits:0] scaled;
  logic [ActionBits-1:0] next_action;
  logic [Width:0] target;

  for (genvar t = 0; t < Tables; t++) begin : gen_table
    assign rows[t] = u_agents.gen_table[t].gen_own.u_table.row_q;
    assign entries[t] = u_agents.gen_table[t].gen_own.u_table.entry_q;
  end
  assign x = aim.start || aim.finish || terminated ? start_state : next_state;
  assign row_known = x == row_state;
  assign entry_known = state_q == entry_state && action_q == entry_action;
  assign epsilon = u_agents.gen_constant.u_epsilon.u_epsilon.word_q;
  assign threshold = epsilon[EpsilonBits-1-:ThresholdBits];
  assign explores = {1'b0, draw[DrawBits+:DrawBits]} < threshold;
  assign scaled = ($bits(scaled))'(draw[DrawBits-1:0]) * ($bits(scaled))'(Actions);
  assign goes_on = aim.start || writes;

  policy #(
      .Actions(Actions),
      .Width  (Width),
      .Tables (Tables)
  ) u_policy (
      .rows_i       (rows),
      .pick_i       (explores),
      .pick_action_i(scaled[DrawBits+:ActionBits]),
      .number_i     (number),
      .threshold_i  (Algorithm == 32'(ExpectedSarsa) ? threshold : '0),
      .action_o     (next_action),
      .target_o     (target)
  );

  logic [Width-1:0] value;
  logic saturated;
  agent_value #(
      .Width(Width)
  ) u_value (
      .alpha_i    (u_agents.u_write.u_alpha.word_q),
      .kappa_i    (u_agents.u_write.u_kappa.word_q),
      .entry_i    (entries[number]),
      .reward_i   (reward),
      .target_i   (terminated ? '0 : target),
      .bias_i     (bias),
      .value_o    (value),
      .saturated_o(saturated)
  );

  always_ff @(posedge clk_i) begin
    if (mine && wakes) begin
      {begun_q, pending_q, late_q} <= '0;
      word_q <= word;
      steps_q <= steps;
    end else if (mine) begin
      word_q <= word_now;
      if (aim != '0) begun_q <= 1'b1;
      if (aim.asks || aim.start || aim.finish) late_q <= aim.asks && !ready;
      if (aim.asks || aim.finish) pending_q <= truncated;
      if (step)
        steps_q <= ends ? '0 : steps_q + EpisodeBits'(u_agents.u_episode.gen_limit.limits_q);
      if (goes_on) begin
        state_q <= x;
        // Of another row this proof knows nothing; another choice of the row proves it there.
        action_q <= explores || row_known ? next_action : went_on_with;
        explored_q <= explores;
      end
      pending_known_q <= row_known && entry_known;
      {pending_saturated_q, pending_value_q} <= {saturated, value};
    end
  end

  // --- Assumed --------------------------------------------------------------------------------------------
  always_comb begin
    assume (rst_i == !past_q);
    assume (32'(chosen) < Agents && 32'(entry_action) < Actions);
    assume (!bus_valid_i || (32'(age_q) < 2 * Slots && bus_i.region == RegionSettings));
  end
  for (genvar t = 0; t < Tables; t++) begin : gen_copies
    always_comb begin
      assume (past_q || row_state != entry_state || rows[t][entry_action] == entries[t]);
      Copies_L : assert (row_state != entry_state || rows[t][entry_action] == entries[t]);
    end
  end

  // --- The theorem ------------------------------------------------------------------------------------------
  logic [Tables-1:0] written;
  for (genvar t = 0; t < Tables; t++) begin : gen_written
    assign written[t] = writes && (Tables == 1 || number == 1'(t));
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
              u_agents.access.set == '0 && !u_agents.access.set_limit));
    end
    if (mine && wakes && 32'(age_q) >= Slots + Write)
      Cleared_L : assert (!flags.begun && !flags.pending && !flags.drawn);
    if (mine && !wakes) begin
      Flags_L :
      assert (flags.begun == begun_q && flags.pending == pending_q && flags.drawn == late_q);
      Word_L : assert (word == word_q);
      Steps_L : assert (steps == steps_q);
      Place_L : assert (!begun_q || (asked_state == state_q && asked_action == action_q));
      Carried_L :
      assert (!begun_q || pending_q || !flags.fresh || !entry_known || carried == entries);
      Pending_L : assert (!pending_q || !pending_known_q || carried[number] == pending_value_q);
      Aim_A :
      assert ($onehot0(
          aim
      ) && (!aim.start || !begun_q) && aim.finish == pending_q && (!aim.asks || begun_q));
      // Every slot of an agent with steps left does something; the next slot after a refresh makes a step.
      Goes_A :
      assert ((aim != '0) == (flags.more || pending_q) &&
              aim.refresh == (aim != '0 && begun_q && !pending_q && !flags.fresh));
      Asks_A :
      assert (asked == aim.asks &&
              (!asked || (asked_state == state_q && asked_action == action_q)));
      Draws_A : assert (!asked || asked_outcome == draw[63-:DrawBits]);
      Start_A : assert (!(asked || goes_on) || asked_start == draw[63-DrawBits-:DrawBits]);
      GoesOn_A : assert (!goes_on || !(explores || row_known) || went_on_with == next_action);
      Writes_A : assert (u_agents.write == written);
      Where_A :
      assert (!writes || (u_agents.write_address == {chosen, state_q} &&
                          u_agents.write_action == action_q));
      Value_A :
      assert (!writes || aim.finish || !row_known || !entry_known || u_agents.value == value);
      Kept_A : assert (!aim.finish || !pending_known_q || u_agents.value == pending_value_q);
      Saturated_A : assert (!step || !row_known || !entry_known || u_agents.saturated == saturated);
      Counted_A :
      assert (counted.step == step && counted.terminated == (step && terminated) &&
              counted.truncated == truncated && counted_reward == (step ? reward : '0));
    end
  end

  // --- Not vacuous --------------------------------------------------------------------------------------------
  logic checked;
  assign checked = mine && !wakes && row_known && entry_known && chosen == 4'(Agents - 1);
  always_comb begin
    Step_C : cover (checked && step && !ends && !explores && late_q);
    Stays_C : cover (checked && step && state_q == x && action_q == next_action && !explores);
    Kept_C : cover (mine && !wakes && aim.finish && pending_known_q);
  end

endmodule
