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
// Handshake   none: a stage keeps its registers where valid_i says that nothing enters it.
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

    input logic [LoopDepth+1:0] valid_i,  // bit k: stage k holds a transition

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

  function automatic logic signed [AccBits-1:0] product(logic [CoeffBits-1:0] coefficient,
                                                        logic signed [Width-1:0] value);
    return AccBits'($signed({1'b0, coefficient})) * AccBits'(value);
  endfunction

  // Registered, as it does not change while transitions are in flight.
  logic [CoeffBits-1:0] beta_q;
  always_ff @(posedge clk_i) beta_q <= qs_pkg::COEFF_ONE - alpha_i;

  logic signed [Width-1:0] value_q;

  // Whether the newest result is the greedy one, by size, then by action.
  function automatic logic beats(logic signed [Width-1:0] other, logic [IndexBits-1:0] other_index);
    return value_q > other || (value_q == other && value_index_i < other_index);
  endfunction

  // Products of the newest result, used by the two transitions right behind it.
  logic signed [AccBits-1:0] beta_value, kappa_value;
  assign beta_value  = product(beta_q, value_q);
  assign kappa_value = product(kappa_i, value_q);

  // Stage 0: the reward's product.
  logic signed [AccBits-1:0] s1_reward_q;
  always_ff @(posedge clk_i) if (valid_i[0]) s1_reward_q <= product(alpha_i, reward_i);

  // Stage 1: the other two products, or those of the result two places ahead of the loop.
  logic signed [AccBits-1:0] s2_reward_q, s2_entry_q, s2_max_product_q;
  logic signed [Width-1:0] s2_max_q;
  logic [IndexBits-1:0] s2_greedy_q;
  logic s2_take_q, s2_join_q, s2_terminated_q;
  logic s1_greater;
  assign s1_greater = join_far_i && value_q > max_i;

  always_ff @(posedge clk_i) begin
    if (valid_i[1]) begin
      s2_reward_q      <= s1_reward_q + AccBits'(bias_i);
      s2_entry_q       <= take_far_i ? beta_value : product(beta_q, entry_i);
      s2_max_product_q <= terminated_i ? '0 : s1_greater ? kappa_value : product(kappa_i, max_i);
      s2_max_q         <= s1_greater ? value_q : max_i;
      s2_greedy_q      <= join_far_i && beats(max_i, greedy_i) ? value_index_i : greedy_i;
      s2_take_q        <= take_near_i;
      s2_join_q        <= join_near_i;
      s2_terminated_q  <= terminated_i;
    end
  end

  // The loop, first part: products of the newest result, selected.
  typedef struct packed {
    logic signed [AccBits-1:0] reward;
    logic signed [AccBits-1:0] entry;
    logic signed [AccBits-1:0] max_product;
    logic signed [Width-1:0]   max;
    logic [IndexBits-1:0]      greedy;
  } terms_t;

  typedef struct packed {
    logic [Width:0]          rounded;
    logic signed [Width-1:0] max;
    logic [IndexBits-1:0]    greedy;
  } shifted_t;

  terms_t selected, terms;
  shifted_t summed, shifted;
  logic s2_greater;

  assign s2_greater = s2_join_q && value_q > s2_max_q;

  assign selected = '{
          reward: s2_reward_q,
          entry: s2_take_q ? beta_value : s2_entry_q,
          max_product: s2_greater && !s2_terminated_q ? kappa_value : s2_max_product_q,
          max: s2_greater ? value_q : s2_max_q,
          greedy: s2_join_q && beats(s2_max_q, s2_greedy_q) ? value_index_i : s2_greedy_q
      };

  if (LoopDepth >= 2) begin : gen_product_register
    always_ff @(posedge clk_i) if (valid_i[2]) terms <= selected;
  end else begin : gen_no_product_register
    assign terms = selected;
  end

  // Second part: the sum. Its 15 low bits are what rounding removes.
  assign summed = '{
          rounded: (Width + 1)'((terms.entry + terms.reward + terms.max_product) >>> qs_pkg::CoeffFraction),
          max: terms.max,
          greedy: terms.greedy
      };

  if (LoopDepth >= 3) begin : gen_sum_register
    always_ff @(posedge clk_i) if (valid_i[3]) shifted <= summed;
  end else begin : gen_no_sum_register
    assign shifted = summed;
  end

  // Third part: saturation. The shifted sum has one bit more than a value; where its two top bits differ it
  // does not fit.
  logic overflow;
  assign overflow = shifted.rounded[Width] != shifted.rounded[Width-1];

  always_ff @(posedge clk_i) begin
    if (valid_i[LoopDepth+1]) begin
      value_q <= overflow ? {shifted.rounded[Width], {(Width - 1) {!shifted.rounded[Width]}}} :
          shifted.rounded[Width-1:0];
      saturated_o <= overflow;
      max_o <= shifted.max;
      greedy_o <= shifted.greedy;
    end
  end

  assign value_o = value_q;

  `QS_ASSERT(CoefficientsInRange_A, alpha_i <= qs_pkg::COEFF_ONE && kappa_i <= alpha_i)

endmodule
