// SPDX-License-Identifier: Apache-2.0
// qs_update computes the update's formula on the operands that update_operands.sv describes.
//
// Assumed     Coefficients change only while the block contains no transition. Alpha is at most 1, and kappa is at
//             most alpha. A forwarded result belongs to the transition LoopDepth (near) or LoopDepth + 1 (far) clocks
//             ahead.

module update_proof #(
    parameter int unsigned Width         = 16,
    parameter int unsigned CoeffFraction = 15,
    parameter int unsigned IndexBits     = 2,
    parameter int unsigned LoopDepth     = 1
) (
    input logic clk_i,
    input logic rst_i,

    input logic                            enters_i,
    input logic        [             15:0] alpha_i,
    input logic        [             15:0] kappa_i,
    input logic signed [        Width-1:0] reward_i,
    input logic signed [        Width-1:0] entry_i,
    input logic signed [        Width-1:0] max_i,
    input logic        [    IndexBits-1:0] greedy_i,
    input logic                            terminated_i,
    input logic        [CoeffFraction-1:0] bias_i,
    input logic                            far_replaces_entry_i,
    input logic                            far_joins_max_i,
    input logic                            near_replaces_entry_i,
    input logic                            near_joins_max_i,
    input logic        [    IndexBits-1:0] value_index_i
);

  logic [LoopDepth+2:1] inside_q = '0;
  logic [LoopDepth+1:0] valid_i;
  assign valid_i = {inside_q[LoopDepth+1:1], enters_i};
  always_ff @(posedge clk_i) inside_q <= {inside_q[LoopDepth+1:1], enters_i};

  logic signed [Width-1:0] value_o, max_o;
  logic [Width-1:0] not_value_o;
  logic [IndexBits-1:0] greedy_o;
  logic saturated_o;
  qs_update #(
      .Width        (Width),
      .CoeffFraction(CoeffFraction),
      .IndexBits    (IndexBits),
      .LoopDepth    (LoopDepth)
  ) u_update (
      .*
  );

  logic signed [Width-1:0] reward, entry, max;
  logic [IndexBits-1:0] greedy;
  logic terminated;
  logic [CoeffFraction-1:0] bias;
  update_operands #(
      .Width        (Width),
      .CoeffFraction(CoeffFraction),
      .IndexBits    (IndexBits),
      .LoopDepth    (LoopDepth)
  ) u_operands (
      .value_i     (value_o),
      .reward_o    (reward),
      .entry_o     (entry),
      .max_o       (max),
      .greedy_o    (greedy),
      .terminated_o(terminated),
      .bias_o      (bias),
      .*
  );

  logic [Width-1:0] value;
  logic saturated;
  updated_value #(
      .Width        (Width),
      .CoeffFraction(CoeffFraction)
  ) u_value (
      .entry_i     (entry),
      .reward_i    (reward),
      .max_i       (max),
      .terminated_i(terminated),
      .bias_i      (bias),
      .value_o     (value),
      .saturated_o (saturated),
      .*
  );

  logic past_q = 1'b0;
  logic [31:0] settings_q;
  always_ff @(posedge clk_i) begin
    past_q     <= 1'b1;
    settings_q <= {alpha_i, kappa_i};
  end

  always_comb begin
    assume (32'(alpha_i) <= 32'd1 << CoeffFraction && kappa_i <= alpha_i);
    assume (!past_q || {inside_q, enters_i} == '0 || settings_q == {alpha_i, kappa_i});
    assume (past_q || !enters_i);
    assume (inside_q[LoopDepth+2] || !(far_replaces_entry_i || far_joins_max_i));
    assume (inside_q[LoopDepth+1] || !(near_replaces_entry_i || near_joins_max_i));
  end

  logic done;
  assign done = inside_q[LoopDepth+2];
  always_comb begin
    if (done) begin
      Complement_A : assert (not_value_o == ~value_o);
      Maximum_A : assert (max_o == max && greedy_o == greedy);
      Value_A : assert (value_o == $signed(value));
      Saturated_A : assert (saturated_o == saturated);
      Full_C : cover (inside_q == '1 && saturated_o && greedy_o == '1);
    end
  end

endmodule
