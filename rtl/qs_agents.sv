// SPDX-License-Identifier: Apache-2.0
// The interleaved lane: up to 16 agents with tables of their own, which act in a world and learn.
//
// Function    Slots follow one another, a clock apart, and agent n has slot n of each rotation. In a slot an
//             agent makes one step of docs/acting.md, whole: it draws, asks the world, reads a row, chooses,
//             and updates. After n steps of each agent tables, contexts and counters equal, bit for bit,
//             those of the golden model, ActingModel in qstep.acting.model.
//             Four things take a slot of their own: the first start state; the choice of the action after a
//             truncation, whose row is read in the slot after the step's, with the same draw, before the
//             step's write; the value of Q[state, action] at the beginning of a run; and a world that is late.
// Timing      One slot a clock; a rotation has Slots clocks (qs_agents_pkg), so an agent makes a step every
//             Slots clocks. docs/agents.md has the table of stages.
// Handshake   Bus: bus_valid_i and the other bus inputs stay until bus_done_o is 1, for one clock, in which
//             bus_data_o is what was read. One access at a time. While busy_o is 1 only counters may be read.
//             run_i for one clock: each agent makes run_steps_i steps; only while busy_o is 0. stop_i for one
//             clock, at any time: agents finish the step that they are in. busy_o falls when all steps are
//             made and all counters are complete.
//             World: in the clock in which world_valid_o is 1 the world is asked, and AnswerStage -
//             RequestStage clocks later, exactly then, its answer is taken if world_ready_i is 1. If not, the
//             agent asks the same again Slots clocks after it asked first, until it is answered or stopped.
//             world_start_state_i is the start state for that clock's world_start_o, always answered.
// Reset       Stops all agents. Memories keep their contents (undefined after power-up: write them first).
// Hazards     none: all that a slot reads was written by its agent's last slot, or is taken from it.
// Invariants  RunWaits_A, BusWaits_A, AnswerInRange_A
// Resources   docs/agents.md
// Reference   Sutton and Barto, "Reinforcement learning" (2018), chapter 6.

`include "qs_assert.svh"

module qs_agents
  import qs_agents_pkg::*;
#(
    parameter  int unsigned States     = 32,              // 2..65536, times agents at most 65536
    parameter  int unsigned Actions    = 4,               // 2..64
    parameter  int unsigned Width      = 16,              // 8..32
    parameter  int unsigned Agents     = 16,              // 1..16
    parameter  int unsigned Algorithm  = 0,               // algorithm_e
    parameter  int unsigned Rounding   = 0,               // qs_pkg::rounding_e
    localparam int unsigned StateBits  = $clog2(States),
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,

    // Settings, contexts, counters and tables; docs/agents.md has the map of regions
    input  logic        bus_valid_i,
    input  logic        bus_write_i,
    input  logic [ 2:0] bus_region_i,
    input  logic [29:0] bus_index_i,
    input  logic [31:0] bus_data_i,
    output logic        bus_done_o,
    output logic [31:0] bus_data_o,

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
  localparam int unsigned SlotBits = $clog2(Slots);
  localparam int unsigned Select = select_stage(Actions, Algorithm);
  localparam int unsigned Target = target_stage(Actions, Algorithm);
  localparam int unsigned Write = write_stage(Actions, Algorithm);
  localparam int unsigned Entry = Target - 2;  // stage in which the update begins
  localparam int unsigned Tables = Algorithm == 32'(DoubleQLearning) ? 2 : 1;
  localparam int unsigned IndexBits = Agents > 1 ? $clog2(Agents) : 0;
  localparam int unsigned Rows = Agents > 1 ? Agents << StateBits : States;
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

  // The first two turns after reset, in which no agent does anything and all flags are cleared.
  logic wakes_q, wakes_longer_q;

  // --- Slots: number of the slot in each stage, and whether it has an agent -------------------------
  logic [SlotBits-1:0] slot_q;
  logic [Slots-1:0][AgentBits-1:0] agent;
  logic [Slots-1:0] live;
  logic turn_q;
  logic [Slots-1:1][AgentBits-1:0] agent_q;
  logic [Slots-1:1] live_q;

  assign agent = {agent_q, AgentBits'(slot_q)};
  assign live  = {live_q, Agents == Slots || 32'(slot_q) < Agents};

  always_ff @(posedge clk_i) begin
    slot_q  <= turn_q ? '0 : slot_q + 1'b1;
    turn_q  <= 32'(slot_q) == Slots - 2;
    agent_q <= agent[Slots-2:0];
    live_q  <= live[Slots-2:0];
    if (rst_i) begin
      slot_q <= '0;
      turn_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (turn_q) {wakes_q, wakes_longer_q} <= {wakes_longer_q, 1'b0};
    if (rst_i) {wakes_q, wakes_longer_q} <= '1;
  end

  // --- Bus: an access to what an agent has is made in its slot, which `token` follows ---------------
  logic set_limit, counter_read, counter_write, counter_done;
  logic [15:0] counter_data;
  logic [31:0] bus_data;
  logic [29:0] bus_index;
  logic bus_table, bus_write;
  logic [AgentBits-1:0] bus_agent;
  logic [3:0] setting;
  logic [4:0] field, load;
  logic [Write:0] token;

  qs_agent_bus #(
      .Length(Write)
  ) u_bus (
      .clk_i,
      .rst_i,
      .bus_valid_i,
      .bus_write_i,
      .bus_region_i,
      .bus_index_i,
      .bus_data_i,
      .bus_done_o,
      .agent_i        (agent[0]),
      .live_i         (live[0]),
      .counter_done_i (counter_done),
      .index_o        (bus_index),
      .data_o         (bus_data),
      .write_o        (bus_write),
      .agent_o        (bus_agent),
      .set_o          (setting),
      .set_limit_o    (set_limit),
      .field_o        (field),
      .table_o        (bus_table),
      .counter_read_o (counter_read),
      .counter_write_o(counter_write),
      .token_o        (token)
  );

  assign load = field & {5{bus_write}};

  // --- Stage 1: what the agent does in this slot ----------------------------------------------------
  // more: steps are left. begun: the first start state is drawn. fresh: the value beside the context is that
  // of this run. pending: truncated in the slot before. drawn: a draw is there that was not used.
  typedef struct packed {
    logic more;
    logic begun;
    logic fresh;
    logic pending;
    logic drawn;
  } flags_t;

  flags_t s1_flags, s11_flags;
  logic   s1_go;
  flags_t s2_flags_q;
  logic s2_go_q, s2_advance_q;

  qs_agent_ram #(
      .Agents(Agents),
      .Width ($bits(flags_t))
  ) u_flags (
      .clk_i,
      .write_i      (live[11]),
      .write_agent_i(agent[11]),
      .write_data_i (s11_flags),
      .read_agent_i (agent[0]),
      .data_o       (s1_flags)
  );

  assign s1_go = live[1] && !wakes_q && (s1_flags.more || s1_flags.pending);
  always_ff @(posedge clk_i) begin
    s2_flags_q <= s1_flags;
    s2_go_q <= s1_go;
    s2_advance_q <= s1_go && !s1_flags.pending && !s1_flags.drawn &&
        (!s1_flags.begun || s1_flags.fresh);
  end

  // --- Stages 1 to 6: the draw ----------------------------------------------------------------------
  logic [63:0] s2_word, s5_draw;
  logic [NoiseBits-1:0] s6_rounding;
  logic s6_table;

  qs_draw #(
      .Agents(Agents)
  ) u_draw (
      .clk_i,
      .rst_i,
      .s1_agent_i   (agent[1]),
      .s2_advance_i (s2_advance_q),
      .s3_agent_i   (agent[3]),
      .s3_write_i   (live[3]),
      .s3_load_i    ({2{token[3]}} & load[1:0]),
      .load_data_i  (bus_data),
      .s2_word_o    (s2_word),
      .s5_draw_o    (s5_draw),
      .s6_rounding_o(s6_rounding),
      .s6_table_o   (s6_table)
  );

  // --- Stage 5: the world is asked ------------------------------------------------------------------
  typedef struct packed {
    logic explored;
    logic [ActionBits-1:0] action;
    logic [StateBits-1:0] state;
  } place_t;

  place_t s5_place, select_place;
  logic select_writes;
  flags_t s5_flags, s7_flags;
  logic s5_go, s7_go;

  qs_agent_ram #(
      .Agents(Agents),
      .Width ($bits(place_t))
  ) u_place (
      .clk_i,
      .write_i      (select_writes),
      .write_agent_i(agent[Select%Slots]),
      .write_data_i (select_place),
      .read_agent_i (agent[4]),
      .data_o       (s5_place)
  );

  qs_delay #(
      .Width(1 + $bits(flags_t)),
      .Depth(3)
  ) u_early_flags (
      .clk_i,
      .data_i({s2_go_q, s2_flags_q}),
      .data_o({s5_go, s5_flags})
  );

  qs_delay #(
      .Width(1 + $bits(flags_t)),
      .Depth(2)
  ) u_flags_delay (
      .clk_i,
      .data_i({s5_go, s5_flags}),
      .data_o({s7_go, s7_flags})
  );

  assign world_valid_o = s5_go && s5_flags.begun && s5_flags.fresh && !s5_flags.pending;
  assign world_agent_o = agent[RequestStage];
  assign world_state_o = s5_place.state;
  assign world_action_o = s5_place.action;
  assign {world_outcome_o, world_start_o} = s5_draw[63:2*DrawBits];

  // --- Stages 5 and 6: the policy's random part -----------------------------------------------------
  logic [EpsilonBits-1:0] s5_epsilon, last_epsilon;
  logic [EpisodeBits-1:0] s5_count;
  logic s6_explores_q, last_stepped, last_ended;
  logic [ActionBits-1:0] s6_random_q;
  localparam int unsigned ScaledBits = DrawBits + ActionBits + 1;
  logic [ScaledBits-1:0] scaled;

  qs_epsilon #(
      .Agents(Agents),
      .Slots (Slots)
  ) u_epsilon (
      .clk_i,
      .rst_i,
      .agent_i     (agent),
      .s5_live_i   (live[5]),
      .stepped_i   (last_stepped),
      .ended_i     (last_ended),
      .set_i       (setting[3:1]),
      .set_agent_i (bus_agent),
      .set_data_i  (bus_data),
      .s5_load_i   ({2{token[5]}} & load[3:2]),
      .old_o       (last_epsilon),
      .s5_epsilon_o(s5_epsilon),
      .s5_count_o  (s5_count)
  );

  assign scaled = ScaledBits'(s5_draw[DrawBits-1:0]) * ScaledBits'(Actions);
  always_ff @(posedge clk_i) begin
    s6_explores_q <= {1'b0, s5_draw[DrawBits+:DrawBits]} < s5_epsilon[EpsilonBits-1-:ThresholdBits];
    s6_random_q <= scaled[DrawBits+:ActionBits];
  end

  // --- Stage 6: the place of this slot, or the one that the bus asks for ----------------------------
  logic [ StateBits-1:0] s6_state_q;
  logic [ActionBits-1:0] s6_action_q;
  always_ff @(posedge clk_i) begin
    s6_state_q  <= token[5] && bus_table ? bus_index[6+:StateBits] : s5_place.state;
    s6_action_q <= token[5] && bus_table ? bus_index[0+:ActionBits] : s5_place.action;
  end

  // --- Stages 7 and 8: steps of the episode ---------------------------------------------------------
  logic [EpisodeBits-1:0] limit_q, before_limit_q, s7_steps, s8_steps_q;
  logic limits_q, s8_last_q, s8_ends;

  always_ff @(posedge clk_i) begin
    if (set_limit) limit_q <= bus_data[EpisodeBits-1:0];
    limits_q <= limit_q != '0;
    before_limit_q <= limit_q - 1'b1;
    s8_steps_q <= s7_steps + EpisodeBits'(limits_q);
    s8_last_q <= limits_q && s7_steps == before_limit_q;
    if (rst_i) limit_q <= '0;
  end

  // --- Stage 8: the answer --------------------------------------------------------------------------
  // What the slot turns out to be, of which `step` is none if the world is late.
  logic s8_start_q, s8_refresh_q, s8_finish_q, s8_asks_q, s8_go_q;
  flags_t s8_flags_q, s9_flags_q;
  logic s8_step, s8_terminated, s8_truncated;
  logic [ StateBits-1:0] s8_state;
  logic [ActionBits-1:0] s8_action;

  qs_delay #(
      .Width(StateBits + ActionBits),
      .Depth(2)
  ) u_place_delay (
      .clk_i,
      .data_i({s6_state_q, s6_action_q}),
      .data_o({s8_state, s8_action})
  );

  always_ff @(posedge clk_i) begin
    s8_go_q      <= s7_go;
    s8_flags_q   <= s7_flags;
    s8_finish_q  <= s7_go && s7_flags.pending;
    s8_start_q   <= s7_go && !s7_flags.pending && !s7_flags.begun;
    s8_refresh_q <= s7_go && !s7_flags.pending && s7_flags.begun && !s7_flags.fresh;
    s8_asks_q    <= s7_go && !s7_flags.pending && s7_flags.begun && s7_flags.fresh;
  end

  assign s8_step = s8_asks_q && world_ready_i;
  assign s8_terminated = s8_step && world_terminated_i;
  assign s8_truncated = s8_step && s8_last_q && !world_terminated_i;
  assign s8_ends = s8_last_q || world_terminated_i;

  qs_agent_ram #(
      .Agents(Agents),
      .Width (EpisodeBits)
  ) u_steps (
      .clk_i,
      .write_i(s8_step || (token[8] && load[3])),
      .write_agent_i(agent[8]),
      .write_data_i(token[8] && load[3] ? bus_data[EpisodeBits-1:0] : s8_ends ? '0 : s8_steps_q),
      .read_agent_i(agent[6]),
      .data_o(s7_steps)
  );

  // --- Stages 9 to 11: flags and budget -------------------------------------------------------------
  logic begins, s11_more, left;
  logic
      s9_step_q, s9_terminated_q, s9_truncated_q, s9_finish_q, s9_chooses_q, s9_pick_q, s9_values_q;
  logic [StateBits-1:0] s9_x_q;
  flags_t s10_flags_q, s11_flags_q;
  logic signed [Width-1:0] s9_reward_q;

  always_ff @(posedge clk_i) begin
    s9_step_q <= s8_step;
    s9_terminated_q <= s8_terminated;
    s9_truncated_q <= s8_truncated;
    s9_finish_q <= s8_finish_q;
    // Chooses where to go on; has a value to go on with; knows its action.
    s9_chooses_q <= s8_start_q || s8_finish_q || (s8_step && !s8_truncated);
    s9_values_q <= s8_start_q || s8_finish_q || s8_refresh_q || s8_step;
    s9_pick_q <= s8_refresh_q || (token[8] && bus_table);
    s9_reward_q <= world_reward_i;
    s9_x_q <= s8_refresh_q || (token[8] && bus_table) ? s8_state :
        s8_start_q || s8_finish_q || world_terminated_i ? world_start_state_i : world_next_state_i;

    s9_flags_q <= s8_flags_q;
    if (s8_go_q) begin
      s9_flags_q.begun   <= 1'b1;
      s9_flags_q.fresh   <= 1'b1;
      s9_flags_q.pending <= s8_truncated;
      s9_flags_q.drawn   <= s8_asks_q ? !world_ready_i : s8_refresh_q && s8_flags_q.drawn;
    end

    s10_flags_q <= s9_flags_q;
    if (begins) s10_flags_q.fresh <= 1'b0;
    if (token[9] && load[4]) begin
      s10_flags_q.drawn <= bus_data[31];
      s10_flags_q.begun <= bus_data[30];
    end
    if (wakes_q) s10_flags_q <= '0;
    s11_flags_q <= s10_flags_q;
  end

  always_comb begin
    s11_flags = s11_flags_q;
    s11_flags.more = s11_more;
  end

  qs_agent_budget #(
      .Agents(Agents),
      .Slots (Slots)
  ) u_budget (
      .clk_i,
      .rst_i,
      .run_i       (run_i || stop_i),
      .run_steps_i (stop_i ? '0 : run_steps_i),
      .turn_i      (turn_q),
      .agent_i     (agent),
      .live_i      (live),
      .s9_stepped_i(s9_step_q),
      .begins_o    (begins),
      .s11_more_o  (s11_more),
      .left_o      (left)
  );

  // --- Stages 9 to Select: row of x, next action and its value, target ------------------------------
  logic [Tables-1:0][Actions-1:0][Width-1:0] rows;
  logic [Tables-1:0] write;
  logic [RowBits-1:0] row_address, write_address;
  logic [StateBits-1:0] write_state;
  logic [ActionBits-1:0] write_action;
  logic signed [Width-1:0] value;
  logic [Tables-1:0][Width-1:0] unused_entry;

  if (Agents > 1) begin : gen_agent_rows
    assign row_address   = {agent[RowStage][IndexBits-1:0], s9_x_q};
    assign write_address = {agent[Write%Slots][IndexBits-1:0], write_state};
  end else begin : gen_agent_row
    assign row_address   = s9_x_q;
    assign write_address = write_state;
  end

  for (genvar t = 0; t < Tables; t++) begin : gen_table
    qs_table #(
        .States (Rows),
        .Actions(Actions),
        .Width  (Width)
    ) u_table (
        .clk_i,
        .rst_i,
        .row_state_i   (row_address),
        .row_o         (rows[t]),
        .entry_state_i ('0),
        .entry_action_i('0),
        .entry_o       (unused_entry[t]),
        .write_i       (write[t]),
        .write_state_i (write_address),
        .write_action_i(write_action),
        .write_data_i  (value)
    );
  end

  // The pick of stage TreeStage: a random action, the one that is known already, or that of the bus.
  logic s9_explores, s10_picks_q, s11_picks, select_explored;
  logic [ActionBits-1:0] s9_random, s9_action, s10_pick_q, s11_pick;
  logic s11_zero, s11_number;
  logic [ThresholdBits-1:0] threshold;
  logic [ActionBits-1:0] next_action;
  logic [Tables-1:0][Width-1:0] next_values;
  logic signed [Width:0] target;

  qs_delay #(
      .Width(1 + ActionBits),
      .Depth(3)
  ) u_random (
      .clk_i,
      .data_i({s6_explores_q, s6_random_q}),
      .data_o({s9_explores, s9_random})
  );

  always_ff @(posedge clk_i) begin
    s10_picks_q <= s9_explores || s9_pick_q;
    s10_pick_q  <= s9_pick_q ? s9_action : s9_random;
  end

  qs_delay #(
      .Width(1 + ActionBits),
      .Depth(TreeStage - 10)
  ) u_pick (
      .clk_i,
      .data_i({s10_picks_q, s10_pick_q}),
      .data_o({s11_picks, s11_pick})
  );

  qs_delay #(
      .Width(1),
      .Depth(Select - 9)
  ) u_explored (
      .clk_i,
      .data_i(s9_explores),
      .data_o(select_explored)
  );

  qs_delay #(
      .Width(1),
      .Depth(TreeStage - 9)
  ) u_zero (
      .clk_i,
      .data_i(s9_terminated_q || s9_finish_q || (token[9] && bus_table)),
      .data_o(s11_zero)
  );

  qs_delay #(
      .Width(1),
      .Depth(TreeStage - 6)
  ) u_number (
      .clk_i,
      .data_i(s6_table),
      .data_o(s11_number)
  );

  // Epsilon is there in the last stage; its part in the target may be later.
  localparam int unsigned Threshold = Actions > 2 ? TreeStage + qs_pkg::tree_stages(
      Actions
  ) + 1 : Slots - 1;
  qs_delay #(
      .Width(ThresholdBits),
      .Depth(Threshold > Slots - 1 ? Threshold - (Slots - 1) : 0)
  ) u_threshold (
      .clk_i,
      .data_i(last_epsilon[EpsilonBits-1-:ThresholdBits]),
      .data_o(threshold)
  );

  qs_agent_choice #(
      .Actions  (Actions),
      .Width    (Width),
      .Algorithm(Algorithm)
  ) u_choice (
      .clk_i,
      .rst_i,
      .rows_i       (rows),
      .pick_i       (s11_picks),
      .pick_action_i(s11_pick),
      .zero_i       (s11_zero),
      .number_i     (s11_number),
      .threshold_i  (threshold),
      .action_o     (next_action),
      .values_o     (next_values),
      .target_o     (target)
  );

  // --- Stage Select: the agent goes on --------------------------------------------------------------
  logic [StateBits-1:0] select_x;
  logic select_chooses;

  qs_delay #(
      .Width(1 + StateBits),
      .Depth(Select - 9)
  ) u_x (
      .clk_i,
      .data_i({s9_chooses_q, s9_x_q}),
      .data_o({select_chooses, select_x})
  );

  assign select_writes = select_chooses || (token[Select] && load[4]);
  always_comb begin
    select_place = '{explored: select_explored, action: next_action, state: select_x};
    if (token[Select] && load[4])
      select_place = '{
          explored: bus_data[29],
          action: bus_data[16+:ActionBits],
          state: bus_data[0+:StateBits]
      };
  end

  // --- Stages Entry to Write: the update ------------------------------------------------------------
  logic [ StateBits-1:0] select_state;
  logic [ActionBits-1:0] select_action;
  logic entry_step, entry_terminated, entry_truncated, entry_finish, entry_number;
  logic last_step, last_truncated, last_finish, last_number, last_same;  // stage Write - 1
  logic write_step_q, write_values, saturated;
  logic signed [Width-1:0] entry_reward, entry;
  logic [Tables-1:0][Width-1:0] entry_values, write_next_values, write_values_data;
  logic select_same_q;
  logic [qs_pkg::CoeffBits-1:0] alpha, kappa;
  logic [qs_pkg::CoeffFraction-1:0] bias;

  qs_delay #(
      .Width(ActionBits),
      .Depth(1)
  ) u_s9_action (
      .clk_i,
      .data_i(s8_action),
      .data_o(s9_action)
  );

  qs_delay #(
      .Width(StateBits + ActionBits),
      .Depth(Select - 8)
  ) u_select_place (
      .clk_i,
      .data_i({s8_state, s8_action}),
      .data_o({select_state, select_action})
  );

  qs_delay #(
      .Width(StateBits + ActionBits),
      .Depth(Write - Select)
  ) u_write_place (
      .clk_i,
      .data_i({select_state, select_action}),
      .data_o({write_state, write_action})
  );

  // Whether the agent goes on with the entry that this step writes.
  always_ff @(posedge clk_i) begin
    select_same_q <= select_state == select_x && select_action == next_action;
    write_step_q  <= last_step;
  end

  qs_delay #(
      .Width(1),
      .Depth(Write - Select - 2)
  ) u_same (
      .clk_i,
      .data_i(select_same_q),
      .data_o(last_same)
  );

  qs_delay #(
      .Width(Tables * Width),
      .Depth(Write - Select)
  ) u_values (
      .clk_i,
      .data_i(next_values),
      .data_o(write_next_values)
  );

  qs_delay #(
      .Width(4 + Width),
      .Depth(Entry - 9)
  ) u_entry (
      .clk_i,
      .data_i({s9_step_q, s9_terminated_q, s9_truncated_q, s9_finish_q, s9_reward_q}),
      .data_o({entry_step, entry_terminated, entry_truncated, entry_finish, entry_reward})
  );

  qs_delay #(
      .Width(1),
      .Depth(Write - 9)
  ) u_write_values (
      .clk_i,
      .data_i(s9_values_q),
      .data_o(write_values)
  );

  qs_delay #(
      .Width(4),
      .Depth(Write - 1 - Entry)
  ) u_last (
      .clk_i,
      .data_i({entry_step, entry_truncated, entry_finish, entry_number}),
      .data_o({last_step, last_truncated, last_finish, last_number})
  );

  qs_delay #(
      .Width(1),
      .Depth(Entry - TreeStage)
  ) u_entry_number (
      .clk_i,
      .data_i(s11_number),
      .data_o(entry_number)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (Tables * Width)
  ) u_value (
      .clk_i,
      .write_i      (write_values),
      .write_agent_i(agent[Write%Slots]),
      .write_data_i (write_values_data),
      .read_agent_i (agent[(Entry-1)%Slots]),
      .data_o       (entry_values)
  );

  for (genvar t = 0; t < Tables; t++) begin : gen_write
    logic here, new_q, write_q;
    assign here = Tables == 1 || last_number == 1'(t);
    always_ff @(posedge clk_i) begin
      new_q <= here && (last_truncated || (last_same && (last_step || last_finish)));
      write_q <= (here && ((last_step && !last_truncated) || last_finish)) ||
          (token[Write-1] && bus_table && bus_write && (Tables == 1 || bus_index[26] == 1'(t)));
    end
    assign write_values_data[t] = new_q ? value : write_next_values[t];
    assign write[t] = write_q;
  end

  assign entry = token[Entry] && bus_table ? bus_data[Width-1:0] :
      entry_values[Tables>1&&entry_number];

  qs_agent_ram #(
      .Agents(Agents),
      .Width (qs_pkg::CoeffBits)
  ) u_alpha (
      .clk_i,
      .write_i      (setting[0]),
      .write_agent_i(bus_agent),
      .write_data_i (bus_data[15:0]),
      .read_agent_i (agent[(Entry+1)%Slots]),
      .data_o       (alpha)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (qs_pkg::CoeffBits)
  ) u_kappa (
      .clk_i,
      .write_i      (setting[0]),
      .write_agent_i(bus_agent),
      .write_data_i (bus_data[31:16]),
      .read_agent_i (agent[(Entry+2)%Slots]),
      .data_o       (kappa)
  );

  if (Rounding == 32'(qs_pkg::RoundStochastic)) begin : gen_noise
    qs_delay #(
        .Width(NoiseBits),
        .Depth(Target + 2 - 6)
    ) u_noise (
        .clk_i,
        .data_i(s6_rounding),
        .data_o(bias)
    );
  end else begin : gen_no_noise
    logic unused_rounding;
    assign unused_rounding = ^s6_rounding;
    assign bias = {Rounding == 32'(qs_pkg::RoundNearest), {(qs_pkg::CoeffFraction - 1) {1'b0}}};
  end

  qs_agent_update #(
      .Width(Width)
  ) u_update (
      .clk_i,
      .s0_reward_i(entry_reward),
      .s0_entry_i (entry),
      .s0_keep_i  (entry_finish || (token[Entry] && bus_table)),
      .s2_alpha_i (alpha),
      .s2_target_i(target),
      .s3_kappa_i (kappa),
      .s4_bias_i  (bias),
      .value_o    (value),
      .saturated_o(saturated)
  );

  // --- Counters, and what the schedule of epsilon counts --------------------------------------------
  qs_agent_counters #(
      .Agents(Agents),
      .Width (Width),
      .Slots (Slots),
      .Stage (Entry)
  ) u_counters (
      .clk_i,
      .rst_i       (rst_i || wakes_q),
      .agent_i     (agent),
      .live_i      (live),
      .stepped_i   (entry_step),
      .terminated_i(entry_terminated),
      .truncated_i (entry_truncated),
      .reward_i    (entry_reward),
      .saturated_i (saturated && write_step_q),
      .read_i      (counter_read),
      .write_i     (counter_write),
      .want_agent_i(bus_agent),
      .want_word_i (bus_index[3:0]),
      .want_data_i (bus_data[15:0]),
      .done_o      (counter_done),
      .data_o      (counter_data)
  );

  // A truncated step is over when its second slot is, which chooses by the same epsilon.
  qs_delay #(
      .Width(2),
      .Depth(Slots - 10)
  ) u_units (
      .clk_i,
      .data_i({(s9_step_q && !s9_truncated_q) || s9_finish_q, s9_terminated_q || s9_finish_q}),
      .data_o({last_stepped, last_ended})
  );

  // --- What the bus reads, as it passes --------------------------------------------------------------
  logic s3_reads_q, s6_reads_q, s7_reads_q, value_reads_q;
  logic [31:0] s3_read_q, s6_read_q, read;
  logic [Width-1:0] next_value;
  assign next_value = next_values[Tables>1&&bus_index[26]];

  always_ff @(posedge clk_i) begin
    s3_reads_q    <= token[2] && (field[0] || field[1]);
    s3_read_q     <= field[0] ? s2_word[31:0] : s2_word[63:32];
    s6_reads_q    <= token[5] && (field[2] || field[3] || field[4]);
    s7_reads_q    <= token[6] && field[3];
    value_reads_q <= token[Select-1] && bus_table;
    if (field[2]) s6_read_q <= 32'(s5_epsilon);
    else if (field[3]) s6_read_q <= {s5_count, 16'b0};
    else
      s6_read_q <= {
        s5_flags.drawn,
        s5_flags.begun,
        s5_place.explored,
        7'b0,
        6'(s5_place.action),
        16'(s5_place.state)
      };
  end

  always_comb begin
    read = '0;
    if (s3_reads_q) read |= s3_read_q;
    if (s6_reads_q) read |= s6_read_q;
    if (s7_reads_q) read |= 32'(s7_steps);
    if (value_reads_q) read |= 32'($signed(next_value));
    if (counter_done) read |= 32'(counter_data);
  end

  always_ff @(posedge clk_i) begin
    if (s3_reads_q || s6_reads_q || value_reads_q || counter_done) bus_data_o[31:16] <= read[31:16];
    if (s3_reads_q || s6_reads_q || s7_reads_q || value_reads_q || counter_done)
      bus_data_o[15:0] <= read[15:0];
  end

  logic unused_bits;
  assign unused_bits = ^{bus_index, last_epsilon, scaled};

  // --- Busy: until all counters are complete ---------------------------------------------------------
  localparam int unsigned QuietClocks = Slots * (Slots + 6);
  logic [$clog2(QuietClocks+1)-1:0] quiet_q;
  always_ff @(posedge clk_i) begin
    if (run_i || left || wakes_q || s2_go_q) quiet_q <= ($clog2(QuietClocks + 1))'(QuietClocks);
    else if (quiet_q != '0) quiet_q <= quiet_q - 1'b1;
    busy_o <= run_i || wakes_q || quiet_q != '0;
    if (rst_i) begin
      quiet_q <= '0;
      busy_o  <= 1'b1;
    end
  end

  `QS_ASSERT(RunWaits_A, !run_i || !busy_o)
  `QS_ASSERT(BusWaits_A,
             !busy_o || !bus_valid_i || (!bus_write_i && bus_region_i == RegionCounters))
  `QS_ASSERT(AnswerInRange_A, !s8_step || 32'(world_next_state_i) < States)

endmodule
