// SPDX-License-Identifier: Apache-2.0
// 32 updates of 8 bits side by side, 2^19 clocks long: all 2^24 operands, with no write from outside.
//
// Function    After reset a counter gives the entry (bits 7..0), the reward (15..8) and the high bits of the
//             maximum (18..16); its low bits are the number of the instance. Each instance folds its results
//             into hash = hash * 0x9E3779B1 + value (mod 2^32).
// Timing      done_o rises 2^19 + 3 clocks after reset; the hashes then stand still.
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

    output logic        done_o,
    input  logic [ 4:0] select_i,
    output logic [31:0] hash_o
);

  localparam int unsigned Latency = 3;
  localparam logic [31:0] FACTOR = 32'h9E3779B1;

  logic [31:0] hash_q[32];
  logic [19:0] count_q;
  logic [Latency:0] valid_q;
  logic [10:0] late_q;  // maximum and entry enter one clock after the reward

  always_ff @(posedge clk_i) begin
    if (!count_q[19]) count_q <= count_q + 1;
    valid_q <= {valid_q[Latency-1:0], !count_q[19]};
    late_q  <= {count_q[18:16], count_q[7:0]};
    if (rst_i) begin
      count_q <= '0;
      valid_q <= '0;
    end
  end

  assign done_o = count_q[19] && valid_q == '0;

  for (genvar m = 0; m < 32; m++) begin : gen_maximum
    logic signed [7:0] value, unused_max;
    logic [7:0] unused_not_value;
    logic unused_greedy, unused_saturated;

    qs_update #(
        .Width    (8),
        .IndexBits(1),
        .LoopDepth(1)
    ) u_update (
        .valid_i      ({valid_q[1:0], !count_q[19]}),
        .reward_i     (count_q[15:8]),
        .entry_i      (late_q[7:0]),
        .max_i        ({late_q[10:8], 5'(m)}),
        .greedy_i     (1'b0),
        .terminated_i (1'b0),
        .take_far_i   (1'b0),
        .join_far_i   (1'b0),
        .take_near_i  (1'b0),
        .join_near_i  (1'b0),
        .value_index_i(1'b0),
        .value_o      (value),
        .not_value_o  (unused_not_value),
        .max_o        (unused_max),
        .greedy_o     (unused_greedy),
        .saturated_o  (unused_saturated),
        .*
    );

    always_ff @(posedge clk_i) begin
      if (valid_q[Latency-1]) hash_q[m] <= hash_q[m] * FACTOR + 32'($unsigned(value));
      if (rst_i) hash_q[m] <= 0;
    end
  end

  assign hash_o = hash_q[select_i];

endmodule
