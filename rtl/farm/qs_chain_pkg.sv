// SPDX-License-Identifier: Apache-2.0
// The signals between nodes of a farm's daisy chain. qs_chain_node describes their use, and docs/farm.md the design
// decisions.

package qs_chain_pkg;

  // Signals from node to node, away from the link.
  typedef struct packed {
    logic all;    // during a frame: the frame is for every lane
    logic valid;  // one bit of a frame
    logic data;
  } down_t;

  // Signals from node to node, towards the link.
  typedef struct packed {
    logic busy;     // a lane is busy
    logic pending;  // a frame is on its way down, or a lane is executing one
    logic data;
  } up_t;

  // Low bits of a frame, {region, write}: an access, or one of these codes; other values are ignored.
  localparam logic [3:0] STOP = 4'b1100;
  localparam logic [3:0] RUN = 4'b1101;

endpackage
