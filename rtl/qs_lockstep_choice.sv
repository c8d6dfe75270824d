// SPDX-License-Identifier: Apache-2.0
// From a row of four values to its maximum, the lowest action that attains it, and the value of a given action.
//
// Function    Golden model: _chosen and _target of ActingModel in qstep.acting.model. The right one of two values
//             wins if it is greater. As a difference less 1 that is one carry chain, without logic before it
//             where the left one is a complement: iCE40 has no inverter there.
// Timing      The row in stage 0 (block RAM), pick_i in stage 1; maximum_o, greedy_o and picked_o in stage 3. A
//             compare and a choice are in different clocks where a block RAM comes before them.
// Handshake   none
// Reset       none: data only.
// Hazards     none
// Invariants  none
// Resources   About 130 logic cells of an iCE40.
// Reference   none

module qs_lockstep_choice
  import qs_lockstep_pkg::*;
(
    input logic clk_i,

    input logic [   Actions-1:0][Width-1:0] row_i,  // even ones as complements
    input logic [ActionBits-1:0]            pick_i,

    output logic signed [     Width-1:0] maximum_o,
    output logic        [ActionBits-1:0] greedy_o,
    output logic        [     Width-1:0] picked_o
);

  logic [Actions-1:0][Width-1:0] row_q;
  logic [1:0][Width-1:0] best_q;  // the first as its complement
  logic [1:0][Width-1:0] side_q;
  logic [1:0] right_q, index_q;
  logic pick_q, right;

  function automatic logic wins(logic [Width-1:0] right_value, logic [Width-1:0] not_left);
    logic signed [Width:0] lead;
    lead = (Width + 1)'($signed(right_value)) + (Width + 1)'($signed(not_left));
    return lead >= 0;
  endfunction

  assign right = wins(best_q[1], best_q[0]);

  always_ff @(posedge clk_i) begin
    row_q  <= row_i;
    pick_q <= pick_i[1];
    for (int unsigned n = 0; n < 2; n++) begin
      right_q[n] <= wins(row_i[2*n+1], row_i[2*n]);
      side_q[n]  <= pick_i[0] ? row_q[2*n+1] : ~row_q[2*n];
    end
    best_q[0] <= right_q[0] ? ~row_q[1] : row_q[0];
    best_q[1] <= right_q[1] ? row_q[3] : ~row_q[2];
    index_q   <= right_q;
    maximum_o <= right ? best_q[1] : ~best_q[0];
    greedy_o  <= {right, right ? index_q[1] : index_q[0]};
    picked_o  <= pick_q ? side_q[1] : side_q[0];
  end

endmodule
