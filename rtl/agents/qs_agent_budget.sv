// SPDX-License-Identifier: Apache-2.0
// The remaining steps of each agent in a run of the interleaved lane.
//
// Function    run_i gives every agent run_steps_i steps and replaces earlier budgets; 0 stops all agents. Each agent
//             has a credit of up to 63 steps. When all credits are below 32, each is raised by 32 from the remaining
//             steps. No agent is therefore more than 63 steps ahead of another, and the slowest agent never waits. The
//             remaining steps are decremented bit-serially in 43 clocks, during which an agent takes at most three
//             steps.
// Timing      One slot per clock: row_stepped_i marks a step of the agent in RowStage. tree_more_o is 1 if the agent in
//             TreeStage has steps left. A run begins at the next rotation: begins_o is 1 for one rotation, in which
//             each agent is in RowStage once.
// Handshake   run_i is a one-clock pulse.
// Reset       From the first rotation on, no agent has steps left.
// Hazards     none: a word is written before its agent's next read.
// Invariants  NoStepWithoutBudget_A
// Resources   6 bits per agent, a 43-bit shift register.
// Reference   none

`include "qs_assert.svh"

module qs_agent_budget
  import qs_agents_pkg::*;
#(
    parameter int unsigned Agents = 16  // 1..16
) (
    input logic clk_i,
    input logic rst_i,

    input logic        run_i,
    input logic [47:0] run_steps_i,

    input logic                 turn_i,          // last clock of a rotation
    input logic [AgentBits-1:0] answer_agent_i,
    input logic [AgentBits-1:0] act_agent_i,
    input logic                 act_live_i,

    input  logic row_stepped_i,
    output logic begins_o,
    output logic tree_more_o,
    output logic left_o          // undistributed steps may remain
);

  localparam int unsigned BlockBits = 5;
  localparam int unsigned RemainingBits = 48 - BlockBits;

  localparam int unsigned PlaceBits = $clog2(RemainingBits);

  logic asked_q, grants, grants_q, low_q, tree_low_q;
  logic [BlockBits-1:0] first_q;
  logic [RemainingBits-1:0] remaining_q;
  logic [BlockBits:0] row_budget, act_budget_q;

  // One pass over the remaining steps, lowest bit first. It subtracts 1 if borrow_q is 1, and detects whether any bit
  // is 1.
  logic passes_q, borrow_q, some_q, digit;
  logic [PlaceBits-1:0] place_q;
  assign digit  = remaining_q[0] ^ borrow_q;

  // Credits are not raised in a rotation that is already changing them.
  assign grants = !asked_q && !begins_o && !grants_q && low_q && tree_low_q && left_o && !passes_q;

  always_ff @(posedge clk_i) begin
    if (run_i) begin
      first_q <= run_steps_i[BlockBits-1:0];
      remaining_q <= run_steps_i[47:BlockBits];
    end else if (passes_q) begin
      remaining_q <= {digit, remaining_q[RemainingBits-1:1]};
    end
    borrow_q <= passes_q ? borrow_q && !remaining_q[0] : turn_i && grants;
    place_q  <= passes_q ? place_q + 1'b1 : '0;
    some_q   <= passes_q && (some_q || digit);
    if (passes_q && place_q == PlaceBits'(RemainingBits - 1)) begin
      passes_q <= 1'b0;
      left_o   <= some_q || digit;
    end else if (turn_i && grants) begin
      passes_q <= 1'b1;
    end
    if (run_i) begin
      passes_q <= 1'b1;
      borrow_q <= 1'b0;
      place_q  <= '0;
      some_q   <= 1'b0;
      left_o   <= 1'b1;
    end

    low_q <= turn_i || (low_q && tree_low_q);
    if (turn_i) begin
      begins_o <= asked_q;
      grants_q <= grants;
    end
    asked_q <= run_i || (asked_q && !turn_i);
    if (rst_i) begin
      first_q  <= '0;
      passes_q <= 1'b0;
      left_o   <= 1'b0;
      asked_q  <= 1'b1;
      begins_o <= 1'b0;
      grants_q <= 1'b0;
    end
  end

  qs_agent_ram #(
      .Agents(Agents),
      .Width (BlockBits + 1)
  ) u_budget (
      .clk_i,
      .write_i      (act_live_i),
      .write_agent_i(act_agent_i),
      .write_data_i (act_budget_q),
      .read_agent_i (answer_agent_i),
      .clear_i      (1'b0),
      .data_o       (row_budget)
  );

  always_ff @(posedge clk_i) begin
    if (begins_o) begin
      act_budget_q <= {1'b0, first_q};
    end else begin
      act_budget_q <= row_budget - (BlockBits + 1)'(row_stepped_i);
      if (grants_q) act_budget_q[BlockBits] <= 1'b1;
    end
    tree_more_o <= act_budget_q != '0;
    tree_low_q  <= !act_live_i || !act_budget_q[BlockBits];
  end

  `QS_ASSERT(NoStepWithoutBudget_A, !row_stepped_i || row_budget != '0 || begins_o)

endmodule
