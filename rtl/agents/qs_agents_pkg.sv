// SPDX-License-Identifier: Apache-2.0
// Definitions shared by the modules of the interleaved lane: algorithms, host accesses, and pipeline stages.
//
// A slot is in stage k if its number was in the slot counter k clocks ago. See docs/agents.md for a table of the
// stages.

package qs_agents_pkg;

  // As wide as the module parameters that select an algorithm.
  typedef enum int unsigned {
    QLearning       = 0,
    Sarsa           = 1,
    ExpectedSarsa   = 2,
    DoubleQLearning = 3
  } algorithm_e;

  localparam int unsigned AgentBits = $bits(qs_map_pkg::agent_t);
  localparam int unsigned DrawBits = 16;
  localparam int unsigned EpsilonBits = 25;  // 0..2^24: 24 fractional bits, and 1.0
  localparam int unsigned ThresholdBits = DrawBits + 1;
  localparam int unsigned EpisodeBits = 16;  // also epsilon's counter and period

  // A host access.
  typedef struct packed {
    logic               write;
    logic [2:0]         region;
    qs_map_pkg::index_t index;
    qs_map_pkg::word_t  data;
  } request_t;

  // The same access, decoded.
  typedef struct packed {
    qs_map_pkg::index_t   index;
    qs_map_pkg::word_t    data;
    logic                 write;
    logic [AgentBits-1:0] agent;
    logic [7:0]           set;            // writes this word of settings now
    logic [4:0]           field;          // accesses this word of a context
    logic [4:0]           load;           // the same, for a write
    logic                 entry;          // an entry of a table
    logic                 counter_read;
    logic                 counter_write;
  } access_t;

  // An agent's state between slots. more: steps are left. begun: the first start state has been drawn. fresh:
  // the cached Q[state, action] belongs to this run. pending: truncated in the previous slot. drawn: the last draw
  // has not been used.
  typedef struct packed {
    logic more;
    logic begun;
    logic fresh;
    logic pending;
    logic drawn;
  } flags_t;

  // The plan of a slot, derived from its flags. start: chooses the first start state. finish: chooses the action after
  // a truncation. refresh: caches a value. asks: takes a step, which sends a request to the world.
  typedef struct packed {
    logic start;
    logic finish;
    logic refresh;
    logic asks;
  } plan_t;

  // A slot's result. If the world is late, only `late` is set.
  typedef struct packed {
    logic step;
    logic terminated;
    logic truncated;
    logic finish;
    logic chooses;     // chooses the next action
    logic values;      // leaves a value for the next slot
    logic late;        // the world did not answer
  } result_t;

  // Stages that do not depend on parameters.
  localparam int unsigned SlotStage = 0;  // addresses the agent's flags
  localparam int unsigned BeginStage = 1;  // flags; addresses the generator's word
  localparam int unsigned AdvanceStage = 2;  // the word advances
  localparam int unsigned MixStage = 3;  // writes the word; the draw's rounds begin
  localparam int unsigned FetchStage = 4;  // addresses epsilon and the agent's place
  localparam int unsigned RequestStage = 5;  // the draw, epsilon and the place; world request
  localparam int unsigned PolicyStage = 6;  // whether the slot explores; rounding noise
  localparam int unsigned CountStage = 7;  // steps of the episode
  localparam int unsigned AnswerStage = 8;  // the world's answer
  localparam int unsigned RowStage = 9;  // the slot's result; addresses the row of x
  localparam int unsigned ActStage = 10;  // with a shared table: whether the slot acts
  localparam int unsigned TreeStage = 11;  // values of the row; writes flags and epsilon

  // Stages of qs_agent_update, counted from its first stage, Entry: delta, alpha, target, wait, again, sum, total.
  localparam int unsigned UpdateTarget = 3;  // samples the target
  localparam int unsigned UpdateAgain = 5;  // samples the entry again, with the bias
  localparam int unsigned UpdateStages = 8;
  localparam int unsigned PlanesStages = 2;  // two more with several planes: increment, clip

  // Number of stages that add the rows of planes.
  function automatic int unsigned sum_stages(int unsigned planes);
    return $clog2(planes);
  endfunction

  // Stage in which the next action is known.
  function automatic int unsigned select_stage(int unsigned actions, int unsigned algorithm,
                                               int unsigned planes = 1);
    return TreeStage + sum_stages(planes) + qs_pkg::tree_stages(actions) + 1 +
        32'(algorithm == DoubleQLearning);
  endfunction

  // Stage in which the target m is known. An expectation takes four more stages, and begins when epsilon is
  // known.
  function automatic int unsigned target_stage(int unsigned actions, int unsigned algorithm,
                                               int unsigned planes = 1);
    int unsigned more;
    more = actions > 2 ? 4 : 5;
    return select_stage(actions, algorithm, planes) + (algorithm == ExpectedSarsa ? more : 0);
  endfunction

  // Stage in which the update begins: its product is added to the entry while the target is multiplied.
  function automatic int unsigned entry_stage(int unsigned actions, int unsigned algorithm,
                                              int unsigned planes = 1);
    return target_stage(actions, algorithm, planes) - UpdateTarget;
  endfunction

  // Stage in which the entry of a shared table is addressed; the entries of all planes are added by entry_stage.
  function automatic int unsigned entry_read_stage(int unsigned actions, int unsigned algorithm,
                                                   int unsigned planes = 1);
    return entry_stage(actions, algorithm, planes) - sum_stages(planes) - 2;
  endfunction

  // Stage in which the new values are written.
  function automatic int unsigned write_stage(int unsigned actions, int unsigned algorithm,
                                              int unsigned planes = 1);
    return entry_stage(actions, algorithm, planes) + UpdateStages + (planes > 1 ? PlanesStages : 0);
  endfunction

  // Number of slots in a rotation: at least 16, and enough for a slot to write its entry, value and place before its
  // agent's next slot reads them. A row is read in RowStage, a value one clock before stage Read (qs_agents), and a
  // place one clock before the request. For all other words of an agent, 16 slots are enough with any parameters.
  function automatic int unsigned slots(int unsigned actions, int unsigned algorithm,
                                        int unsigned planes = 1);
    int unsigned written, value_read, selected, most;
    written = write_stage(actions, algorithm, planes) + 1;
    value_read = entry_stage(actions, algorithm, planes) - sum_stages(planes) - 1;
    selected = select_stage(actions, algorithm, planes) + 1;
    most = 16;
    if (written > most + RowStage) most = written - RowStage;
    if (written > most + value_read) most = written - value_read;
    if (selected > most + FetchStage) most = selected - FetchStage;
    return most;
  endfunction

endpackage
