// SPDX-License-Identifier: Apache-2.0
// 256 updates of 8 bits side by side, one for each maximum: 2^16 clocks go through all 2^24 operands.
//
// Function    count_i gives entry (low byte) and reward (high byte). Each instance folds its results into
//             hash = hash * 0x9E3779B1 + value (mod 2^32), from the clock in which valid_i reaches its output.
// Timing      count_i to hash_o: Latency clocks
// Handshake   none
// Reset       clears the hashes
// Hazards     none
// Invariants  none of its own
// Resources   simulation only
// Reference   none

module qs_update_exhaustive (
    input logic clk_i,
    input logic rst_i,

    input logic [15:0] alpha_i,
    input logic [15:0] kappa_i,
    input logic [14:0] bias_i,
    input logic [15:0] count_i,
    input logic        valid_i,

    input  logic [ 7:0] select_i,
    output logic [31:0] hash_o
);

  localparam int unsigned Latency = 3;
  localparam logic [31:0] FACTOR = 32'h9E3779B1;

  logic [31:0] hash_q[256];
  logic [Latency-1:0] valid_q;
  logic [7:0] entry_q;

  always_ff @(posedge clk_i) begin
    valid_q <= {valid_q[Latency-2:0], valid_i};
    entry_q <= count_i[7:0];  // the reward enters one clock before
    if (rst_i) valid_q <= '0;
  end

  for (genvar m = 0; m < 256; m++) begin : gen_maximum
    logic signed [7:0] value, unused_max;
    logic unused_greedy, unused_saturated;

    qs_update #(
        .Width    (8),
        .IndexBits(1),
        .LoopDepth(1)
    ) u_update (
        .clk_i,
        .rst_i,
        .alpha_i,
        .kappa_i,
        .reward_i     (count_i[15:8]),
        .entry_i      (entry_q),
        .max_i        (8'(m)),
        .greedy_i     (1'b0),
        .terminated_i (1'b0),
        .bias_i,
        .take_far_i   (1'b0),
        .join_far_i   (1'b0),
        .take_near_i  (1'b0),
        .join_near_i  (1'b0),
        .value_index_i(1'b0),
        .value_o      (value),
        .max_o        (unused_max),
        .greedy_o     (unused_greedy),
        .saturated_o  (unused_saturated)
    );

    always_ff @(posedge clk_i) begin
      if (valid_q[Latency-1]) hash_q[m] <= hash_q[m] * FACTOR + 32'($unsigned(value));
      if (rst_i) hash_q[m] <= 0;
    end
  end

  assign hash_o = hash_q[select_i];

endmodule
