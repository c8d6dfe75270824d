// SPDX-License-Identifier: Apache-2.0
// Replaces an exact sum with an arbitrary function of the terms; used with free_products.

module summed #(
    parameter  int unsigned Terms   = 2,
    parameter  int unsigned Width   = 16,
    localparam int unsigned SumBits = Width + $clog2(Terms)
) (
    input  logic        [  Terms-1:0][Width-1:0] terms_i,
    output logic signed [SumBits-1:0]            sum_o
);

  localparam int unsigned Bits = Terms * Width + 3;
  logic [Bits-1:0] answer;
  assign answer = Bits'(terms_i) * Bits'(5);
  assign sum_o  = Terms == 1 ? terms_i[0] : answer[SumBits-1:0];

endmodule
