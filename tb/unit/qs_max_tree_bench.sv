// SPDX-License-Identifier: Apache-2.0
// Comparator trees for several numbers of actions, so that one simulation tests them all.
//
// Function    Tree k has Actions[k] inputs: the lowest elements of values_i and mask_i. Its outputs are field k of
//             value_o and index_o.
// Timing      as in qs_max_tree, different for each tree

module qs_max_tree_bench #(
    parameter int unsigned Width = 8
) (
    input logic clk_i,
    input logic rst_i,

    input logic                   valid_i,
    input logic [63:0][Width-1:0] values_i,
    input logic [63:0]            mask_i,

    output logic [8:0][Width-1:0] value_o,
    output logic [8:0][      5:0] index_o
);

  localparam int unsigned Actions[9] = '{2, 3, 4, 5, 6, 7, 8, 16, 64};

  logic [6:0] valid;
  logic [5:0] valid_q;
  assign valid = {valid_q, valid_i};
  always_ff @(posedge clk_i) valid_q <= valid[5:0];

  for (genvar k = 0; k < 9; k++) begin : gen_tree
    localparam int unsigned IndexBits = $clog2(Actions[k]);
    logic signed [Width-1:0] value;
    logic [IndexBits-1:0] index;

    qs_max_tree #(
        .Actions(Actions[k]),
        .Width  (Width)
    ) u_tree (
        .valid_i (valid[IndexBits:0]),
        .values_i(values_i[Actions[k]-1:0]),
        .mask_i  (mask_i[Actions[k]-1:0]),
        .value_o (value),
        .index_o (index),
        .*
    );

    assign value_o[k] = value;
    assign index_o[k] = 6'(index);
  end

endmodule
