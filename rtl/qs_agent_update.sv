// SPDX-License-Identifier: Apache-2.0
// The update of the interleaved lane: two products, one rounding, saturation.
//
// Function    value_o = saturate((2^15 * entry + alpha * (reward - entry) + kappa * target + bias) >>> 15),
//             which equals the sum of three products in the arithmetic contract. keep_i leaves only the first
//             term: value_o = entry. Golden model: qstep.golden.lane.exact_value.
// Timing      Stage 0 takes reward, entry and keep, stage 2 alpha, stage 3 target and kappa, stage 5 zero, entry and
//             bias; value_o is valid in stage 8. One update per clock. At most one sum lies between registers; a
//             multiplier has registers before, inside and after it, and another where its result arrives.
// Handshake   none
// Reset       none: data only.
// Hazards     none
// Invariants  none
// Resources   Two multipliers: 16 by Width + 1 and 16 by Width bits.
// Reference   Watkins and Dayan, "Q-learning", Machine Learning 8 (1992).

module qs_agent_update #(
    parameter  int unsigned Width     = 16,                // 8..32
    localparam int unsigned CoeffBits = qs_pkg::CoeffBits
) (
    input logic clk_i,

    input logic signed [Width-1:0] s0_reward_i,
    input logic signed [Width-1:0] s0_entry_i,
    input logic s0_keep_i,  // also: zero
    input logic [CoeffBits-1:0] s2_alpha_i,  // from a register, like the next two
    input logic signed [Width:0] s3_target_i,  // least .. greatest value
    input logic [CoeffBits-1:0] s3_kappa_i,
    input logic s5_zero_i,  // the target counts as 0
    input logic signed [Width-1:0] s5_entry_i,  // the entry of stage 0, or the one to keep
    input logic [qs_pkg::CoeffFraction-1:0] s5_bias_i,

    output logic signed [Width-1:0] value_o,
    output logic                    saturated_o
);

  // Since alpha + beta = 2^15 and kappa <= alpha, the sum with the bias needs no more bits.
  localparam int unsigned AccBits = Width + CoeffBits;

  logic signed [Width:0] s1_delta_q, s2_delta_q;
  logic signed [AccBits-1:0] s3_step_q, s4_step_q, s5_step_q, s4_next_q, s5_next_q, s6_next_q;
  logic [AccBits-1:0] s6_sum_q, s7_sum_q;

  always_ff @(posedge clk_i) begin
    s1_delta_q <= s0_keep_i ? '0 : (Width + 1)'(s0_reward_i) - (Width + 1)'(s0_entry_i);

    s2_delta_q <= s1_delta_q;
    s3_step_q  <= AccBits'($signed({1'b0, s2_alpha_i})) * AccBits'(s2_delta_q);
    s4_step_q  <= s3_step_q;
    s5_step_q  <= s4_step_q;

    s4_next_q  <= AccBits'($signed({1'b0, s3_kappa_i})) * AccBits'(s3_target_i);
    s5_next_q  <= s4_next_q;
    s6_next_q  <= s5_zero_i ? '0 : s5_next_q;

    s6_sum_q   <= s5_step_q + {s5_entry_i[Width-1], s5_entry_i, s5_bias_i};
    s7_sum_q   <= s6_sum_q + s6_next_q;
  end

  typedef qs_pkg::saturating#(.Width(Width)) saturating;
  always_ff @(posedge clk_i) begin
    saturated_o <= saturating::overflows(s7_sum_q[AccBits-1-:Width+1]);
    value_o     <= saturating::value(s7_sum_q[AccBits-1-:Width+1]);
  end

  logic unused_bits;
  assign unused_bits = ^s7_sum_q[qs_pkg::CoeffFraction-1:0];

endmodule
