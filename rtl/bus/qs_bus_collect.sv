// SPDX-License-Identifier: Apache-2.0
// Collects beats of a stream into records, lowest byte first.
//
// Function    Record n of a packet is bytes R n to R n + R - 1, where R is RecordBytes. If a packet ends within a
//             record, that record is output with cut_o, last_o and undefined bytes, so no record is lost.
// Timing      A record is valid one clock after its last beat. One beat per clock. tready_o depends combinationally
//             on ready_i.
// Handshake   In: AXI4-Stream; a beat is accepted when tvalid_i and tready_o are 1. Out: a record is held until
//             ready_i.
// Reset       Drops the record in progress; tready_o is 0 during reset.
// Hazards     none
// Invariants  RecordIsStable_A
// Resources   8 RecordBytes + 2 flip-flops.
// Reference   Arm IHI 0051, "AMBA AXI-Stream protocol".

`include "qs_assert.svh"

module qs_bus_collect #(
    parameter int unsigned Bytes       = 4,  // per beat: 4, 8 or 16
    parameter int unsigned RecordBytes = 16  // a power of two, at least 16
) (
    input logic clk_i,
    input logic rst_i,

    input  logic               tvalid_i,
    output logic               tready_o,
    input  logic [8*Bytes-1:0] tdata_i,
    input  logic               tlast_i,

    output logic                     valid_o,
    input  logic                     ready_i,
    output logic [8*RecordBytes-1:0] data_o,
    output logic                     last_o,
    output logic                     cut_o
);

  if (Bytes != 4 && Bytes != 8 && Bytes != 16) begin : gen_bad_bytes
    $fatal(1, "qs_bus_collect: Bytes is %0d, legal is 4, 8 and 16", Bytes);
  end

  localparam int unsigned Beats = RecordBytes / Bytes;

  logic valid_q, last_q, cut_q, taken, complete;
  logic [8*RecordBytes-1:0] data_q;

  assign tready_o = (!valid_q || ready_i) && !rst_i;
  assign taken = tvalid_i && tready_o;

  if (Beats == 1) begin : gen_whole
    assign complete = 1'b1;
    always_ff @(posedge clk_i) if (taken) data_q <= tdata_i;
  end else begin : gen_parts
    logic [$clog2(Beats)-1:0] beat_q;
    assign complete = beat_q == '1;
    always_ff @(posedge clk_i) begin
      if (taken) begin
        data_q <= {tdata_i, data_q[8*RecordBytes-1:8*Bytes]};
        beat_q <= tlast_i ? '0 : beat_q + 1'b1;
      end
      if (rst_i) beat_q <= '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (taken) begin
      last_q <= tlast_i;
      cut_q  <= !complete;
    end
    if (tready_o) valid_q <= taken && (complete || tlast_i);
    if (rst_i) valid_q <= 1'b0;
  end

  assign valid_o = valid_q;
  assign data_o  = data_q;
  assign last_o  = last_q;
  assign cut_o   = cut_q;

`ifndef SYNTHESIS
  logic waits_q;
  logic [8*RecordBytes-1:0] before_q;
  always_ff @(posedge clk_i) begin
    waits_q  <= valid_q && !ready_i && !rst_i;
    before_q <= data_q;
  end
`endif
  `QS_ASSERT(RecordIsStable_A, !waits_q || (valid_q && data_q == before_q))

endmodule
