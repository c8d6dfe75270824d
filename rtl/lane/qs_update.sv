// SPDX-License-Identifier: Apache-2.0
// The update: three products, one rounding, saturation, and the dependence loop on earlier results.
//
// Function    value_o = saturate((beta * entry + alpha * reward + kappa * maximum + bias) >>> f), where
//             f is CoeffFraction, beta = 2^f - alpha, and maximum is treated as 0 if terminated. If an operand is still
//             in flight when the transition enters, value_o supplies it: value_o replaces the entry, or replaces the
//             maximum if it is greater. Golden model: qstep.golden.lane.updated_value.
//             The loop is short because no product waits for a maximum: kappa is not negative, so
//             kappa * max(m, v) is the greater of kappa * m, computed earlier, and kappa * v. Comparing m
//             with v, while kappa * v is computed, selects one of them.
// Timing      RewardStage, ProductStage (entry, maximum, bias), then LoopDepth stages of the loop:
//             LoopDepth + 1 clocks from entry_i to value_o, one update per clock. Stages of the loop:
//               LoopDepth 1: product, select, sum, saturation
//               LoopDepth 2: product | select, sum, saturation
//               LoopDepth 3: product | select, sums of low and high bits | carry, saturation
// Handshake   none: a stage keeps its registers unless valid_i shows that a transition enters it.
// Reset       none: data only.
// Hazards     near_*: the result of the transition LoopDepth clocks ahead. far_*: the result of the transition
//             LoopDepth + 1 clocks ahead. Closer results must not occur (qs_hazard holds the transition); more distant
//             results are joined before this module (qs_lane).
// Invariants  CoefficientsInRange_A
// Resources   Five multipliers: three for the equation, two for the loop. The multipliers by beta have Width by f + 1
//             bits, and the others have Width by 16 bits.
// Reference   Watkins and Dayan, "Q-learning", Machine Learning 8 (1992).

`include "qs_assert.svh"

module qs_update #(
    parameter  int unsigned Width         = 16,                // 8..32
    parameter  int unsigned CoeffFraction = 15,                // 15..24
    parameter  int unsigned IndexBits     = 2,                 // bits of an action
    parameter  int unsigned LoopDepth     = 1,                 // 1..3
    localparam int unsigned CoeffBits     = qs_pkg::CoeffBits
) (
    input logic clk_i,
    input logic rst_i,  // only gates the assertion

    input logic [LoopDepth+1:0] valid_i,  // bit k: a transition is in stage k

    input logic [CoeffBits-1:0] alpha_i,
    input logic [CoeffBits-1:0] kappa_i,

    // RewardStage
    input logic signed [Width-1:0] reward_i,

    // ProductStage
    input logic signed [        Width-1:0] entry_i,
    input logic signed [        Width-1:0] max_i,
    input logic        [    IndexBits-1:0] greedy_i,
    input logic                            terminated_i,
    input logic        [CoeffFraction-1:0] bias_i,
    input logic                            far_replaces_entry_i,
    input logic                            far_joins_max_i,
    input logic                            near_replaces_entry_i,
    input logic                            near_joins_max_i,

    // Action of value_o, to break ties of greedy_o.
    input logic [IndexBits-1:0] value_index_i,

    output logic signed [    Width-1:0] value_o,
    output logic        [    Width-1:0] not_value_o,  // its complement, for comparisons
    output logic signed [    Width-1:0] max_o,
    output logic        [IndexBits-1:0] greedy_o,
    output logic                        saturated_o
);

  // A product has at most Width + f bits, since a coefficient is at most 2^f. The sum of products and bias has at
  // most Width + f + 1 bits, since alpha + beta = 2^f and kappa <= alpha.
  localparam int unsigned BetaBits = CoeffFraction + 1;
  localparam int unsigned AccBits = Width + BetaBits;
  localparam logic [BetaBits-1:0] ONE = BetaBits'(1) << CoeffFraction;

  localparam int unsigned RewardStage = 0;
  localparam int unsigned ProductStage = 1;
  localparam int unsigned NearStage = 2;  // compares the near result with the maximum
  localparam int unsigned SelectStage = LoopDepth >= 2 ? NearStage : ProductStage;
  localparam int unsigned SumStage = SelectStage + 1;

  function automatic logic signed [AccBits-1:0] product(logic [BetaBits-1:0] coefficient,
                                                        logic signed [Width-1:0] value);
    return AccBits'($signed({1'b0, coefficient})) * AccBits'(value);
  endfunction

  // Coefficients, registered next to the multipliers. This is safe because they do not change while transitions are in
  // flight.
  logic [CoeffBits-1:0] alpha_q, kappa_q;
  logic [BetaBits-1:0] beta_q;
  always_ff @(posedge clk_i) begin
    alpha_q <= alpha_i;
    beta_q  <= ONE - BetaBits'(alpha_i);
    kappa_q <= kappa_i;
  end

  logic signed [Width-1:0] value_q;
  logic [Width-1:0] not_value_q;

  typedef qs_pkg::ranked#(
      .Width(Width),
      .RankBits(IndexBits)
  ) ranked;
  typedef qs_pkg::saturating#(.Width(Width)) saturating;

  // The reward's product.
  logic signed [AccBits-1:0] product_reward_q;
  always_ff @(posedge clk_i)
    if (valid_i[RewardStage])
      product_reward_q <= product(BetaBits'(alpha_q), reward_i);

  // The maximum is raised by the far result in ProductStage and by the near one in NearStage.
  logic signed [Width-1:0] near_max_q;
  logic [IndexBits-1:0] near_rank_q;
  logic near_joins_max_q, near_terminated_q, far_greater, near_greater;
  assign far_greater = far_joins_max_i && ranked::reaches(
      not_value_q, value_index_i, max_i, ~greedy_i
  );
  assign near_greater = near_joins_max_q && ranked::reaches(
      not_value_q, value_index_i, near_max_q, near_rank_q
  );

  always_ff @(posedge clk_i) begin
    if (valid_i[ProductStage]) begin
      near_max_q        <= far_greater ? value_q : max_i;
      near_rank_q       <= ~(far_greater ? value_index_i : greedy_i);
      near_joins_max_q  <= near_joins_max_i;
      near_terminated_q <= terminated_i;
    end
  end

  // Products of the transition in ProductStage, products of the newest result, and the effect of the near result on the
  // maximum of the transition in NearStage. With LoopDepth >= 2, they are registered before any selection, so that a
  // stage contains only a multiplier or a comparator.
  typedef struct packed {
    logic signed [AccBits-1:0] reward;
    logic signed [AccBits-1:0] entry;
    logic signed [AccBits-1:0] max_product;
    logic far_replaces;
    logic far_raises;
    logic near_replaces;
    logic terminated;
  } own_t;

  typedef struct packed {
    logic signed [AccBits-1:0] beta;
    logic signed [AccBits-1:0] kappa;
  } newest_t;

  typedef struct packed {
    logic raise;
    logic signed [Width-1:0] max;
    logic [IndexBits-1:0] greedy;
  } joined_t;

  own_t product_own, own;
  newest_t product_newest, newest;
  joined_t near_joined, joined;

  assign product_own = '{
          reward: product_reward_q + AccBits'(bias_i),
          entry: product(beta_q, entry_i),
          max_product: product(BetaBits'(kappa_q), max_i),
          far_replaces: far_replaces_entry_i,
          far_raises: far_greater && !terminated_i,
          near_replaces: near_replaces_entry_i,
          terminated: terminated_i
      };
  assign product_newest = '{
          beta: product(beta_q, value_q),
          kappa: product(BetaBits'(kappa_q), value_q)
      };
  assign near_joined = '{
          raise: near_greater && !near_terminated_q,
          max: near_greater ? value_q : near_max_q,
          greedy: near_greater ? value_index_i : ~near_rank_q
      };

  if (LoopDepth >= 2) begin : gen_product_register
    always_ff @(posedge clk_i) begin
      if (valid_i[ProductStage]) own <= product_own;
      if (valid_i[ProductStage] || valid_i[NearStage]) newest <= product_newest;
      if (valid_i[NearStage]) joined <= near_joined;
    end
  end else begin : gen_no_product_register
    assign own = product_own;
    assign newest = product_newest;
    assign joined = near_joined;
  end

  // Selection of the far result's products. Unless a near result writes the entry, the entry's product is added to the
  // reward's product here, which leaves little to select in the loop.
  logic signed [AccBits-1:0] far_entry, reward_entry_q, max_product_q;
  logic near_replaces_q;
  assign far_entry = own.far_replaces ? newest.beta : own.entry;

  always_ff @(posedge clk_i) begin
    if (valid_i[SelectStage]) begin
      reward_entry_q  <= own.reward + (own.near_replaces ? '0 : far_entry);
      max_product_q   <= own.far_raises ? newest.kappa : own.terminated ? '0 : own.max_product;
      near_replaces_q <= own.near_replaces;
    end
  end

  // The loop, second part: selection of the near result's products, and the sum, whose f low bits rounding
  // removes. With LoopDepth 3, their carry is added one clock later, so two short carry chains follow the selection
  // instead of a long one.
  typedef struct packed {
    logic [Width:0]          high;
    logic                    carry;
    logic signed [Width-1:0] max;
    logic [IndexBits-1:0]    greedy;
  } shifted_t;

  logic signed [AccBits-1:0] entry_product, max_product;
  shifted_t summed, shifted;
  logic [Width:0] rounded;

  assign entry_product = near_replaces_q ? newest.beta : '0;
  assign max_product = joined.raise ? newest.kappa : max_product_q;
  assign summed.max = joined.max;
  assign summed.greedy = joined.greedy;

  if (LoopDepth >= 3) begin : gen_sum_register
    // Carry-save adder: reduces three numbers to two with the same sum, so that one carry chain remains.
    localparam int unsigned LowBits = CoeffFraction;
    logic [AccBits-1:0] without_carries;
    logic [AccBits:0] carries;
    logic [LowBits-1:0] unused_low;
    logic unused_carry;
    assign without_carries = entry_product ^ reward_entry_q ^ max_product;
    assign carries = {
      (entry_product & reward_entry_q) | (max_product & (entry_product | reward_entry_q)), 1'b0
    };
    assign summed.high = without_carries[AccBits-1:LowBits] + carries[AccBits-1:LowBits];
    assign {summed.carry, unused_low} =
        {1'b0, without_carries[LowBits-1:0]} + {1'b0, carries[LowBits-1:0]};
    assign unused_carry = carries[AccBits];
    always_ff @(posedge clk_i) if (valid_i[SumStage]) shifted <= summed;
  end else begin : gen_no_sum_register
    assign summed.high =
        (Width + 1)'((entry_product + reward_entry_q + max_product) >>> CoeffFraction);
    assign summed.carry = '0;
    assign shifted = summed;
  end

  // Third part: saturation.
  logic [Width-1:0] saturated;
  assign rounded   = shifted.high + (Width + 1)'(shifted.carry);
  assign saturated = saturating::value(rounded);

  always_ff @(posedge clk_i) begin
    if (valid_i[LoopDepth+1]) begin
      value_q     <= saturated;
      not_value_q <= ~saturated;
      saturated_o <= saturating::overflows(rounded);
      max_o       <= shifted.max;
      greedy_o    <= shifted.greedy;
    end
  end

  assign value_o = value_q;
  assign not_value_o = not_value_q;

  `QS_ASSERT(CoefficientsInRange_A, BetaBits'(alpha_i) <= ONE && kappa_i <= alpha_i)

endmodule
