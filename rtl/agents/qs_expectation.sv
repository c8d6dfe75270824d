// SPDX-License-Identifier: Apache-2.0
// The expectation of a row under the epsilon-greedy policy, for Expected SARSA.
//
// Function    value_o = maximum - ((share * (Actions * maximum - sum) + 2^15) >> 16), where sum is the sum of the row
//             and share = (threshold * round(2^16 / Actions)) >> 16. Golden model: expected() in qstep.golden.agents.
// Timing      The row enters in stage 0, its maximum in stage Tree = tree_stages(Actions), the threshold in
//             stage Tree + 1 + Wait; value_o is valid in stage Tree + 5 + Wait. One row per clock.
// Handshake   none
// Reset       none: data only.
// Hazards     none
// Invariants  none
// Resources   Actions adders, one multiplier of 16 by Width + clog2(Actions) bits.
// Reference   Van Seijen, Van Hasselt, Whiteson and Wiering, "A theoretical and empirical analysis of Expected
//             Sarsa", ADPRL (2009).

module qs_expectation
  import qs_agents_pkg::*;
#(
    parameter  int unsigned Actions    = 4,                  // 2..64
    parameter  int unsigned Width      = 16,                 // 8..32
    localparam int unsigned ActionBits = $clog2(Actions),
    localparam int unsigned SumBits    = Width + ActionBits
) (
    input logic clk_i,

    input  logic        [      Actions-1:0][Width-1:0] row_i,
    input  logic signed [        Width-1:0]            maximum_i,
    input  logic        [ThresholdBits-1:0]            threshold_i,
    output logic signed [          Width:0]            value_o
);

  localparam int unsigned Wait = Actions > 2 ? 0 : 1;
  localparam int unsigned Share = (2 * 2 ** DrawBits + Actions) / (2 * Actions);
  localparam int unsigned ProductBits = DrawBits + SumBits;

  // The sum is computed in parallel with the comparator tree, which has an extra first stage.
  logic [Actions-1:0][Width-1:0] row_q;
  logic signed [SumBits-1:0] row_sum;
  always_ff @(posedge clk_i) row_q <= row_i;

  qs_sum_tree #(
      .Terms(Actions),
      .Width(Width)
  ) u_sum (
      .clk_i,
      .terms_i(row_q),
      .sum_o  (row_sum)
  );

  logic signed [SumBits-1:0] a_times_q, a_sum_q;
  logic [SumBits-1:0] b_below_q, c_below;
  logic [DrawBits+ThresholdBits-1:0] shares;
  logic [DrawBits-1:0] c_share_q;
  logic [ProductBits-1:0] d_product_q;
  logic [SumBits:0] e_fall_q;
  logic signed [Width-1:0] e_maximum;

  assign shares = threshold_i * (DrawBits + ThresholdBits)'(Share);

  qs_delay #(
      .Width(SumBits),
      .Depth(Wait)
  ) u_below (
      .clk_i,
      .data_i(b_below_q),
      .data_o(c_below)
  );

  qs_delay #(
      .Width(Width),
      .Depth(4 + Wait)
  ) u_maximum (
      .clk_i,
      .data_i(maximum_i),
      .data_o(e_maximum)
  );

  always_ff @(posedge clk_i) begin
    a_times_q   <= SumBits'(maximum_i) * $signed(SumBits'(Actions));
    a_sum_q     <= row_sum;
    b_below_q   <= a_times_q - a_sum_q;
    c_share_q   <= shares[2*DrawBits-1:DrawBits];
    d_product_q <= c_share_q * c_below;
    e_fall_q    <= (SumBits + 1)'((d_product_q + ProductBits'(1 << (DrawBits - 1))) >> DrawBits);
    value_o     <= (Width + 1)'(e_maximum) - (Width + 1)'(e_fall_q);
  end

  logic unused_bits;
  assign unused_bits = ^{shares, e_fall_q};

endmodule
