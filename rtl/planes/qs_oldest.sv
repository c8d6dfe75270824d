// SPDX-License-Identifier: Apache-2.0
// The oldest matching entry of a ring: a tournament tree.
//
// Function    Entries are ordered by age: those with older_i = 1 by index, then the others by index. index_o is the
//             first entry with match_i = 1 in this order, and tag_o is its tag_i. hit_o is 1 if any entry matches.
// Timing      oldest_stages clocks; one search per clock. Two levels of the tree per stage.
// Handshake   none
// Reset       none: data only.
// Hazards     none
// Invariants  none
// Resources   Entries - 1 nodes of a few LUTs.
// Reference   none

module qs_oldest
  import qs_planes_pkg::*;
#(
    parameter  int unsigned Entries   = 256,             // a power of two, 2..1024
    localparam int unsigned IndexBits = $clog2(Entries)
) (
    input logic clk_i,

    input logic [Entries-1:0] match_i,
    input logic [Entries-1:0] older_i,
    input logic [Entries-1:0] tag_i,

    output logic                 hit_o,
    output logic [IndexBits-1:0] index_o,
    output logic                 tag_o
);

  typedef struct packed {
    logic                 hit;
    logic                 older;
    logic                 tag;
    logic [IndexBits-1:0] index;
  } node_t;

  for (genvar level = 0; level <= IndexBits; level++) begin : gen_level
    localparam bit Registered = level != 0 && (level % 2 == 0 || level == IndexBits);
    node_t [Entries/2**level-1:0] node;
    for (genvar n = 0; n < Entries / 2 ** level; n++) begin : gen_node
      node_t winner;
      if (level == 0) begin : gen_leaf
        assign winner = '{match_i[n], older_i[n], tag_i[n], IndexBits'(n)};
      end else begin : gen_pair
        node_t left, right;
        assign left   = gen_level[level-1].node[2*n];
        assign right  = gen_level[level-1].node[2*n+1];
        assign winner = right.hit && (!left.hit || (right.older && !left.older)) ? right : left;
      end
      if (Registered) begin : gen_register
        always_ff @(posedge clk_i) node[n] <= winner;
      end else begin : gen_wire
        assign node[n] = winner;
      end
    end
  end

  assign hit_o   = gen_level[IndexBits].node[0].hit;
  assign index_o = gen_level[IndexBits].node[0].index;
  assign tag_o   = gen_level[IndexBits].node[0].tag;

  logic unused_older;
  assign unused_older = gen_level[IndexBits].node[0].older;

endmodule
