// SPDX-License-Identifier: Apache-2.0
// Replaces qs_sum_tree: the same stages, but with an arbitrary function instead of the sum.
//
// Function    `choice_proof.sv` proves that qs_sum_tree behaves like this with exact sums.

module qs_sum_tree #(
    parameter  int unsigned Terms   = 8,
    parameter  int unsigned Width   = 16,
    localparam int unsigned Stages  = $clog2(Terms),
    localparam int unsigned SumBits = Width + Stages
) (
    input logic clk_i,

    input  logic        [  Terms-1:0][Width-1:0] terms_i,
    output logic signed [SumBits-1:0]            sum_o
);

  logic [Terms-1:0][Width-1:0] terms;

  qs_delay #(
      .Width(Terms * Width),
      .Depth(Stages)
  ) u_terms (
      .clk_i,
      .data_i(terms_i),
      .data_o(terms)
  );
  summed #(
      .Terms(Terms),
      .Width(Width)
  ) u_summed (
      .terms_i(terms),
      .sum_o
  );

endmodule
