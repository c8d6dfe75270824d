// SPDX-License-Identifier: Apache-2.0
// Agents that act and learn on the chip, in a tabular world: the interleaved lane and its world.
//
// Function    After n steps of each agent, tables, contexts and counters match the golden model bit for bit:
//             ActingModel in qstep.golden.agents.
// Timing      One slot per clock; see qs_agents.
// Handshake   Bus and runs as in qs_agents; writes to the bus regions World and Starts load the world.
// Reset       as in qs_agents; the world keeps its contents.
// Hazards     none
// Invariants  none of its own
// Resources   docs/agents.md
// Reference   none

module qs_acting
  import qs_agents_pkg::*;
  import qs_map_pkg::*;
#(
    parameter int unsigned States        = 32,  // as in qs_agents and qs_world
    parameter int unsigned Actions       = 4,
    parameter int unsigned Width         = 16,
    parameter int unsigned CoeffFraction = 15,
    parameter int unsigned Agents        = 16,
    parameter int unsigned Algorithm     = 0,
    parameter int unsigned Rounding      = 0,
    // Generators pass one-bit parameters as 32-bit numbers.
    // verilator lint_off WIDTHTRUNC
    parameter bit          SharedTable   = 0,
    parameter bit          Schedules     = 1,
    parameter bit          StepLimit     = 1,
    // verilator lint_on WIDTHTRUNC
    parameter int unsigned Outcomes      = 1,
    parameter int unsigned Starts        = 1
) (
    input logic clk_i,
    input logic rst_i,

    input  logic        bus_valid_i,
    input  logic        bus_write_i,
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

  localparam int unsigned StateBits = $clog2(States);
  localparam int unsigned ActionBits = $clog2(Actions);

  logic [StateBits-1:0] state, next_state, start_state;
  logic [ActionBits-1:0] action;
  logic [DrawBits-1:0] outcome, start;
  logic signed [Width-1:0] reward;
  logic terminated, world_write, start_write, unused_valid;
  logic [AgentBits-1:0] unused_agent, unused_acting;
  logic unused_goes, unused_restarts;

  qs_agents #(
      .States       (States),
      .Actions      (Actions),
      .Width        (Width),
      .CoeffFraction(CoeffFraction),
      .Agents       (Agents),
      .Algorithm    (Algorithm),
      .Rounding     (Rounding),
      .SharedTable  (SharedTable),
      .Schedules    (Schedules),
      .StepLimit    (StepLimit)
  ) u_agents (
      .clk_i,
      .rst_i,
      .bus_valid_i,
      .bus_i              ({bus_write_i, bus_region_i, bus_index_i, bus_data_i}),
      .bus_done_o,
      .bus_data_o,
      .run_i,
      .run_steps_i,
      .stop_i,
      .busy_o,
      .world_valid_o      (unused_valid),
      .world_agent_o      (unused_agent),
      .world_state_o      (state),
      .world_action_o     (action),
      .world_outcome_o    (outcome),
      .world_start_o      (start),
      .world_ready_i      (1'b1),
      .world_reward_i     (reward),
      .world_next_state_i (next_state),
      .world_terminated_i (terminated),
      .world_start_state_i(start_state),
      .world_acting_o     (unused_acting),
      .world_goes_o       (unused_goes),
      .world_restarts_o   (unused_restarts)
  );

  // A write to the world takes effect in the clock that completes it on the bus.
  assign world_write = bus_done_o && bus_write_i && bus_region_i == RegionWorld;
  assign start_write = bus_done_o && bus_write_i && bus_region_i == RegionStarts;

  qs_world #(
      .States  (States),
      .Actions (Actions),
      .Width   (Width),
      .Outcomes(Outcomes),
      .Starts  (Starts)
  ) u_world (
      .clk_i,
      .world_write_i(world_write),
      .start_write_i(start_write),
      .index_i      (bus_index_i),
      .data_i       (bus_data_i),
      .state_i      (state),
      .action_i     (action),
      .outcome_i    (outcome),
      .start_i      (start),
      .reward_o     (reward),
      .next_state_o (next_state),
      .terminated_o (terminated),
      .start_state_o(start_state)
  );

endmodule
