// SPDX-License-Identifier: Apache-2.0
// Replaces the interleaved lane's formula with an arbitrary function of a slot's operands; used with free_products.

module agent_value #(
    parameter  int unsigned Width         = 16,
    parameter  int unsigned CoeffFraction = 15,
    parameter  int unsigned Planes        = 1,
    localparam int unsigned SumBits       = Width + $clog2(Planes)
) (
    input  logic        [             15:0]            alpha_i,
    input  logic        [             15:0]            kappa_i,
    input  logic        [       Planes-1:0][Width-1:0] entries_i,
    input  logic signed [        Width-1:0]            reward_i,
    input  logic signed [        SumBits:0]            target_i,
    input  logic        [CoeffFraction-1:0]            bias_i,
    output logic        [       Planes-1:0][Width-1:0] values_o,
    output logic                                       saturated_o
);

  localparam int unsigned Bits = (Planes + 1) * Width + 32;
  logic [Bits-1:0] answer;
  assign answer = {alpha_i, kappa_i, entries_i, reward_i} * Bits'({target_i, bias_i});
  assign {saturated_o, values_o} = answer[Planes*Width:0];

endmodule
