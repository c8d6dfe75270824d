// SPDX-License-Identifier: Apache-2.0
// In place of the formula of the interleaved lane: any function of a slot's operands, where products are free.

module agent_value #(
    parameter int unsigned Width = 16
) (
    input  logic        [     15:0] alpha_i,
    input  logic        [     15:0] kappa_i,
    input  logic signed [Width-1:0] entry_i,
    input  logic signed [Width-1:0] reward_i,
    input  logic signed [  Width:0] target_i,
    input  logic        [     14:0] bias_i,
    output logic        [Width-1:0] value_o,
    output logic                    saturated_o
);

  localparam int unsigned Bits = 2 * Width + 32;
  logic [Bits-1:0] answer;
  assign answer = {alpha_i, kappa_i, entry_i, reward_i} * Bits'({target_i, bias_i});
  assign {saturated_o, value_o} = answer[Width:0];

endmodule
