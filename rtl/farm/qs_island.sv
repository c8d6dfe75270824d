// SPDX-License-Identifier: Apache-2.0
// An island of a farm: a lane of agents with its world and its node of the chain. All islands are alike.
//
// Function    as qs_acting and qs_chain_node
// Timing      as in these; every output is a register, and every input goes to registers only.
// Handshake   as qs_chain_node
// Reset       from the chain
// Hazards     none
// Invariants  none of its own
// Resources   docs/farm.md
// Reference   none

module qs_island
  import qs_chain_pkg::*;
#(
    parameter int unsigned States        = 32,           // as qs_acting
    parameter int unsigned Actions       = 4,
    parameter int unsigned Width         = 16,
    parameter int unsigned CoeffFraction = 15,
    parameter int unsigned Agents        = 16,
    parameter int unsigned Algorithm     = 0,
    parameter int unsigned Rounding      = 0,
    parameter bit          Schedules     = 1,
    parameter bit          StepLimit     = 1,
    parameter int unsigned Outcomes      = 1,
    parameter int unsigned Starts        = 1,
    parameter int unsigned IndexMask     = 32'h3fffffff  // as qs_chain_node
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic rst_o,

    input  down_t down_i,
    output down_t down_o,
    input  up_t   up_i,
    output up_t   up_o
);

  logic rst, bus_valid, bus_write, bus_done, run, stop, busy;
  logic [ 2:0] region;
  logic [29:0] index;
  logic [31:0] word, read;
  logic [47:0] steps;

  qs_chain_node #(
      .IndexMask(IndexMask)
  ) u_node (
      .clk_i,
      .rst_i,
      .rst_o,
      .lane_rst_o  (rst),
      .down_i,
      .down_o,
      .up_i,
      .up_o,
      .bus_valid_o (bus_valid),
      .bus_write_o (bus_write),
      .bus_region_o(region),
      .bus_index_o (index),
      .bus_data_o  (word),
      .bus_done_i  (bus_done),
      .bus_data_i  (read),
      .run_o       (run),
      .run_steps_o (steps),
      .stop_o      (stop),
      .busy_i      (busy)
  );

  qs_acting #(
      .States       (States),
      .Actions      (Actions),
      .Width        (Width),
      .CoeffFraction(CoeffFraction),
      .Agents       (Agents),
      .Algorithm    (Algorithm),
      .Rounding     (Rounding),
      .Schedules    (Schedules),
      .StepLimit    (StepLimit),
      .Outcomes     (Outcomes),
      .Starts       (Starts)
  ) u_acting (
      .clk_i,
      .rst_i       (rst),
      .bus_valid_i (bus_valid),
      .bus_write_i (bus_write),
      .bus_region_i(region),
      .bus_index_i (index),
      .bus_data_i  (word),
      .bus_done_o  (bus_done),
      .bus_data_o  (read),
      .run_i       (run),
      .run_steps_i (steps),
      .stop_i      (stop),
      .busy_o      (busy)
  );

endmodule
