// SPDX-License-Identifier: Apache-2.0
// Replaces the update's formula with an arbitrary function of a transition's operands; used with free_products.

module updated_value #(
    parameter int unsigned Width         = 16,
    parameter int unsigned CoeffFraction = 15
) (
    input  logic        [             15:0] alpha_i,
    input  logic        [             15:0] kappa_i,
    input  logic signed [        Width-1:0] entry_i,
    input  logic signed [        Width-1:0] reward_i,
    input  logic signed [        Width-1:0] max_i,
    input  logic                            terminated_i,
    input  logic        [CoeffFraction-1:0] bias_i,
    output logic        [        Width-1:0] value_o,
    output logic                            saturated_o
);

  localparam int unsigned Bits = 2 * Width + 32;
  logic [Bits-1:0] left, right, answer;

  assign left = Bits'({alpha_i, kappa_i, entry_i, reward_i});
  assign right = Bits'({max_i, terminated_i, bias_i});
  assign answer = left * right;
  assign {saturated_o, value_o} = answer[Width:0];

endmodule
