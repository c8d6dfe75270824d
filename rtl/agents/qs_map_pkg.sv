// SPDX-License-Identifier: Apache-2.0
// The host's memory map of the interleaved lane: regions, the fields of their indexes, and words.
//
// Written by python -m tools.generated from qstep.spec.memory_map; its tables are in docs/agents.md.

package qs_map_pkg;

  typedef logic [3:0] agent_t;

  typedef enum logic [2:0] {
    RegionSettings = 3'd0,
    RegionContext  = 3'd1,
    RegionCounters = 3'd2,
    RegionTable    = 3'd3,
    RegionWorld    = 3'd4,
    RegionStarts   = 3'd5
  } region_e;

  typedef enum logic [2:0] {
    SettingRates          = 3'd0,
    SettingScheduleEnd    = 3'd1,
    SettingScheduleStep   = 3'd2,
    SettingSchedulePeriod = 3'd3,
    SettingLimit          = 3'd7
  } setting_e;

  typedef enum logic [2:0] {
    ContextGeneratorLow  = 3'd0,
    ContextGeneratorHigh = 3'd1,
    ContextEpsilon       = 3'd2,
    ContextCounts        = 3'd3,
    ContextPlace         = 3'd4
  } context_e;

  typedef enum logic [3:0] {
    CounterSteps        = 4'd0,
    CounterTerminations = 4'd3,
    CounterTruncations  = 4'd6,
    CounterReturnSum    = 4'd9,
    CounterSaturations  = 4'd13
  } counter_e;

  typedef struct packed {
    logic [22:0] unused;
    logic [3:0]  agent;
    logic [2:0]  word;
  } settings_index_t;

  typedef struct packed {
    logic [18:0] unused;
    logic [3:0]  plane;
    logic [3:0]  agent;
    logic [2:0]  word;
  } context_index_t;

  typedef struct packed {
    logic [20:0] unused;
    logic        holds;
    logic [3:0]  agent;
    logic [3:0]  word;
  } counters_index_t;

  typedef struct packed {
    logic [3:0]  table_number;
    logic [3:0]  agent;
    logic [15:0] state;
    logic [5:0]  action;
  } table_index_t;

  typedef struct packed {
    logic [15:0] state;
    logic [5:0]  action;
    logic [5:0]  slot;
    logic [1:0]  column;
  } world_index_t;

  typedef struct packed {
    logic [12:0] unused;
    logic [15:0] start;
    logic        column;
  } starts_index_t;

  typedef union packed {
    settings_index_t in_settings;
    context_index_t  in_context;
    counters_index_t in_counters;
    table_index_t    in_table;
    world_index_t    in_world;
    starts_index_t   in_starts;
  } index_t;

  typedef struct packed {
    logic [15:0] kappa;
    logic [15:0] alpha;
  } rates_word_t;

  typedef struct packed {
    logic [5:0]  unused;
    logic        by_episodes;
    logic [24:0] epsilon;
  } schedule_end_word_t;

  typedef struct packed {
    logic [2:0]  unused;
    logic [3:0]  shift;
    logic [24:0] decrement;
  } schedule_step_word_t;

  typedef struct packed {
    logic [15:0] unused;
    logic [15:0] last_count;
  } schedule_period_word_t;

  typedef struct packed {
    logic [14:0] unused;
    logic        limits;
    logic [15:0] last_steps;
  } limit_word_t;

  typedef struct packed {logic [31:0] bits;} generator_low_word_t;

  typedef struct packed {logic [31:0] bits;} generator_high_word_t;

  typedef struct packed {
    logic [6:0]  unused;
    logic [24:0] epsilon;
  } epsilon_word_t;

  typedef struct packed {
    logic [15:0] count;
    logic [15:0] steps;
  } counts_word_t;

  typedef struct packed {
    logic        drawn;
    logic        begun;
    logic        explored;
    logic [6:0]  spare;
    logic [5:0]  action;
    logic [15:0] state;
  } place_word_t;

  typedef union packed {
    rates_word_t           rates;
    schedule_end_word_t    schedule_end;
    schedule_step_word_t   schedule_step;
    schedule_period_word_t schedule_period;
    limit_word_t           limit;
    generator_low_word_t   generator_low;
    generator_high_word_t  generator_high;
    epsilon_word_t         epsilon;
    counts_word_t          counts;
    place_word_t           place;
  } word_t;

endpackage
