// SPDX-License-Identifier: Apache-2.0
// A farm for the smallest chips: lanes of nine agents that all make their steps together.
//
// Function    Lanes (qs_lockstep_lane) with one control: slots and runs (qs_lockstep_run), counters
//             (qs_lockstep_tally), accesses of the host (qs_lockstep_bus). After n steps of each agent, tables,
//             contexts and counters equal those of the golden model bit for bit: ActingModel in
//             qstep.acting.model.
// Timing      A step of an agent of each lane in every clock.
// Handshake   as qs_agents; bus_all_i writes in all lanes, else in bus_lane_i.
// Reset       Ends the run; memories keep their contents (undefined after power-up: write them first).
// Hazards     none
// Invariants  none of its own
// Resources   docs/lockstep.md
// Reference   Watkins and Dayan, "Q-learning", Machine Learning 8 (1992).

module qs_lockstep
  import qs_lockstep_pkg::*;
#(
    parameter int unsigned Lanes    = 3,   // 1..4
    parameter int unsigned States   = 25,  // 2..25
    parameter int unsigned Rounding = 0    // qs_pkg::rounding_e, not stochastic
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

    input  logic        run_i,
    input  logic [47:0] run_steps_i,
    input  logic        stop_i,
    output logic        busy_o
);

  if (States < 2 || States > MostStates) begin : gen_bad_states
    $fatal(1, "qs_lockstep: States is %0d, legal is 2..%0d", States, MostStates);
  end
  if (Rounding > 1) begin : gen_bad_rounding
    $fatal(1, "qs_lockstep: Rounding is %0d, legal is 0..1", Rounding);
  end

  control_t control;
  settings_t settings;
  access_t [Lanes-1:0] access;
  place_t [Lanes-1:0] place;
  choice_t [Lanes-1:0] choice;
  logic [Lanes-1:0][Width-1:0] value;
  logic [Lanes-1:0][15:0] bits;
  logic [Lanes-1:0][ReturnBits-1:0] returns;
  logic [Lanes-1:0][1:0][CountBits-1:0] counts;
  logic [Lanes-1:0] fresh_return, fresh_counts;
  logic turn, s0_draws, sweep_begins, sweep_ends, begun, set_begun, new_begun;
  logic count_read, count_write, count_done;
  logic [CountBits-1:0] recent;
  logic [AgentBits-1:0] want_agent;
  logic [15:0] count;

  qs_lockstep_run u_run (
      .clk_i,
      .rst_i,
      .run_i,
      .run_steps_i,
      .stop_i,
      .busy_o,
      .begins_i (sweep_begins),
      .ends_i   (sweep_ends),
      .set_i    (set_begun),
      .begun_i  (new_begun),
      .begun_o  (begun),
      .turn_o   (turn),
      .draws_o  (s0_draws),
      .control_o(control),
      .recent_o (recent)
  );

  qs_lockstep_bus #(
      .Lanes (Lanes),
      .States(States)
  ) u_bus (
      .clk_i,
      .rst_i,
      .bus_valid_i,
      .bus_write_i,
      .bus_all_i,
      .bus_lane_i,
      .bus_region_i,
      .bus_index_i,
      .bus_data_i,
      .bus_done_o,
      .bus_data_o,
      .s0_agent_i   (control.agent[0]),
      .s0_draws_i   (s0_draws),
      .begun_i      (begun),
      .set_begun_o  (set_begun),
      .begun_o      (new_begun),
      .settings_o   (settings),
      .access_o     (access),
      .place_i      (place),
      .choice_i     (choice),
      .value_i      (value),
      .bits_i       (bits),
      .count_read_o (count_read),
      .count_write_o(count_write),
      .agent_o      (want_agent),
      .count_done_i (count_done),
      .count_i      (count)
  );

  for (genvar n = 0; n < Lanes; n++) begin : gen_lane
    qs_lockstep_lane #(
        .Rounding(Rounding)
    ) u_lane (
        .clk_i,
        .control_i     (control),
        .settings_i    (settings),
        .access_i      (access[n]),
        .place_o       (place[n]),
        .choice_o      (choice[n]),
        .value_o       (value[n]),
        .bits_o        (bits[n]),
        .fresh_return_i(fresh_return[n]),
        .fresh_counts_i(fresh_counts[n]),
        .return_o      (returns[n]),
        .counts_o      (counts[n])
    );
  end

  qs_lockstep_tally #(
      .Lanes(Lanes)
  ) u_tally (
      .clk_i,
      .turn_i        (turn),
      .slot_i        (control.agent[0]),
      .recent_i      (recent),
      .begins_o      (sweep_begins),
      .ends_o        (sweep_ends),
      .return_i      (returns),
      .counts_i      (counts),
      .fresh_return_o(fresh_return),
      .fresh_counts_o(fresh_counts),
      .read_i        (count_read),
      .write_i       (count_write),
      .want_lane_i   (bus_lane_i),
      .want_agent_i  (want_agent),
      .want_word_i   (bus_index_i[3:0]),
      .data_i        (bus_data_i[15:0]),
      .done_o        (count_done),
      .data_o        (count)
  );

endmodule
