// SPDX-License-Identifier: Apache-2.0
// Shared by the modules of the interleaved lane: algorithms, an access of the host, and the pipeline's stages.
//
// A slot is in stage k when its number was in the slot counter k clocks ago. docs/agents.md has the table of stages.

package qs_agents_pkg;

  // As wide as the parameters that name one.
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

  // An access of the host.
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
    logic [7:0]           set;            // write this word of settings now
    logic [4:0]           field;          // this word of a context
    logic [4:0]           load;           // the same, where it is written
    logic                 entry;          // an entry of a table
    logic                 counter_read;
    logic                 counter_write;
  } access_t;

  // What an agent does next. more: steps are left. begun: the first start state is drawn. fresh: the cached
  // Q[state, action] belongs to this run. pending: truncated in the previous slot. drawn: the last draw is unused.
  typedef struct packed {
    logic more;
    logic begun;
    logic fresh;
    logic pending;
    logic drawn;
  } flags_t;

  // The plan of a slot, from its flags: the first start state, the action after a truncation, the value to
  // cache, or a step, for which it asks the world.
  typedef struct packed {
    logic start;
    logic finish;
    logic refresh;
    logic asks;
  } plan_t;

  // What a slot turned out to be: nothing if the world is late.
  typedef struct packed {
    logic step;
    logic terminated;
    logic truncated;
    logic finish;
    logic chooses;     // an action to continue with
    logic values;      // leaves a value to continue with
    logic late;        // the world did not answer
  } result_t;

  // The stages that do not depend on parameters.
  localparam int unsigned SlotStage = 0;  // addresses the agent's flags
  localparam int unsigned BeginStage = 1;  // flags; addresses the generator's word
  localparam int unsigned AdvanceStage = 2;  // the word, which advances
  localparam int unsigned MixStage = 3;  // writes the word; the draw's rounds begin
  localparam int unsigned FetchStage = 4;  // addresses epsilon and the agent's place
  localparam int unsigned RequestStage = 5;  // the draw, epsilon and the place; the world is asked
  localparam int unsigned PolicyStage = 6;  // whether the slot explores; the rounding's noise
  localparam int unsigned CountStage = 7;  // steps of the episode
  localparam int unsigned AnswerStage = 8;  // the world's answer
  localparam int unsigned RowStage = 9;  // what the slot turned out to be; addresses the row of x
  localparam int unsigned ActStage = 10;  // whether it acts, with a shared table
  localparam int unsigned TreeStage = 11;  // values of the row; writes flags and epsilon

  // The stages of qs_agent_update, counted from its first one, Entry: delta, alpha, target, wait, again, sum, total.
  localparam int unsigned UpdateTarget = 3;  // takes the target
  localparam int unsigned UpdateAgain = 5;  // takes the entry again, with the bias
  localparam int unsigned UpdateStages = 8;
  localparam int unsigned PlanesStages = 2;  // with several planes two more: increment, clip

  // Stages in which the rows of planes are added.
  function automatic int unsigned sum_stages(int unsigned planes);
    return $clog2(planes);
  endfunction

  // Stage in which the next action is known.
  function automatic int unsigned select_stage(int unsigned actions, int unsigned algorithm,
                                               int unsigned planes = 1);
    return TreeStage + sum_stages(planes) + qs_pkg::tree_stages(actions) + 1 +
        32'(algorithm == DoubleQLearning);
  endfunction

  // Stage in which the target's m is known. An expectation takes four more stages, and begins when epsilon
  // is known.
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

  // Stage in which the entry of a shared table is addressed; the entries of all planes are added until entry_stage.
  function automatic int unsigned entry_read_stage(int unsigned actions, int unsigned algorithm,
                                                   int unsigned planes = 1);
    return entry_stage(actions, algorithm, planes) - sum_stages(planes) - 2;
  endfunction

  // Stage in which the new values are written.
  function automatic int unsigned write_stage(int unsigned actions, int unsigned algorithm,
                                              int unsigned planes = 1);
    return entry_stage(actions, algorithm, planes) + UpdateStages + (planes > 1 ? PlanesStages : 0);
  endfunction

  // Slots of a rotation: 16, or more if that is needed for a slot to write its entry before its agent's next
  // read of a row, its value before the next read of that, in the clock before the entry is read, and its place
  // before the next read of that, in the clock before the request. All other words of an agent are written
  // and read again within 16 clocks, whatever the parameters.
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
