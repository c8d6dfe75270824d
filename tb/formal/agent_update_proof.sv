// SPDX-License-Identifier: Apache-2.0
// qs_agent_update computes its formula, on the operands of a slot, which come in four clocks.
//
// Function    2^15 * entry + alpha * (reward - entry) + kappa * target + bias, rounded down to the format and saturated;
//             with keep the entry itself, and with zero no target.
// Assumed     Nothing. With alpha + beta = 1 and kappa at most alpha the sum needs no more bits than it has.

module agent_update_proof #(
    parameter int unsigned Width = 16
) (
    input logic clk_i,
    input logic rst_i,

    input logic signed [Width-1:0] s0_reward_i,
    input logic signed [Width-1:0] s0_entry_i,
    input logic                    s0_keep_i,
    input logic        [     15:0] s2_alpha_i,
    input logic signed [  Width:0] s3_target_i,
    input logic        [     15:0] s3_kappa_i,
    input logic                    s5_zero_i,
    input logic signed [Width-1:0] s5_entry_i,
    input logic        [     14:0] s5_bias_i
);

  localparam int unsigned AccBits = Width + 16;

  logic signed [Width-1:0] value_o;
  logic saturated_o;
  qs_agent_update #(.Width(Width)) u_update (.*);

  // A slot's operands in stages 1 to 8.
  logic [8:1] inside_q = '0, keep_q;
  logic [8:1][Width-1:0] reward_q, entry_q;
  logic [8:3][15:0] alpha_q;
  logic [8:4][15:0] kappa_q;
  logic [8:4][Width:0] target_q;
  logic [8:6] zero_q;
  logic [8:6][Width-1:0] kept_q;
  logic [8:6][14:0] bias_q;
  always_ff @(posedge clk_i) begin
    inside_q <= {inside_q[7:1], 1'b1};
    keep_q   <= {keep_q[7:1], s0_keep_i};
    reward_q <= {reward_q[7:1], s0_reward_i};
    entry_q  <= {entry_q[7:1], s0_entry_i};
    alpha_q  <= {alpha_q[7:3], s2_alpha_i};
    kappa_q  <= {kappa_q[7:4], s3_kappa_i};
    target_q <= {target_q[7:4], s3_target_i};
    zero_q   <= {zero_q[7:6], s5_zero_i};
    kept_q   <= {kept_q[7:6], s5_entry_i};
    bias_q   <= {bias_q[7:6], s5_bias_i};
  end

  function automatic logic signed [AccBits-1:0] product(logic [15:0] coefficient,
                                                        logic signed [Width:0] value);
    return AccBits'($signed({1'b0, coefficient})) * AccBits'(value);
  endfunction

  logic signed [Width:0] delta, rounded;
  logic signed [AccBits-1:0] sum;
  logic saturated;
  assign delta = keep_q[8] ? '0 : (Width + 1)'($signed(
      reward_q[8]
  )) - (Width + 1)'($signed(
      entry_q[8]
  ));
  assign sum = AccBits'($signed(
      {kept_q[8], bias_q[8]}
  )) + product(
      alpha_q[8], delta
  ) + (zero_q[8] ? '0 : product(
      kappa_q[8], $signed(target_q[8])
  ));
  assign rounded = (Width + 1)'(sum >>> 15);
  assign saturated = rounded[Width] != rounded[Width-1];

  always_comb begin
    if (inside_q[8]) begin
      Saturated_A : assert (saturated_o == saturated);
      Value_A :
      assert (value_o == $signed(
          saturated ? {rounded[Width], {(Width - 1) {!rounded[Width]}}} : rounded[Width-1:0]
      ));
      Both_C : cover (saturated && value_o < 0 && !zero_q[8] && !keep_q[8]);
    end
  end

endmodule
