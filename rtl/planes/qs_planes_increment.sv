// SPDX-License-Identifier: Apache-2.0
// The increment of all planes with a shared error: two sums, two products, one rounding.
//
// Function    increment_o = (alpha * (reward - Q) + kappa * m + 2^(f-1)) >>> f, where Q is the sum of the entries, m
//             the sum of the next entries, and f is CoeffFraction. Golden model: qstep.golden.planes.
// Timing      clog2(Planes) + 3 clocks from the entries; one increment per clock. kappa_i belongs to the same request
//             as the entries; alpha_i is constant.
// Handshake   none
// Reset       none: data only.
// Hazards     none
// Invariants  none
// Resources   Two multipliers of 16 by Width + clog2(Planes) + 1 bits.
// Reference   Sutton and Barto, "Reinforcement learning" (2018), section 10.1.

module qs_planes_increment #(
    parameter  int unsigned Planes        = 8,                       // 1..16
    parameter  int unsigned Width         = 16,                      // 8..32
    parameter  int unsigned CoeffFraction = 15,                      // 15..24
    localparam int unsigned CoeffBits     = qs_pkg::CoeffBits,
    localparam int unsigned SumBits       = Width + $clog2(Planes),
    localparam int unsigned IncrementBits = SumBits + 3
) (
    input logic clk_i,

    input logic        [   Planes-1:0][Width-1:0] entries_i,
    input logic        [   Planes-1:0][Width-1:0] nexts_i,
    input logic signed [    Width-1:0]            reward_i,
    input logic        [CoeffBits-1:0]            alpha_i,
    input logic        [CoeffBits-1:0]            kappa_i,    // 0 if terminated

    output logic signed [IncrementBits-1:0] increment_o
);

  localparam int unsigned AccBits = IncrementBits + CoeffFraction;
  localparam logic [AccBits-1:0] BIAS = AccBits'(1) << (CoeffFraction - 1);

  logic signed [SumBits-1:0] value, next, next_q;
  logic signed [SumBits:0] difference_q;
  logic signed [Width-1:0] reward;
  logic [CoeffBits-1:0] alpha_q, kappa, kappa_q;
  logic signed [AccBits-1:0] error_q, target_q, total;

  qs_sum_tree #(
      .Terms(Planes),
      .Width(Width)
  ) u_value (
      .clk_i,
      .terms_i(entries_i),
      .sum_o  (value)
  );

  qs_sum_tree #(
      .Terms(Planes),
      .Width(Width)
  ) u_next (
      .clk_i,
      .terms_i(nexts_i),
      .sum_o  (next)
  );

  qs_delay #(
      .Width(Width + CoeffBits),
      .Depth($clog2(Planes))
  ) u_reward (
      .clk_i,
      .data_i({reward_i, kappa_i}),
      .data_o({reward, kappa})
  );

  assign total = error_q + target_q + $signed(BIAS);

  always_ff @(posedge clk_i) begin
    difference_q <= (SumBits + 1)'(reward) - (SumBits + 1)'(value);
    next_q <= next;
    alpha_q <= alpha_i;
    kappa_q <= kappa;

    error_q <= AccBits'($signed({1'b0, alpha_q})) * AccBits'(difference_q);
    target_q <= AccBits'($signed({1'b0, kappa_q})) * AccBits'(next_q);

    increment_o <= total[AccBits-1-:IncrementBits];
  end

  logic unused_fraction;
  assign unused_fraction = ^total[CoeffFraction-1:0];

endmodule
