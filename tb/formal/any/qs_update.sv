// SPDX-License-Identifier: Apache-2.0
// Replaces qs_update: handles results in flight in the same way, but the arithmetic is an arbitrary function.
//
// Function    `update_proof.sv` proves that qs_update behaves like this with its own arithmetic.

module qs_update #(
    parameter  int unsigned Width         = 16,
    parameter  int unsigned CoeffFraction = 15,
    parameter  int unsigned IndexBits     = 2,
    parameter  int unsigned LoopDepth     = 1,
    localparam int unsigned CoeffBits     = qs_pkg::CoeffBits
) (
    input logic clk_i,
    input logic rst_i,

    input logic [LoopDepth+1:0] valid_i,

    input logic        [    CoeffBits-1:0] alpha_i,
    input logic        [    CoeffBits-1:0] kappa_i,
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
    input logic        [    IndexBits-1:0] value_index_i,

    output logic signed [    Width-1:0] value_o,
    output logic        [    Width-1:0] not_value_o,
    output logic signed [    Width-1:0] max_o,
    output logic        [IndexBits-1:0] greedy_o,
    output logic                        saturated_o
);

  logic signed [Width-1:0] reward, entry;
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
      .terminated_o(terminated),
      .bias_o      (bias),
      .*
  );

  updated_value #(
      .Width        (Width),
      .CoeffFraction(CoeffFraction)
  ) u_value (
      .alpha_i,
      .kappa_i,
      .entry_i     (entry),
      .reward_i    (reward),
      .max_i       (max_o),
      .terminated_i(terminated),
      .bias_i      (bias),
      .value_o     (value_o),
      .saturated_o
  );

  assign not_value_o = ~value_o;

  logic unused_inputs;
  assign unused_inputs = ^{rst_i, valid_i};

endmodule
