// SPDX-License-Identifier: Apache-2.0
// Spreads records over beats of a stream, lowest byte first.
//
// Function    The reverse of qs_bus_collect: tlast_o is 1 in the last beat of a record that arrived with last_i.
// Timing      The first beat is valid one clock after the record. One beat per clock, without gaps between records.
//             ready_o depends combinationally on tready_i.
// Handshake   In: a record is accepted when valid_i and ready_o are 1. Out: AXI4-Stream; a beat is held until tready_i.
// Reset       Drops the record in progress.
// Hazards     none
// Invariants  BeatIsStable_A
// Resources   8 RecordBytes + 2 flip-flops.
// Reference   Arm IHI 0051, "AMBA AXI-Stream protocol".

`include "qs_assert.svh"

module qs_bus_spread #(
    parameter int unsigned Bytes       = 4,  // per beat: 4, 8 or 16
    parameter int unsigned RecordBytes = 16  // a power of two, at least 16
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                     valid_i,
    output logic                     ready_o,
    input  logic [8*RecordBytes-1:0] data_i,
    input  logic                     last_i,

    output logic               tvalid_o,
    input  logic               tready_i,
    output logic [8*Bytes-1:0] tdata_o,
    output logic               tlast_o
);

  localparam int unsigned Beats = RecordBytes / Bytes;

  logic valid_q, last_q, final_beat;
  logic [8*RecordBytes-1:0] data_q;

  assign ready_o  = !valid_q || (tready_i && final_beat);
  assign tvalid_o = valid_q;
  assign tdata_o  = data_q[8*Bytes-1:0];
  assign tlast_o  = last_q && final_beat;

  if (Beats == 1) begin : gen_whole
    assign final_beat = 1'b1;
    always_ff @(posedge clk_i) if (ready_o) data_q <= data_i;
  end else begin : gen_parts
    logic [$clog2(Beats)-1:0] beat_q;
    assign final_beat = beat_q == '1;
    always_ff @(posedge clk_i) begin
      if (ready_o) data_q <= data_i;
      else if (tready_i) data_q <= data_q >> 8 * Bytes;
      if (valid_q && tready_i) beat_q <= beat_q + 1'b1;
      if (rst_i) beat_q <= '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (ready_o) begin
      valid_q <= valid_i;
      last_q  <= last_i;
    end
    if (rst_i) valid_q <= 1'b0;
  end

`ifndef SYNTHESIS
  logic waits_q;
  logic [8*Bytes:0] before_q;
  always_ff @(posedge clk_i) begin
    waits_q  <= tvalid_o && !tready_i && !rst_i;
    before_q <= {tlast_o, tdata_o};
  end
`endif
  `QS_ASSERT(BeatIsStable_A, !waits_q || (tvalid_o && {tlast_o, tdata_o} == before_q))

endmodule
