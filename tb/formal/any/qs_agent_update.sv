// SPDX-License-Identifier: Apache-2.0
// Replaces qs_agent_update: the same stages, but with an arbitrary function instead of the arithmetic.
//
// Function    `agent_update_proof.sv` proves that qs_agent_update behaves like this with its formula, in which all
//             planes share one increment. Entries with both `keep` and `zero` set stay unchanged.

module qs_agent_update #(
    parameter  int unsigned Width         = 16,
    parameter  int unsigned CoeffFraction = 15,
    parameter  int unsigned Planes        = 1,
    localparam int unsigned SumBits       = Width + $clog2(Planes),
    localparam int unsigned CoeffBits     = qs_pkg::CoeffBits
) (
    input logic clk_i,

    input logic signed [Width-1:0] entry_reward_i,
    input logic signed [SumBits-1:0] entry_value_i,
    input logic entry_keep_i,
    input logic [CoeffBits-1:0] alpha_coeff_i,
    input logic signed [SumBits:0] target_value_i,
    input logic [CoeffBits-1:0] target_kappa_i,
    input logic again_zero_i,
    input logic signed [Width-1:0] again_value_i,
    input logic [CoeffFraction-1:0] again_bias_i,
    input logic [Planes-1:0][Width-1:0] increment_weights_i,  // with several planes

    output logic [Planes-1:0][Width-1:0] value_o,
    output logic                         saturated_o
);

  localparam int unsigned Done = Planes > 1 ? 10 : 8;  // the stage of value_o
  localparam int unsigned Takes = Planes > 1 ? 8 : 5;  // the stage of the entries

  logic [Width-1:0] reward;
  logic [SumBits-1:0] entry, sum;
  logic [Planes-1:0][Width-1:0] entries, values, any_values;
  logic [SumBits:0] target;
  logic [CoeffBits-1:0] alpha, kappa;
  logic [CoeffFraction-1:0] bias;
  logic keep, zero, saturated, any_saturated;

  qs_delay #(
      .Width(Width + SumBits + 1),
      .Depth(Takes)
  ) u_first (
      .clk_i,
      .data_i({entry_reward_i, entry_value_i, entry_keep_i}),
      .data_o({reward, entry, keep})
  );
  qs_delay #(
      .Width(CoeffBits),
      .Depth(Takes - 2)
  ) u_alpha (
      .clk_i,
      .data_i(alpha_coeff_i),
      .data_o(alpha)
  );
  qs_delay #(
      .Width(CoeffBits + SumBits + 1),
      .Depth(Takes - 3)
  ) u_target (
      .clk_i,
      .data_i({target_kappa_i, target_value_i}),
      .data_o({kappa, target})
  );
  qs_delay #(
      .Width(1 + CoeffFraction),
      .Depth(Takes - 5)
  ) u_again (
      .clk_i,
      .data_i({again_zero_i, again_bias_i}),
      .data_o({zero, bias})
  );

  assign entries = Planes > 1 ? increment_weights_i : again_value_i;
  summed #(
      .Terms(Planes),
      .Width(Width)
  ) u_summed (
      .terms_i(entries),
      .sum_o  (sum)
  );

  // If the sum of the entries differs from the value read earlier, the new values are arbitrary.
  agent_value #(
      .Width        (Width),
      .CoeffFraction(CoeffFraction),
      .Planes       (Planes)
  ) u_value (
      .alpha_i    (alpha),
      .kappa_i    (kappa),
      .entries_i  (entries),
      .reward_i   (reward),
      .target_i   (zero ? '0 : target),
      .bias_i     (bias),
      .values_o   (values),
      .saturated_o(saturated)
  );

  logic [Planes*Width:0] result;
  always_comb begin
    result = {any_saturated, any_values};
    if (keep && zero) result = {1'b0, entries};
    else if (!keep && entry == sum) result = {saturated, values};
  end

  qs_delay #(
      .Width(Planes * Width + 1),
      .Depth(Done - Takes)
  ) u_result (
      .clk_i,
      .data_i(result),
      .data_o({saturated_o, value_o})
  );

endmodule
