// SPDX-License-Identifier: Apache-2.0
// The update: three products, one rounding, saturation, and the dependence loop on its own result.
//
// Function    value_o = saturate((beta * entry + alpha * reward + kappa * maximum + bias) >>> 15), where
//             beta = 2^15 - alpha and maximum counts as 0 if terminated. An operand that is still in flight
//             when the transition enters comes from value_o itself: `take` replaces entry, `join` raises
//             maximum. Golden model: qstep.model.updated_value.
//             The loop is short because nothing waits for a maximum: kappa is not negative, so
//             kappa * max(m, v) is the greater of kappa * m, computed before, and kappa * v; which one is
//             decided by comparing m with v while kappa * v is multiplied.
// Timing      Stage 0 (reward), stage 1 (entry, maximum, bias), then LoopDepth stages of the loop:
//             LoopDepth + 1 clocks from entry_i to value_o, one update per clock. In the loop lie
//               LoopDepth 1: product, select, sum, saturation
//               LoopDepth 2: product, select | sum, saturation
//               LoopDepth 3: product, select | sum | saturation
// Handshake   none: a pure pipeline; what is put in comes out.
// Reset       none: data only.
// Hazards     take_near/join_near: the result of the transition LoopDepth clocks ahead.
//             take_far/join_far: of the one LoopDepth + 1 clocks ahead. Closer ones must not occur
//             (qs_hazard holds); further ones are joined before this module (qs_lane).
// Invariants  CoefficientsInRange_A
// Resources   Five multipliers of Width by 16 bits: the three of the equation, two for the loop.
// Reference   Watkins and Dayan, "Q-learning", Machine Learning 8 (1992).

`include "qs_assert.svh"

module qs_update #(
    parameter  int unsigned Width      = 16,  // 8..32
    parameter  int unsigned IndexBits  = 2,   // bits of an action
    parameter  int unsigned LoopDepth  = 1,   // 1..3
    localparam int unsigned CoeffBits  = qs_pkg::CoeffBits
) (
    input logic clk_i,
    input logic rst_i,  // only gates the assertion

    input logic [CoeffBits-1:0] alpha_i,
    input logic [CoeffBits-1:0] kappa_i,

    // Stage 0
    input logic signed [Width-1:0] reward_i,

    // Stage 1
    input logic signed [                Width-1:0] entry_i,
    input logic signed [                Width-1:0] max_i,
    input logic        [            IndexBits-1:0] greedy_i,
    input logic                                    terminated_i,
    input logic        [qs_pkg::CoeffFraction-1:0] bias_i,
    input logic                                    take_far_i,
    input logic                                    join_far_i,
    input logic                                    take_near_i,
    input logic                                    join_near_i,

    // Action that value_o belongs to, for the ties of greedy_o.
    input logic [IndexBits-1:0] value_index_i,

    output logic signed [    Width-1:0] value_o,
    output logic signed [    Width-1:0] max_o,
    output logic        [IndexBits-1:0] greedy_o,
    output logic                        saturated_o
);

  // Products have no more than Width + 15 bits, as a coefficient is at most 2^15; their sum with the bias
  // has no more than Width + 16 bits, as alpha + beta = 2^15 and kappa <= alpha.
  localparam int unsigned AccBits = Width + CoeffBits;
  localparam logic signed [AccBits-1:0] LARGEST = AccBits'({1'b0, {(Width - 1) {1'b1}}});
  localparam logic signed [AccBits-1:0] LEAST = -LARGEST - 1;

  function automatic logic signed [AccBits-1:0] product(logic [CoeffBits-1:0] coefficient,
                                                        logic signed [Width-1:0] value);
    return AccBits'($signed({1'b0, coefficient})) * AccBits'(value);
  endfunction

  logic [CoeffBits-1:0] beta;
  assign beta = qs_pkg::COEFF_ONE - alpha_i;

  logic signed [Width-1:0] value_q;

  // Products of the newest result, used by the two transitions right behind it.
  logic signed [AccBits-1:0] beta_value, kappa_value;
  assign beta_value  = product(beta, value_q);
  assign kappa_value = product(kappa_i, value_q);

  // Stage 0: the reward's product.
  logic signed [AccBits-1:0] s1_reward_q;
  always_ff @(posedge clk_i) s1_reward_q <= product(alpha_i, reward_i);

  // Stage 1: the other two products, or those of the result two places ahead of the loop.
  logic signed [AccBits-1:0] s2_reward_q, s2_entry_q, s2_max_product_q;
  logic signed [Width-1:0] s2_max_q;
  logic [IndexBits-1:0] s2_greedy_q;
  logic s2_take_q, s2_join_q, s2_terminated_q;
  logic s1_greater, s1_wins;

  assign s1_greater = join_far_i && value_q > max_i;
  assign s1_wins = s1_greater || (join_far_i && value_q == max_i && value_index_i < greedy_i);

  always_ff @(posedge clk_i) begin
    s2_reward_q <= s1_reward_q + AccBits'(bias_i);
    s2_entry_q <= take_far_i ? beta_value : product(beta, entry_i);
    s2_max_product_q <= terminated_i ? '0 : s1_greater ? kappa_value : product(kappa_i, max_i);
    s2_max_q <= s1_greater ? value_q : max_i;
    s2_greedy_q <= s1_wins ? value_index_i : greedy_i;
    s2_take_q <= take_near_i;
    s2_join_q <= join_near_i;
    s2_terminated_q <= terminated_i;
  end

  // The loop, first part: products of the newest result, selected.
  logic signed [AccBits-1:0] s2_entry, s2_max_product;
  logic signed [Width-1:0] s2_max;
  logic [IndexBits-1:0] s2_greedy;
  logic s2_greater, s2_wins;

  assign s2_greater = s2_join_q && value_q > s2_max_q;
  assign s2_wins = s2_greater || (s2_join_q && value_q == s2_max_q && value_index_i < s2_greedy_q);
  assign s2_entry = s2_take_q ? beta_value : s2_entry_q;
  assign s2_max_product = s2_greater && !s2_terminated_q ? kappa_value : s2_max_product_q;
  assign s2_max = s2_greater ? value_q : s2_max_q;
  assign s2_greedy = s2_wins ? value_index_i : s2_greedy_q;

  // Second part: the sum.
  logic signed [AccBits-1:0] sum_reward, sum_entry, sum_max_product, sum;
  logic signed [Width-1:0] sum_max;
  logic [IndexBits-1:0] sum_greedy;
  if (LoopDepth >= 2) begin : gen_product_register
    always_ff @(posedge clk_i) begin
      sum_reward <= s2_reward_q;
      sum_entry <= s2_entry;
      sum_max_product <= s2_max_product;
      sum_max <= s2_max;
      sum_greedy <= s2_greedy;
    end
  end else begin : gen_no_product_register
    assign sum_reward = s2_reward_q;
    assign sum_entry = s2_entry;
    assign sum_max_product = s2_max_product;
    assign sum_max = s2_max;
    assign sum_greedy = s2_greedy;
  end
  assign sum = sum_entry + sum_reward + sum_max_product;

  // Third part: shift and saturation.
  logic signed [AccBits-1:0] acc, rounded;
  logic signed [Width-1:0] acc_max;
  logic [IndexBits-1:0] acc_greedy;
  if (LoopDepth >= 3) begin : gen_sum_register
    always_ff @(posedge clk_i) begin
      acc <= sum;
      acc_max <= sum_max;
      acc_greedy <= sum_greedy;
    end
  end else begin : gen_no_sum_register
    assign acc = sum;
    assign acc_max = sum_max;
    assign acc_greedy = sum_greedy;
  end
  assign rounded = acc >>> qs_pkg::CoeffFraction;

  always_ff @(posedge clk_i) begin
    value_q <= rounded > LARGEST ? Width'(LARGEST) : rounded < LEAST ? Width'(LEAST) : Width'(rounded);
    saturated_o <= rounded > LARGEST || rounded < LEAST;
    max_o <= acc_max;
    greedy_o <= acc_greedy;
  end

  assign value_o = value_q;

  `QS_ASSERT(CoefficientsInRange_A, alpha_i <= qs_pkg::COEFF_ONE && kappa_i <= alpha_i)

endmodule
