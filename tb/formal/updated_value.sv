// SPDX-License-Identifier: Apache-2.0
// The update as a single formula of a transition's operands.

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

  localparam int unsigned BetaBits = CoeffFraction + 1;
  localparam int unsigned AccBits = Width + BetaBits;

  function automatic logic signed [AccBits-1:0] product(logic [BetaBits-1:0] coefficient,
                                                        logic signed [Width-1:0] value);
    return AccBits'($signed({1'b0, coefficient})) * AccBits'(value);
  endfunction

  logic signed [AccBits-1:0] of_reward, of_entry, of_max, sum;
  logic signed [Width:0] rounded;

  assign of_reward = product(BetaBits'(alpha_i), reward_i) + AccBits'(bias_i);
  assign of_entry = product((BetaBits'(1) << CoeffFraction) - BetaBits'(alpha_i), entry_i);
  assign of_max = terminated_i ? '0 : product(BetaBits'(kappa_i), max_i);
  assign sum = of_reward + of_entry + of_max;
  assign rounded = (Width + 1)'(sum >>> CoeffFraction);
  assign saturated_o = rounded[Width] != rounded[Width-1];
  assign value_o = saturated_o ?
      {rounded[Width], {(Width - 1) {!rounded[Width]}}} : rounded[Width-1:0];

endmodule
