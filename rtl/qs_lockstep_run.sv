// SPDX-License-Identifier: Apache-2.0
// The slots of lanes in lockstep, and runs: which rotations make steps.
//
// Function    All slots of a rotation do the same: nothing (the value beside the place is read again), the first
//             start state, or a step. The first step of a run is in the first rotation of a sweep of the
//             counters, so recent_o, the number of rotations with steps among the last SweepRotations, is the
//             number of steps of an agent since it was swept last.
// Timing      A run of n steps takes n rotations, and at most three sweeps more.
// Handshake   run_i for one clock while busy_o is 0. stop_i for one clock at any time: the rotation under way, or one
//             already settled behind it, is the last. busy_o falls when all counters are complete.
// Reset       as stop_i; busy_o is 1 until the counters are complete.
// Hazards     none
// Invariants  RunWaits_A
// Resources   About 180 logic cells of an iCE40.
// Reference   none

`include "qs_assert.svh"

module qs_lockstep_run
  import qs_lockstep_pkg::*;
(
    input logic clk_i,
    input logic rst_i,

    input  logic        run_i,
    input  logic [47:0] run_steps_i,  // also in the next clock
    input  logic        stop_i,
    output logic        busy_o,

    input  logic begins_i,  // in a rotation's last clock: the next one begins a sweep
    input  logic ends_i,    // the next one is a sweep's last
    input  logic set_i,
    input  logic begun_i,   // set_i: the first start state is drawn, or not
    output logic begun_o,

    output logic                     turn_o,     // a rotation's last clock
    output logic                     draws_o,    // stage 0: a first start state
    output control_t                 control_o,
    output logic     [CountBits-1:0] recent_o
);

  localparam int unsigned Parts = 6, PartBits = 8;
  typedef enum logic [1:0] {
    StIdle,
    StWait,
    StRun,
    StDrain
  } state_e;

  state_e state_q;
  logic [Parts-1:0][PartBits-1:0] left_q;  // steps; a borrow takes a clock a part
  logic [Parts-1:0][PartBits-1:0] addend;
  logic [Parts-1:0] borrow_q, zero_q;
  logic step, start, will_step_q, will_start_q, step_q, start_q, swept_q, leaves_q, halts_q;
  logic begins_q, more_q, empty_q, run_q, clears_q, stop_q;
  logic [AgentBits-1:0] slot_q;

  // A run's steps are added to 0, so that a part is one carry chain with its registers.
  assign addend = run_q ? run_steps_i : '1;

  // All that the next rotation depends on is constant in a rotation's last clocks, but for a stop.
  assign start  = will_start_q && state_q == StWait;
  assign step   = will_step_q && (state_q == StWait || state_q == StRun);

  always_ff @(posedge clk_i) begin
    slot_q <= turn_o ? '0 : slot_q + 1'b1;
    turn_o <= slot_q >= AgentBits'(Agents - 2) && !turn_o;

    will_start_q <= state_q == StWait && ends_i && !begun_o;
    will_step_q <= (state_q == StWait && begins_i && begun_o) ||
        (state_q == StRun && more_q && !halts_q);
    begins_q <= begins_i;
    leaves_q <= (swept_q || (begins_i && state_q != StWait)) && !empty_q;

    borrow_q <= '0;
    if (turn_o) begin
      step_q  <= step;
      start_q <= start;
      if (start) begun_o <= 1'b1;
      borrow_q[0] <= step;
      if (step != leaves_q) recent_o <= step ? recent_o + 1'b1 : recent_o - 1'b1;
      if (begins_q) swept_q <= state_q == StRun || state_q == StDrain;
      unique case (state_q)
        StWait:  if (step) state_q <= StRun;
        StRun:   if (!step) state_q <= StDrain;
        StDrain: if (begins_q && empty_q) state_q <= StIdle;
        default: ;
      endcase
    end
    empty_q <= recent_o == '0;
    if (set_i) begun_o <= begun_i;

    for (int unsigned part = 0; part < Parts; part++) begin
      if (borrow_q[part] || run_q) left_q[part] <= left_q[part] + addend[part];
      if (clears_q) left_q[part] <= '0;
      zero_q[part] <= left_q[part] == '0;
      if (part > 0) borrow_q[part] <= borrow_q[part-1] && zero_q[part-1];
    end
    more_q <= !(&zero_q);

    run_q <= run_i;
    clears_q <= state_q == StIdle && !run_i && !run_q;
    stop_q <= stop_i || rst_i;
    busy_o <= run_i || run_q || state_q != StIdle;
    if (run_q) begin
      state_q <= StWait;
      halts_q <= 1'b0;
    end
    if (stop_q) begin
      halts_q <= 1'b1;
      if (state_q != StRun) state_q <= StDrain;
    end
  end

  // --- Control of all stages -----------------------------------------------------------------------
  logic [11:1] steps_q;
  logic [10:1] moves_q;
  logic [4:1][AgentBits-1:0] agent_q;

  always_ff @(posedge clk_i) begin
    steps_q <= control_o.steps[10:0];
    moves_q <= control_o.moves[9:0];
    agent_q <= control_o.agent[3:0];
  end
  assign draws_o = start_q;
  assign control_o.steps = {steps_q, step_q};
  assign control_o.moves = {moves_q, step_q || start_q};
  assign control_o.agent = {agent_q, slot_q};

  `QS_ASSERT(RunWaits_A, !run_i || !busy_o)

endmodule
