// SPDX-License-Identifier: Apache-2.0
// The exact sum of several values: an adder tree.
//
// Function    sum_o = terms_i[0] + ... + terms_i[Terms-1].
// Timing      clog2(Terms) clocks; one sum per clock. One adder per stage.
// Handshake   none
// Reset       none: data only.
// Hazards     none
// Invariants  none
// Resources   Terms - 1 adders
// Reference   none

module qs_sum_tree #(
    parameter  int unsigned Terms   = 8,              // 1..64
    parameter  int unsigned Width   = 16,             // 8..32
    localparam int unsigned Stages  = $clog2(Terms),
    localparam int unsigned SumBits = Width + Stages
) (
    input logic clk_i,

    input  logic        [  Terms-1:0][Width-1:0] terms_i,
    output logic signed [SumBits-1:0]            sum_o
);

  for (genvar level = 0; level <= Stages; level++) begin : gen_level
    localparam int unsigned Nodes = (Terms + 2 ** level - 1) / 2 ** level;
    logic [Nodes-1:0][SumBits-1:0] total;
    for (genvar n = 0; n < Nodes; n++) begin : gen_node
      if (level == 0) begin : gen_leaf
        assign total[n] = SumBits'($signed(terms_i[n]));
      end else if (2 * n + 1 < (Terms + 2 ** (level - 1) - 1) / 2 ** (level - 1)) begin : gen_pair
        always_ff @(posedge clk_i)
          total[n] <= gen_level[level-1].total[2*n] + gen_level[level-1].total[2*n+1];
      end else begin : gen_single
        always_ff @(posedge clk_i) total[n] <= gen_level[level-1].total[2*n];
      end
    end
  end

  assign sum_o = gen_level[Stages].total[0];

  logic unused_clock;
  assign unused_clock = clk_i;

endmodule
