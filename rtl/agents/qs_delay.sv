// SPDX-License-Identifier: Apache-2.0
// A delay line of Depth clocks.
//
// Function    data_o = data_i Depth clocks ago; Depth 0 is a wire.
// Timing      Depth clocks; one value per clock.
// Handshake   none
// Reset       none: data only.
// Hazards     none
// Invariants  none
// Resources   Width * Depth flip-flops.
// Reference   none

module qs_delay #(
    parameter int unsigned Width = 1,  // 1 or more
    parameter int unsigned Depth = 1   // 0 or more
) (
    input  logic             clk_i,
    input  logic [Width-1:0] data_i,
    output logic [Width-1:0] data_o
);

  if (Depth == 0) begin : gen_wire
    logic unused_clock;
    assign unused_clock = clk_i;
    assign data_o = data_i;
  end else begin : gen_line
    logic [Depth-1:0][Width-1:0] line_q;
    always_ff @(posedge clk_i) line_q <= (Depth * Width)'({line_q, data_i});
    assign data_o = line_q[Depth-1];
  end

endmodule
