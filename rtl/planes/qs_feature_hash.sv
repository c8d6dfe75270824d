// SPDX-License-Identifier: Apache-2.0
// Feature hash: maps a word to a row of one plane.
//
// Function    k = upper half of word_i xor lower half xor Constant; then, modulo 2^32: k += k << 12; k ^= k >> 22; k
//             += k << 4; k ^= k >> 9; k += k << 10; k ^= k >> 2; k += k << 7; k ^= k >> 12. row_o is the low RowBits
//             bits of k. Golden model: hashed in qstep.spec.tiles.
// Timing      HashStages (4) clocks of enable_i from word_i to row_o; one word per clock. One xor and one addition
//             per stage.
// Handshake   All stages advance while enable_i is 1.
// Reset       none: data only.
// Hazards     none
// Invariants  none
// Resources   Four 32-bit adders.
// Reference   R. Bera et al., "Pythia: a customizable hardware prefetching framework using online reinforcement
//             learning", MICRO 2021; T. Wang, "Integer hash function" (2007), for the mix.

module qs_feature_hash
  import qs_planes_pkg::*;
#(
    parameter int unsigned        RowBits  = 7,  // 1..16
    parameter logic        [31:0] Constant = 0   // of the plane
) (
    input logic clk_i,
    input logic enable_i,

    input  logic [       63:0] word_i,
    output logic [RowBits-1:0] row_o
);

  if (RowBits < 1 || RowBits > 16) begin : gen_bad_row_bits
    $fatal(1, "qs_feature_hash: RowBits is %0d, legal is 1..16", RowBits);
  end

  localparam int unsigned Left[HashStages] = '{12, 4, 10, 7};
  localparam int unsigned Right[HashStages] = '{22, 9, 2, 12};

  for (genvar s = 0; s < HashStages; s++) begin : gen_stage
    logic [31:0] word, sum_q;
    if (s == 0) begin : gen_fold
      assign word = word_i[63:32] ^ word_i[31:0] ^ Constant;
    end else begin : gen_mix
      assign word = gen_stage[s-1].sum_q ^ (gen_stage[s-1].sum_q >> Right[s-1]);
    end
    always_ff @(posedge clk_i) if (enable_i) sum_q <= word + (word << Left[s]);
  end

  logic [31:0] mixed;
  logic [31:0] last;
  assign last  = gen_stage[HashStages-1].sum_q;
  assign mixed = last ^ (last >> Right[HashStages-1]);
  assign row_o = mixed[RowBits-1:0];

  logic unused_bits;
  assign unused_bits = ^mixed;

endmodule
