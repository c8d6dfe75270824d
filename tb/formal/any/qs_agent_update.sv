// SPDX-License-Identifier: Apache-2.0
// In place of qs_agent_update: the same stages, with any function as its arithmetic.
//
// Function    `agent_update_proof.sv` proves that qs_agent_update does the same with its formula. An entry that is to
//             be kept, without a target, is not changed.

module qs_agent_update #(
    parameter  int unsigned Width     = 16,
    localparam int unsigned CoeffBits = qs_pkg::CoeffBits
) (
    input logic clk_i,

    input logic signed [Width-1:0] s0_reward_i,
    input logic signed [Width-1:0] s0_entry_i,
    input logic s0_keep_i,
    input logic [CoeffBits-1:0] s2_alpha_i,
    input logic signed [Width:0] s3_target_i,
    input logic [CoeffBits-1:0] s3_kappa_i,
    input logic s5_zero_i,
    input logic signed [Width-1:0] s5_entry_i,
    input logic [qs_pkg::CoeffFraction-1:0] s5_bias_i,

    output logic signed [Width-1:0] value_o,
    output logic                    saturated_o
);

  logic [Width-1:0] reward, entry, value;
  logic [Width:0] target;
  logic [CoeffBits-1:0] alpha, kappa;
  logic [Width-1:0] any_value;
  logic keep, saturated, any_saturated;

  qs_delay #(
      .Width(2 * Width + 1),
      .Depth(5)
  ) u_first (
      .clk_i,
      .data_i({s0_reward_i, s0_entry_i, s0_keep_i}),
      .data_o({reward, entry, keep})
  );
  qs_delay #(
      .Width(CoeffBits),
      .Depth(3)
  ) u_alpha (
      .clk_i,
      .data_i(s2_alpha_i),
      .data_o(alpha)
  );
  qs_delay #(
      .Width(CoeffBits + Width + 1),
      .Depth(2)
  ) u_target (
      .clk_i,
      .data_i({s3_kappa_i, s3_target_i}),
      .data_o({kappa, target})
  );

  // An entry of which the two operands differ becomes anything.
  agent_value #(
      .Width(Width)
  ) u_value (
      .alpha_i    (alpha),
      .kappa_i    (kappa),
      .entry_i    (entry),
      .reward_i   (reward),
      .target_i   (s5_zero_i ? '0 : target),
      .bias_i     (s5_bias_i),
      .value_o    (value),
      .saturated_o(saturated)
  );

  logic [Width:0] result;
  always_comb begin
    result = {any_saturated, any_value};
    if (keep && s5_zero_i) result = {1'b0, s5_entry_i};
    else if (!keep && entry == s5_entry_i) result = {saturated, value};
  end

  qs_delay #(
      .Width(Width + 1),
      .Depth(3)
  ) u_result (
      .clk_i,
      .data_i(result),
      .data_o({saturated_o, value_o})
  );

endmodule
