// SPDX-License-Identifier: Apache-2.0
// Host accesses to lanes in lockstep: settings, contexts, counters, tables and worlds.
//
// Function    The map of docs/agents.md, with these limits: settings, epsilon, the start state and whether agents have
//             begun are those of all agents, whichever is written; other words of contexts and settings read as 0.
// Timing      Up to 30 clocks; for counters see qs_lockstep_tally.
// Handshake   bus_valid_i, and the access, stay until bus_done_o is 1, for one clock, in which bus_data_o is
//             the word read. While agents act only counters may be read. A generator's words, and counters, are
//             written in one lane at a time.
// Reset       Aborts an access; what passes through the stages passes on, so a read changes nothing.
// Hazards     none
// Invariants  none
// Resources   About 250 logic cells of an iCE40.
// Reference   none

module qs_lockstep_bus
  import qs_lockstep_pkg::*;
#(
    parameter int unsigned Lanes  = 3,
    parameter int unsigned States = 25
) (
    input logic clk_i,
    input logic rst_i,

    input  logic        bus_valid_i,
    input  logic        bus_write_i,
    input  logic        bus_all_i,
    input  logic [ 2:0] bus_lane_i,
    input  logic [ 2:0] bus_region_i,
    input  logic [29:0] bus_index_i,
    input  logic [31:0] bus_data_i,
    output logic        bus_done_o,
    output logic [31:0] bus_data_o,

    input  logic [AgentBits-1:0] s0_agent_i,
    input  logic                 s0_draws_i,
    input  logic                 begun_i,
    output logic                 set_begun_o,
    output logic                 begun_o,

    output settings_t             settings_o,
    output access_t   [Lanes-1:0] access_o,

    input place_t  [Lanes-1:0]            place_i,
    input choice_t [Lanes-1:0]            choice_i,
    input logic    [Lanes-1:0][Width-1:0] value_i,
    input logic    [Lanes-1:0][     15:0] bits_i,

    output logic                 count_read_o,
    output logic                 count_write_o,
    output logic [AgentBits-1:0] agent_o,
    input  logic                 count_done_i,
    input  logic [         15:0] count_i
);

  localparam int unsigned OwnBits = $clog2(States);
  localparam int unsigned Counts = 2, Table = 3, World = 4, Starts = 5;

  // A bit each: no state is decoded on its way to the lanes, which are far from here on a chip.
  typedef struct packed {
    logic idle;   // the registers below take what is asked
    logic open;
    logic slot;   // until the agent's slot begins
    logic pass;   // that slot passes through the stages
    logic turn;   // a generator's word goes round once
    logic count;  // the counters are asked
    logic done;
  } state_t;

  state_t in_q;
  logic slot_is_next_q, turn_is_next_q, is_slot_q, passed_q, turned_q, begins, ends;
  logic ready_q;  // also those behind them have taken it
  logic aborted_q, passing, turning;
  logic [5:0] region_q;  // a bit each
  logic [4:0] field_q;  // of a context
  logic [AgentBits-1:0] agent_q, agent_before_q;
  logic [Lanes-1:0] lanes_q;
  logic [3:0] clock_q;
  logic [24:0] not_epsilon_q;  // no inverter on its way to the compares
  logic [StateBits-1:0] start_q, state_word_q;
  choice_t choice_q;
  logic valid_q, write_q, stores_q, in_slot, turns, turns_q, ends_q, turn_writes, done;
  logic [4:1] strobe_q;  // the access' slot is in this stage
  logic [Lanes-1:0] set_q, set_value_q, turn_q;
  logic [15:0] bits_q, new_bits_q, low_q;
  logic [31:0] data;
  access_t access;

  // The sources of a word that is read, one bit each, and the words of the selected lane, a clock later.
  logic [StateBits-1:0] own_state, state_of_q;
  choice_t own_choice, choice_of_q;
  logic signed [Width-1:0] own_value, value_of_q;
  logic [15:0] own_bits;
  logic is_word, is_place;

  assign turns = in_q.turn && clock_q[1:0] == 2'd2;
  assign turn_writes = write_q && clock_q[3] == field_q[1];
  assign in_slot = in_q.slot && is_slot_q;
  assign passing = in_slot || (in_q.pass && !passed_q);
  assign turning = in_q.turn && !turned_q;
  assign begins = in_q.idle && ready_q && valid_q && !bus_done_o;
  assign ends = in_q.done || passed_q || turned_q || (in_q.count && count_done_i);

  always_ff @(posedge clk_i) begin
    if (in_q.idle) begin
      for (int unsigned n = 0; n < 6; n++) region_q[n] <= bus_region_i == 3'(n);
      for (int unsigned n = 0; n < 5; n++)
      field_q[n] <= bus_region_i == 3'd1 && bus_index_i[2:0] == 3'(n);
      for (int unsigned n = 0; n < Lanes; n++) lanes_q[n] <= bus_all_i || bus_lane_i == 3'(n);
      write_q <= bus_write_i;
      unique case (bus_region_i)
        3'(Counts): agent_q <= bus_index_i[7:4];
        3'(Table):  agent_q <= bus_index_i[25:22];
        3'(World):  agent_q <= '0;  // any slot
        default:    agent_q <= bus_index_i[6:3];
      endcase
    end
    // Without an access, the start state, from which agents begin.
    state_word_q <= start_q;
    choice_q <= '{bus_data_i[29], bus_data_i[17:16]};
    if (!in_q.idle) begin
      if (field_q[4]) state_word_q <= bus_data_i[StateBits-1:0];
      if (region_q[Table]) begin
        state_word_q <= bus_index_i[10:6];
        choice_q <= '{1'b0, bus_index_i[1:0]};
      end
      if (region_q[World]) begin
        state_word_q <= bus_index_i[18:14];
        choice_q <= '{1'b0, bus_index_i[9:8]};
      end
    end
  end

  // What passes by is read as it passes.
  always_ff @(posedge clk_i) begin
    // There is no agent behind the ninth; its slot is theirs too, so that an access ends.
    agent_before_q <= agent_q == '0 ? AgentBits'(Agents - 1) :
        agent_q[AgentBits-1] ? AgentBits'(Agents - 2) : agent_q - 1'b1;
    is_slot_q <= s0_agent_i == agent_before_q;
    slot_is_next_q <= field_q[4] || region_q[Table] || region_q[World];
    turn_is_next_q <= field_q[0] || field_q[1];
    in_q.idle <= (in_q.idle && !begins) || ends;
    in_q.open <= begins;
    ready_q <= in_q.idle;
    in_q.slot <= (in_q.open && slot_is_next_q) || (in_q.slot && !in_slot);
    in_q.pass <= passing;
    in_q.turn <= (in_q.open && turn_is_next_q) || turning;
    in_q.count <= (in_q.open && region_q[Counts]) || (in_q.count && !count_done_i);
    in_q.done <= in_q.open && !slot_is_next_q && !turn_is_next_q && !region_q[Counts];

    clock_q <= in_q.open || in_q.slot ? '0 : clock_q + 1'b1;
    passed_q <= in_q.pass && clock_q == 4'd8;
    turned_q <= in_q.turn && clock_q == 4'd14;
    aborted_q <= rst_i || (aborted_q && !in_q.idle);
    if (rst_i) begin
      {in_q.open, in_q.slot, in_q.count, in_q.done} <= '0;
      in_q.turn <= turning;
      in_q.idle <= !passing && !turning;
    end

    strobe_q <= {strobe_q[3:1], in_slot};
    for (int unsigned n = 0; n < Lanes; n++) begin
      set_q[n] <= s0_draws_i || (in_slot && lanes_q[n] && write_q != region_q[Table]);
      turn_q[n] <= turns && lanes_q[n];
      set_value_q[n] <= in_slot && lanes_q[n] && write_q && region_q[Table];
    end
    bits_q <= own_bits;
    state_of_q <= field_q[4] ? own_state : '0;
    choice_of_q <= field_q[4] ? own_choice : '0;
    value_of_q <= region_q[Table] ? own_value : '0;
    new_bits_q <= !turn_writes ? bits_q : clock_q[2] ? bus_data_i[31:16] : bus_data_i[15:0];
    valid_q <= bus_valid_i && !bus_done_o;
    bus_done_o <= done;
    bus_data_o <= data;
    // A clock later than it could be, since the settings are far from here on a chip.
    stores_q <= in_q.open && write_q;
    if (stores_q) begin
      if (region_q[0] && bus_index_i[2:0] == '0) {settings_o.kappa, settings_o.alpha} <= bus_data_i;
      if (field_q[2]) not_epsilon_q <= ~bus_data_i[24:0];
      if (region_q[Starts]) start_q <= bus_data_i[StateBits-1:0];
    end
    // The word's four parts of 16 bits pass in turn, each in the last of four clocks.
    turns_q <= turns;
    ends_q  <= in_q.turn && clock_q == (field_q[0] ? 4'd6 : 4'd14);
    if (turns_q) low_q <= bits_q;
  end

  assign settings_o.not_threshold = not_epsilon_q[24:8];
  assign set_begun_o = stores_q && field_q[4];
  assign begun_o = bus_data_i[30];
  assign count_read_o = in_q.count && !write_q;
  assign count_write_o = in_q.count && write_q;
  assign agent_o = agent_q;

  // What the lanes take. An outcome that ends an episode goes on in the start state.
  logic is_terminated;
  assign is_terminated = bus_data_i[OwnBits+Width];
  always_comb begin
    access = '{
        state: state_word_q,
        choice: choice_q,
        outcome: '{
            is_terminated,
            is_terminated ? start_q : StateBits'(bus_data_i[Width+:OwnBits]),
            bus_data_i[Width-1:0]
        },
        value: bus_data_i[Width-1:0],
        set: 1'b0,
        keep: strobe_q[4] && !field_q[4],
        set_world: 1'b0,
        set_value: 1'b0,
        holds: in_q.turn,
        agent: agent_q,
        turn: 1'b0,
        bits: new_bits_q
    };
    for (int unsigned n = 0; n < Lanes; n++) begin
      access_o[n] = access;
      access_o[n].set = set_q[n];
      access_o[n].set_world = strobe_q[2] && lanes_q[n] && region_q[World] && write_q;
      access_o[n].set_value = set_value_q[n];
      access_o[n].turn = turn_q[n];
    end
  end

  always_comb begin
    own_state  = '0;
    own_choice = '0;
    own_value  = '0;
    own_bits   = '0;
    for (int unsigned n = 0; n < Lanes; n++) begin
      if (lanes_q[n]) begin
        own_state |= place_i[n].state;
        own_choice |= choice_i[n];
        own_value |= value_i[n];
        own_bits |= bits_i[n];
      end
    end
  end

  // Done: the place has passed in stage 1, the value in stage 9, the second half of a generator's word as it turns.
  assign is_word  = field_q[0] || field_q[1];
  assign is_place = field_q[4];
  always_comb begin
    done = in_q.done || (in_q.count && count_done_i) ||
        (!aborted_q && (ends_q || (strobe_q[2] && is_place) || (passed_q && !is_place)));
    data = 32'(value_of_q) | 32'(state_of_q);
    data[17:16] |= choice_of_q.action;
    data[30:29] |= {begun_i && is_place, choice_of_q.explored};
    if (is_word) data |= {bits_q, low_q};
    if (field_q[2]) data |= {7'b0, ~not_epsilon_q};
    if (region_q[Counts]) data |= 32'(count_i);
  end

  logic unused_bits;
  assign unused_bits = ^{bus_index_i, field_q, place_i};

endmodule
