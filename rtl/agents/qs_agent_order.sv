// SPDX-License-Identifier: Apache-2.0
// The order of agents that share a table: whose turn it is, which pending writes delay it, and how many turns are left.
//
// Function    A slot acts only on its agent's turn, and only if no older slot has a pending write to an entry that it
//             reads: one in the row of x, or Q[state, action]. Otherwise it is held: it does nothing, and its agent
//             retries one rotation later with the same draws, as if the world were late. The turn advances only when a
//             step is complete. It does not advance while its agent is held, is waiting for the world, or still needs
//             the second slot of a truncated step. Every read therefore returns the same value as if the agents acted
//             one at a time. run_i gives each agent run_steps_i turns. stop_i leaves at most two turns: the current one
//             and the next, for which some agents have already drawn. If the world is late, both turns end at once, and
//             the next run continues with the waiting agent. Golden model: the order of ActingModel.run.
// Timing      x in RowStage, the slot's result in ActStage; acts_o is combinational. One slot per clock.
// Handshake   run_i and stop_i are one-clock pulses. After restarts_i, agent 0 is next.
// Reset       No turns are left; agent 0 is next.
// Hazards     A row is read in RowStage and Q[state, action] in entry_read_stage; both are written in write_stage.
// Invariants  NoStepWithoutTurn_A, TurnIsOfAnAgent_A, SecondSlotIsNotHeld_A
// Resources   Two row comparators per plane and one action comparator, for each stage from 10 to write_stage
// Reference   none

`include "qs_assert.svh"

module qs_agent_order
  import qs_agents_pkg::*;
#(
    parameter  int unsigned States     = 32,                                       // 2..65536
    parameter  int unsigned Actions    = 4,                                        // 2..64
    parameter  int unsigned Agents     = 16,                                       // 2..16
    parameter  int unsigned Algorithm  = 0,                                        // algorithm_e
    parameter  int unsigned Planes     = 1,                                        // 1..16
    localparam int unsigned Write      = write_stage(Actions, Algorithm, Planes),
    localparam int unsigned RowBits    = $clog2(States),
    localparam int unsigned StateBits  = Planes * RowBits,
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,

    input logic        run_i,
    input logic [47:0] run_steps_i,
    input logic        stop_i,
    input logic        restarts_i,

    input logic    [ StateBits-1:0] row_x_i,
    input logic    [ StateBits-1:0] row_state_i,
    input logic    [ActionBits-1:0] row_action_i,
    input logic    [ AgentBits-1:0] act_agent_i,
    input logic                     act_live_i,
    input result_t                  act_result_i,
    input logic    [ AgentBits-1:0] tree_agent_i,

    output logic        acts_o,
    output logic        tree_more_o,
    output logic        left_o,       // turns are left
    output logic [31:0] holds_o       // slots held in their turn by a pending write
);

  // A read of Q[state, action] misses the writes of older slots up to this stage.
  localparam int unsigned EntryReach = Write - entry_read_stage(
      Actions, Algorithm, Planes
  ) + RowStage;

  // --- Pending writes: state-action pairs and, from TreeStage on, whether they are written --------------
  logic [Write:RowStage][ StateBits-1:0] state;
  logic [Write:RowStage][ActionBits-1:0] action;
  logic [Write:ActStage][ StateBits-1:0] state_q;
  logic [Write:ActStage][ActionBits-1:0] action_q;
  logic [Write+1:TreeStage] hits_q, writes_q;
  logic over;

  assign state  = {state_q, row_state_i};
  assign action = {action_q, row_action_i};

  always_ff @(posedge clk_i) begin
    state_q  <= state[Write-1:RowStage];
    action_q <= action[Write-1:RowStage];
    for (int unsigned k = ActStage; k <= Write; k++) begin
      hits_q[k+1] <= 1'b0;
      for (int unsigned t = 0; t < Planes; t++) begin
        if (state[k][t*RowBits+:RowBits] == row_x_i[t*RowBits+:RowBits] ||
            (k <= EntryReach && action[k] == row_action_i &&
             state[k][t*RowBits+:RowBits] == row_state_i[t*RowBits+:RowBits])) begin
          hits_q[k+1] <= 1'b1;
        end
      end
    end
    writes_q <= {writes_q[Write:TreeStage], over};
    if (rst_i) writes_q <= '0;
  end

  // --- ActStage: whether the slot acts ----------------------------------------------------------------
  logic [AgentBits-1:0] next_q;
  logic mine, waits, last;

  assign mine   = left_o && act_live_i && act_agent_i == next_q;
  assign waits  = |(hits_q & writes_q);
  assign acts_o = mine && !waits;
  assign over   = acts_o && ((act_result_i.step && !act_result_i.truncated) || act_result_i.finish);
  assign last   = over && 32'(next_q) == Agents - 1;

  always_ff @(posedge clk_i) begin
    if (over) next_q <= last ? '0 : next_q + 1'b1;
    if (mine && waits && (act_result_i.step || act_result_i.chooses)) holds_o <= holds_o + 1'b1;
    if (restarts_i || rst_i) next_q <= '0;
    if (rst_i) holds_o <= '0;
  end

  // --- Turns: the flags below settle in time, as decrements are at least Slots clocks apart ------------
  logic [47:0] turns_q;
  logic two_q, three_q, stopping_q;  // two_q: at least two turns are left; three_q: at least three

  always_ff @(posedge clk_i) begin
    left_o <= turns_q != '0;
    two_q <= turns_q > 48'd1;
    three_q <= turns_q > 48'd2;
    stopping_q <= (stopping_q || stop_i) && !run_i;
    if (run_i) begin
      turns_q <= run_steps_i;
    end else if (stopping_q && mine && act_result_i.late) begin
      turns_q <= '0;
      {left_o, two_q, three_q} <= '0;
    end else if (last) begin
      turns_q <= turns_q - 1'b1;
      {left_o, two_q} <= {two_q, three_q};
    end else if (stopping_q && three_q) begin
      turns_q <= 48'd2;
      three_q <= 1'b0;
    end
    if (rst_i) begin
      turns_q    <= '0;
      stopping_q <= 1'b0;
      {left_o, two_q, three_q} <= '0;
    end
  end

  assign tree_more_o = two_q || (left_o && tree_agent_i >= next_q);

  logic unused_bits;
  assign unused_bits = ^act_result_i;

  `QS_ASSERT(NoStepWithoutTurn_A, !last || turns_q != 0)
  `QS_ASSERT(TurnIsOfAnAgent_A, 32'(next_q) < Agents)
  `QS_ASSERT(SecondSlotIsNotHeld_A, !act_result_i.finish || acts_o || !left_o)

endmodule
