// SPDX-License-Identifier: Apache-2.0
// The update of the interleaved lane: two products, one rounding, saturation.
//
// Function    value_o = saturate((2^f * entry + alpha * (reward - entry) + kappa * target + bias) >>> f), where f is
//             CoeffFraction. This equals the sum of three products in the arithmetic contract. With entry_keep_i and
//             again_zero_i, only the first term counts: value_o = entry. Golden model: qstep.golden.lane.exact_value.
//             With several planes, the entry is the sum of their weights, and each weight becomes saturate(weight[t]
//             + increment), where increment = (alpha * (reward - entry) + kappa * target + bias) >>> f.
// Timing      The stages are entry, delta, alpha, target, wait, again, sum and total; value_o is valid in the stage
//             after the last. Each operand's name begins with the stage that samples it. One update per clock. At most
//             one adder per stage. With several planes, two stages follow total: increment (samples the weights) and
//             clip.
// Handshake   none
// Reset       none: data only.
// Hazards     none
// Invariants  none
// Resources   Two products: 16 by SumBits + 1 bits
// Reference   Watkins and Dayan, "Q-learning", Machine Learning 8 (1992).

module qs_agent_update #(
    parameter  int unsigned Width         = 16,                      // 8..32
    parameter  int unsigned CoeffFraction = 15,                      // 15..24
    parameter  int unsigned Planes        = 1,                       // 1..16
    localparam int unsigned SumBits       = Width + $clog2(Planes),
    localparam int unsigned CoeffBits     = qs_pkg::CoeffBits
) (
    input logic clk_i,

    input logic signed [Width-1:0] entry_reward_i,
    input logic signed [SumBits-1:0] entry_value_i,
    input logic entry_keep_i,  // with again_zero_i
    input logic [CoeffBits-1:0] alpha_coeff_i,  // from a register, like the next two
    input logic signed [SumBits:0] target_value_i,  // least .. greatest value
    input logic [CoeffBits-1:0] target_kappa_i,
    input logic again_zero_i,  // treats the target as 0
    input logic signed [Width-1:0] again_value_i,  // entry of a single plane, or entry to keep
    input logic [CoeffFraction-1:0] again_bias_i,
    input logic [Planes-1:0][Width-1:0] increment_weights_i,  // several planes

    output logic [Planes-1:0][Width-1:0] value_o,
    output logic                         saturated_o
);

  // Since alpha <= 2^f and kappa <= alpha, a single plane's sum with the bias fits into the bits of a value, the
  // fraction bits and one sign bit. An increment is at most reward - entry + target.
  localparam int unsigned AccBits = SumBits + CoeffFraction + (Planes > 1 ? 3 : 1);

  logic signed [SumBits:0] delta_q, alpha_delta_q;
  logic signed [AccBits-1:0] again_step_q, sum_next_q;
  logic [AccBits-1:0] again, sum_q, total_q;

  qs_agent_product #(
      .ValueBits  (SumBits + 1),
      .ProductBits(AccBits)
  ) u_step (
      .clk_i,
      .coeff_i  (alpha_coeff_i),
      .value_i  (alpha_delta_q),
      .clear_i  (1'b0),
      .product_o(again_step_q)
  );

  qs_agent_product #(
      .ValueBits  (SumBits + 1),
      .ProductBits(AccBits)
  ) u_next (
      .clk_i,
      .coeff_i  (target_kappa_i),
      .value_i  (target_value_i),
      .clear_i  (again_zero_i),
      .product_o(sum_next_q)
  );

  always_ff @(posedge clk_i) begin
    delta_q <= entry_keep_i ? '0 : (SumBits + 1)'(entry_reward_i) - (SumBits + 1)'(entry_value_i);
    alpha_delta_q <= delta_q;
    sum_q <= again_step_q + again;
    total_q <= sum_q + sum_next_q;
  end

  typedef qs_pkg::saturating#(.Width(Width)) saturating;
  if (Planes == 1) begin : gen_value
    assign again = {again_value_i[Width-1], again_value_i, again_bias_i};
    always_ff @(posedge clk_i) begin
      saturated_o <= saturating::overflows(total_q[AccBits-1-:Width+1]);
      value_o     <= saturating::value(total_q[AccBits-1-:Width+1]);
    end
    logic unused_weights;
    assign unused_weights = ^increment_weights_i;
  end else begin : gen_increment
    // A wider increment saturates every weight, as do the greatest and the least increment of this width.
    localparam int unsigned IncrementBits = Width + 2;
    logic signed [IncrementBits-1:0] increment_q;
    logic [AccBits-CoeffFraction-IncrementBits:0] high;
    logic high_sign;
    logic [Planes-1:0] saturates;

    assign again = AccBits'(again_bias_i);
    assign high = total_q[AccBits-1:CoeffFraction+IncrementBits-1];
    assign high_sign = total_q[AccBits-1];
    always_ff @(posedge clk_i)
      increment_q <= high == '0 || &high ? total_q[CoeffFraction+:IncrementBits] :
          {high_sign, {(IncrementBits - 1) {!high_sign}}};

    for (genvar t = 0; t < Planes; t++) begin : gen_plane
      logic signed [IncrementBits:0] clip_q;
      logic sign;
      always_ff @(posedge clk_i)
        clip_q <= (IncrementBits + 1)'(increment_q) + (IncrementBits + 1)'($signed(
            increment_weights_i[t]
        ));
      assign sign = clip_q[IncrementBits];
      assign saturates[t] = clip_q[IncrementBits:Width-1] != '0 &&
          !(&clip_q[IncrementBits:Width-1]);
      always_ff @(posedge clk_i)
        value_o[t] <= saturates[t] ? {sign, {(Width - 1) {!sign}}} : clip_q[Width-1:0];
    end
    always_ff @(posedge clk_i) saturated_o <= |saturates;
    logic unused_value;
    assign unused_value = ^again_value_i;
  end

  logic unused_bits;
  assign unused_bits = ^total_q[CoeffFraction-1:0];

endmodule
