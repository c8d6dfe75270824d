// SPDX-License-Identifier: Apache-2.0
// The operands that qs_update should use for the transition whose result is now in value_o.
//
// Function    The ports are those of qs_update. The far result is in value_i while a transition is in ProductStage,
//             and the near result is there one clock later. Each of them may replace the entry or raise the maximum.

module update_operands #(
    parameter int unsigned Width         = 16,
    parameter int unsigned CoeffFraction = 15,
    parameter int unsigned IndexBits     = 2,
    parameter int unsigned LoopDepth     = 1
) (
    input logic clk_i,

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
    input logic signed [        Width-1:0] value_i,
    input logic        [    IndexBits-1:0] value_index_i,

    output logic signed [        Width-1:0] reward_o,
    output logic signed [        Width-1:0] entry_o,
    output logic signed [        Width-1:0] max_o,
    output logic        [    IndexBits-1:0] greedy_o,
    output logic                            terminated_o,
    output logic        [CoeffFraction-1:0] bias_o
);

  typedef struct packed {
    logic signed [Width-1:0] reward;
    logic signed [Width-1:0] entry;
    logic signed [Width-1:0] max;
    logic [IndexBits-1:0] greedy;
    logic terminated;
    logic [CoeffFraction-1:0] bias;
  } operands_t;

  function automatic logic raises(logic signed [Width-1:0] value, logic [IndexBits-1:0] index,
                                  logic signed [Width-1:0] max, logic [IndexBits-1:0] greedy);
    return value > max || (value == max && index <= greedy);
  endfunction

  logic signed [Width-1:0] product_reward_q;
  logic far_raises, near_raises, near_replaces_entry_q, near_joins_max_q;
  operands_t near_q, near;
  operands_t [LoopDepth:1] loop_q;

  assign far_raises = far_joins_max_i && raises(value_i, value_index_i, max_i, greedy_i);
  assign near_raises = near_joins_max_q && raises(
      value_i, value_index_i, near_q.max, near_q.greedy
  );

  always_comb begin
    near = near_q;
    if (near_replaces_entry_q) near.entry = value_i;
    if (near_raises) {near.max, near.greedy} = {value_i, value_index_i};
  end

  always_ff @(posedge clk_i) begin
    product_reward_q <= reward_i;
    near_q <= '{
        reward: product_reward_q,
        entry: far_replaces_entry_i ? value_i : entry_i,
        max: far_raises ? value_i : max_i,
        greedy: far_raises ? value_index_i : greedy_i,
        terminated: terminated_i,
        bias: bias_i
    };
    near_replaces_entry_q <= near_replaces_entry_i;
    near_joins_max_q <= near_joins_max_i;
    loop_q[1] <= near;
    for (int unsigned k = 2; k <= LoopDepth; k++) loop_q[k] <= loop_q[k-1];
  end

  assign reward_o = loop_q[LoopDepth].reward;
  assign entry_o = loop_q[LoopDepth].entry;
  assign max_o = loop_q[LoopDepth].max;
  assign greedy_o = loop_q[LoopDepth].greedy;
  assign terminated_o = loop_q[LoopDepth].terminated;
  assign bias_o = loop_q[LoopDepth].bias;

endmodule
