// SPDX-License-Identifier: Apache-2.0
// Comparator tree: the maximum of a row and the lowest action that attains it.
//
// Function    value_o = max of values_i over the actions whose mask_i bit is 0; index_o is the lowest such action
//             that attains it. A masked value is treated as the least number of the format; if all are masked,
//             value_o is that number. Golden model: max() of a row in qstep.golden.lane.
// Timing      1 + clog2(Actions) clocks from input to output (mask, then one per level), one row per clock; one
//             comparator and one multiplexer per stage.
// Handshake   none: a stage keeps its registers unless valid_i shows that a row enters it.
// Reset       none: data only.
// Hazards     none
// Invariants  IndexInRange_A
// Resources   Actions - 1 comparators of Width bits.
// Reference   none

`include "qs_assert.svh"

module qs_max_tree #(
    parameter  int unsigned Actions    = 4,                            // 2..64
    parameter  int unsigned Width      = 16,                           // 8..32
    localparam int unsigned ActionBits = $clog2(Actions),
    localparam int unsigned Stages     = qs_pkg::tree_stages(Actions)
) (
    input logic clk_i,
    input logic rst_i,  // only gates the assertion

    input logic [ Stages-1:0]            valid_i,   // bit k: a row is k clocks into the tree
    input logic [Actions-1:0][Width-1:0] values_i,  // signed numbers
    input logic [Actions-1:0]            mask_i,    // 1: exclude this action

    output logic signed [     Width-1:0] value_o,
    output logic        [ActionBits-1:0] index_o
);

  localparam logic [Width-1:0] LEAST = {1'b1, {(Width - 1) {1'b0}}};

  for (genvar level = 0; level < Stages; level++) begin : gen_level
    // Nodes of this level; an odd node out passes to the next level unchanged.
    localparam int unsigned Nodes = (Actions + 2 ** level - 1) / 2 ** level;
    // Even nodes are stored as complements: a comparison needs the left node's complement, and qs_lane needs the last
    // node's.
    logic signed [     Width-1:0] value[Nodes];
    logic        [ActionBits-1:0] index[Nodes];

    for (genvar n = 0; n < Nodes; n++) begin : gen_node
      localparam logic [Width-1:0] FLIP = n % 2 == 0 ? '1 : '0;
      if (level == 0) begin : gen_leaf
        always_ff @(posedge clk_i)
          if (valid_i[0])
            value[n] <= FLIP ^ (mask_i[n] ? LEAST : values_i[n]);
        assign index[n] = ActionBits'(n);
      end else if (2 * n + 1 < (Actions + 2 ** (level - 1) - 1) / 2 ** (level - 1)) begin : gen_pair
        // The right node wins only if it is greater: a tie goes to the left node, which has the lower action.
        // Computed as right - left - 1 >= 0, the comparison is one carry chain with no logic before it; right > left
        // might not be.
        logic signed [Width-1:0] not_left, right;
        logic signed [Width:0] lead;
        assign not_left = gen_level[level-1].value[2*n];
        assign right = gen_level[level-1].value[2*n+1];
        assign lead = (Width + 1)'(right) + (Width + 1)'(not_left);
        always_ff @(posedge clk_i) begin
          if (valid_i[level]) begin
            if (lead >= 0) begin
              value[n] <= FLIP ^ right;
              index[n] <= gen_level[level-1].index[2*n+1];
            end else begin
              value[n] <= FLIP ^ ~not_left;
              index[n] <= gen_level[level-1].index[2*n];
            end
          end
        end
      end else begin : gen_single
        always_ff @(posedge clk_i) begin
          if (valid_i[level]) begin
            value[n] <= FLIP ^ ~gen_level[level-1].value[2*n];
            index[n] <= gen_level[level-1].index[2*n];
          end
        end
      end
    end
  end

  assign value_o = ~gen_level[Stages-1].value[0];
  assign index_o = gen_level[Stages-1].index[0];

`ifndef SYNTHESIS
  logic valid_q;
  always_ff @(posedge clk_i) valid_q <= valid_i[Stages-1] && !rst_i;
`endif
  `QS_ASSERT(IndexInRange_A, !valid_q || 32'(index_o) < Actions)

endmodule
