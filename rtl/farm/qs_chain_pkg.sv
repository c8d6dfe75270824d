// SPDX-License-Identifier: Apache-2.0
// The signals between nodes of a farm's daisy chain; qs_chain_node describes their use, docs/farm.md the reasons.

package qs_chain_pkg;

  // Away from the link.
  typedef struct packed {
    logic all;    // during a frame: for every lane
    logic valid;  // one bit of a frame
    logic data;
  } down_t;

  // Towards the link.
  typedef struct packed {
    logic busy;     // a lane is busy
    logic pending;  // a frame is on its way down, or a lane is executing one
    logic data;
  } up_t;

  // Low bits of a frame, {region, write}: an access, or one of these codes; other values do nothing.
  localparam logic [3:0] STOP = 4'b1100;
  localparam logic [3:0] RUN = 4'b1101;

endpackage
