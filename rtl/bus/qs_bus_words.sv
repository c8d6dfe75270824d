// SPDX-License-Identifier: Apache-2.0
// Bus requests to agents: memory words and jobs.
//
// Function    A word is accessed unless its region does not exist or a job is running; counters may be read during a
//             job. A job begins unless one is running or the request has no steps. Refused requests are reported.
// Timing      An access to a word takes two clocks more than in qs_agents. A job begins in the clock of its request.
// Handshake   access_i is a one-clock pulse, answered by a one-clock ack_o; one access at a time. run_i is a
//             one-clock pulse. As in qs_agents, bus_valid_o stays 1 until bus_done_i is 1.
// Reset       No request is pending.
// Hazards     none
// Invariants  OneAccess_A
// Resources   negligible
// Reference   docs/agents.md

`include "qs_assert.svh"

module qs_bus_words
  import qs_map_pkg::*;
(
    input logic clk_i,
    input logic rst_i,

    // Requests
    input  logic        access_i,
    input  logic        write_i,
    input  logic [ 2:0] region_i,
    input  logic [31:0] data_i,
    output logic        ack_o,
    output logic        is_write_o,
    output logic [31:0] data_o,
    output logic        bad_word_o,  // events, one clock each
    input  logic        run_i,
    input  logic [47:0] steps_i,
    output logic        bad_run_o,

    // The agents
    output logic        bus_valid_o,
    output logic [31:0] bus_data_o,
    input  logic        bus_done_i,
    input  logic [31:0] bus_data_i,
    output logic        run_o,
    input  logic        busy_i
);

  logic access_q, first_q, write_q, legal;
  logic [31:0] data_q;

  // Decided one clock after the request, when it is known whether a job began in the request's clock.
  assign legal = region_i <= RegionStarts && (!busy_i || (!write_q && region_i == RegionCounters));

  always_ff @(posedge clk_i) begin
    first_q <= access_i;
    if (access_i) begin
      access_q <= 1'b1;
      write_q  <= write_i;
      data_q   <= data_i;
    end else if (ack_o) begin
      access_q <= 1'b0;
    end
    if (rst_i) {access_q, first_q} <= '0;
  end

  assign bad_word_o = access_q && first_q && !legal;
  assign bus_valid_o = access_q && !bad_word_o;
  assign bus_data_o = data_q;
  assign is_write_o = write_q;
  assign ack_o = bad_word_o || (bus_valid_o && bus_done_i);
  assign data_o = bad_word_o ? '0 : bus_data_i;

  assign run_o = run_i && !busy_i && steps_i != '0;
  assign bad_run_o = run_i && !run_o;

  `QS_ASSERT(OneAccess_A, !access_i || !access_q)

endmodule
