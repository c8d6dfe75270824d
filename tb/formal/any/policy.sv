// SPDX-License-Identifier: Apache-2.0
// Replaces policy and target with arbitrary functions of a row, except for picked actions; used with free_products.

module policy
  import qs_agents_pkg::*;
#(
    parameter  int unsigned Actions    = 4,
    parameter  int unsigned Width      = 16,
    parameter  int unsigned Tables     = 1,
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input  logic [       Tables-1:0][Actions-1:0][Width-1:0] rows_i,
    input  logic                                             pick_i,
    input  logic [   ActionBits-1:0]                         pick_action_i,
    input  logic                                             number_i,
    input  logic [ThresholdBits-1:0]                         threshold_i,
    output logic [   ActionBits-1:0]                         action_o,
    output logic [          Width:0]                         target_o
);

  localparam int unsigned Bits = Tables * Actions * Width + 32;
  logic [Bits-1:0] greedy, target;

  assign greedy   = Bits'(rows_i) * Bits'(3);
  assign target   = Bits'(rows_i) * Bits'({1'b1, action_o, number_i, threshold_i});
  assign action_o = pick_i ? pick_action_i : greedy[ActionBits-1:0];
  assign target_o = target[Width:0];

endmodule
