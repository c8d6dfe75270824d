// SPDX-License-Identifier: Apache-2.0
// Random numbers for stochastic rounding: xorshift plus Weyl sequence.
//
// Function    If advance_i is 1, draw_o becomes the upper bits of x + w, x advances by one xorshift step (13, 17, 5)
//             and w increases by 0x9E3779B9. The carry makes the output non-linear over GF(2). Golden model:
//             qstep.spec.random.
// Timing      draw_o is registered and valid one clock after advance_i. One draw per clock. load_i takes effect one
//             clock later.
// Handshake   none: load_i has priority over advance_i.
// Reset       x = 1, w = 0 (x = 0 is a fixed point and must never be loaded); draw_o is data only.
// Hazards     none
// Invariants  NeverZero_A
// Resources   64 + CoeffFraction flip-flops, two 32-bit adders.
// Reference   G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003).

`include "qs_assert.svh"

module qs_noise #(
    parameter int unsigned CoeffFraction = 15  // bits of a draw, 15..24
) (
    input logic clk_i,
    input logic rst_i,

    input logic        load_i,
    input logic [31:0] x_i,
    input logic [31:0] w_i,

    input  logic                     advance_i,
    output logic [CoeffFraction-1:0] draw_o,

    output logic [31:0] x_o,
    output logic [31:0] w_o
);

  localparam logic [31:0] WEYL = 32'h9E3779B9;

  logic [31:0] x_q, w_q, sum;
  logic [31:0] x_a, x_b, x_d;

  assign sum = x_q + w_q;
  assign x_a = x_q ^ (x_q << 13);
  assign x_b = x_a ^ (x_a >> 17);
  assign x_d = x_b ^ (x_b << 5);

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      x_q <= x_i;
      w_q <= w_i;
    end else if (advance_i) begin
      x_q <= x_d;
      w_q <= w_q + WEYL;
    end
    if (rst_i) begin
      x_q <= 32'd1;
      w_q <= 32'd0;
    end
  end

  always_ff @(posedge clk_i) if (advance_i) draw_o <= sum[31-:CoeffFraction];

  assign x_o = x_q;
  assign w_o = w_q;

  logic unused_sum;
  assign unused_sum = ^sum[31-CoeffFraction:0];

  `QS_ASSERT(NeverZero_A, x_q != 0)

endmodule
