// SPDX-License-Identifier: Apache-2.0
// A small queue in distributed RAM.
//
// Function    Words are output in order of arrival.
// Timing      A word can be read one clock after it is written. One write and one read per clock.
// Handshake   put_i may be 1 only while room_o is 1, take_i only while valid_o is 1. valid_o stays 1 until take_i.
// Reset       Empties the queue.
// Hazards     none
// Invariants  PutHasRoom_A, TakeIsThere_A
// Resources   Depth words of RAM, two counters.
// Reference   none

`include "qs_assert.svh"

module qs_bus_fifo #(
    parameter int unsigned Width = 8,
    parameter int unsigned Depth = 16  // a power of two, at least 2
) (
    input logic clk_i,
    input logic rst_i,

    input  logic             put_i,
    input  logic [Width-1:0] data_i,
    output logic             room_o,

    output logic             valid_o,
    output logic [Width-1:0] data_o,
    input  logic             take_i
);

  localparam int unsigned IndexBits = $clog2(Depth);

  if (Depth < 2 || Depth != 1 << IndexBits) begin : gen_bad_depth
    $fatal(1, "qs_bus_fifo: Depth is %0d, legal is a power of two from 2 on", Depth);
  end

  logic [Width-1:0] words[Depth];
  logic [IndexBits:0] put_q, take_q;

  assign valid_o = put_q != take_q;
  assign room_o  = put_q != {!take_q[IndexBits], take_q[IndexBits-1:0]};
  assign data_o  = words[take_q[IndexBits-1:0]];

  always_ff @(posedge clk_i) begin
    if (put_i) begin
      words[put_q[IndexBits-1:0]] <= data_i;
      put_q <= put_q + 1'b1;
    end
    if (take_i) take_q <= take_q + 1'b1;
    if (rst_i) begin
      put_q  <= '0;
      take_q <= '0;
    end
  end

  `QS_ASSERT(PutHasRoom_A, !put_i || room_o)
  `QS_ASSERT(TakeIsThere_A, !take_i || valid_o)

endmodule
