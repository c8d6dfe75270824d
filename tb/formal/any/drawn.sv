// SPDX-License-Identifier: Apache-2.0
// Replaces the rounds of the random generator with an arbitrary function of its word; used with free_products.

module drawn #(
    parameter int unsigned CoeffFraction = 15
) (
    input  logic [             63:0] word_i,
    output logic [             63:0] advanced_o,
    output logic [             63:0] draw_o,
    output logic [CoeffFraction-1:0] rounding_o,
    output logic                     table_o
);

  localparam int unsigned Bits = 129 + CoeffFraction;
  logic [Bits-1:0] word;
  assign word = Bits'(word_i);
  assign {advanced_o, draw_o, rounding_o, table_o} = word * word;

endmodule
