// SPDX-License-Identifier: Apache-2.0
// Shared by the modules of lanes in lockstep: sizes, and the control that all lanes take in the same clock.
//
// A slot begins in every clock and is in stage k when its agent was slot_i k clocks ago: agent n has slot n of each
// rotation, in every lane. docs/lockstep.md has the table of stages. Twin in Python: qstep.acting.config.

package qs_lockstep_pkg;

  localparam int unsigned Agents = 9;  // of a lane, and clocks of a rotation
  localparam int unsigned Actions = 4;
  localparam int unsigned MostStates = 25;
  localparam int unsigned Width = 8;
  localparam int unsigned AgentBits = 4;
  localparam int unsigned StateBits = 5;
  localparam int unsigned ActionBits = 2;
  localparam int unsigned RowBits = 8;
  localparam int unsigned ReturnBits = 16;  // of a small sum
  localparam int unsigned CountBits = 8;  // of a small count

  // What an agent does next, and how that action was chosen.
  typedef struct packed {
    logic                  explored;
    logic [ActionBits-1:0] action;
  } choice_t;

  // Where an agent is, where it was, and what it did there.
  typedef struct packed {
    logic [StateBits-1:0] state;
    logic [StateBits-1:0] last_state;
    choice_t              last;
  } place_t;

  typedef struct packed {
    logic terminated;
    logic [StateBits-1:0] next_state;
    logic [Width-1:0] reward;
  } outcome_t;

  // The settings, which all agents share.
  typedef struct packed {
    logic [qs_pkg::CoeffBits-1:0] alpha;
    logic [qs_pkg::CoeffBits-1:0] kappa;
    logic [16:0]                  not_threshold;  // of epsilon, as its complement
  } settings_t;

  // Stage k of each array is of the slot in stage k.
  typedef struct packed {
    logic [4:0][AgentBits-1:0] agent;
    logic [11:0]               steps;  // the slot makes a step
    logic [10:0]               moves;  // a step, or the first start state
  } control_t;

  // An access of the host: its words, and strobes in the stage of the slot that it uses.
  typedef struct packed {
    logic [StateBits-1:0] state;
    choice_t choice;
    outcome_t outcome;
    logic [Width-1:0] value;
    logic set;  // stage 1: go on from `state` and `choice`
    logic keep;  // stage 4: but keep the place that is stored
    logic set_world;  // stage 2: write the outcome of `state` and `choice.action`
    logic set_value;  // stage 1: write `value` to the table, in `state` and `choice.action`
    logic holds;  // the generators stay with `agent`
    logic [AgentBits-1:0] agent;
    logic turn;  // the generator's word moves by 16 bits
    logic [15:0] bits;  // those that come in
  } access_t;

  // The row of a table that holds a state of an agent. A block RAM has 256 rows: each of the first eight agents
  // has 32 of them and uses 25; the ninth has the rows 25 to 28 of all eight.
  function automatic logic [RowBits-1:0] row_of(logic [AgentBits-1:0] agent,
                                                logic [StateBits-1:0] state);
    if (!agent[3]) return {agent[2:0], state};
    return {state[2:0], 2'b11, state[4:3] == 2'd3, ^state[4:3], !state[3]};
  endfunction

endpackage
