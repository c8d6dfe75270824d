// SPDX-License-Identifier: Apache-2.0
// The update of one plane by its own error: two products, one rounding, saturation.
//
// Function    value_o = saturate((beta * entry + alpha * reward + kappa * next + bias) >>> f), where f is
//             CoeffFraction and beta = 2^f - alpha. reward_i equals alpha * reward + bias + 1. entry_newest_i and
//             next_newest_i replace the entry and the next entry with value_o. Golden model: qstep.golden.planes.
// Timing      Two clocks from the entries to value_o, one update per clock. The first stage has a multiplier; the
//             second has a carry-save adder, a carry chain and the saturation.
// Handshake   none
// Reset       none: clear_i sets value_o to the start value.
// Hazards     none
// Invariants  none
// Resources   Two multipliers of 16 by Width bits.
// Reference   Rummery and Niranjan, "On-line Q-learning using connectionist systems" (1994).

module qs_plane_update #(
    parameter  int unsigned Width         = 16,                        // 8..32
    parameter  int unsigned CoeffFraction = 15,                        // 15..24
    parameter  int signed   Start         = 0,                         // a value of the format
    localparam int unsigned CoeffBits     = qs_pkg::CoeffBits,
    localparam int unsigned AccBits       = Width + CoeffFraction + 1
) (
    input logic clk_i,
    input logic clear_i, // one clock before value_o

    input logic signed [Width-1:0] entry_i,
    input logic entry_newest_i,
    input logic signed [Width-1:0] next_i,
    input logic next_newest_i,
    input logic [CoeffBits-1:0] alpha_i,
    input logic [CoeffBits-1:0] kappa_i,  // 0 if terminated
    input logic signed [AccBits-1:0] reward_i,

    output logic signed [Width-1:0] value_o
);

  typedef qs_pkg::saturating#(.Width(Width)) saturating;

  logic signed [Width-1:0] entry, next;
  logic signed [AccBits-1:0] base_q, minus_q, plus_q;
  logic [AccBits-1:0] without_carries, carries, total;

  assign entry = entry_newest_i ? value_o : entry_i;
  assign next  = next_newest_i ? value_o : next_i;

  always_ff @(posedge clk_i) begin
    base_q  <= $signed({entry[Width-1], entry, CoeffFraction'(0)}) + reward_i;
    minus_q <= AccBits'($signed({1'b0, alpha_i})) * AccBits'(entry);
    plus_q  <= AccBits'($signed({1'b0, kappa_i})) * AccBits'(next);
  end

  // Carry-save adder: reduces three numbers to two with the same sum. reward_i includes the 1 of the negated product.
  assign without_carries = base_q ^ ~minus_q ^ plus_q;
  assign carries = {(base_q & ~minus_q) | (plus_q & (base_q | ~minus_q))} << 1;
  assign total = without_carries + carries;

  always_ff @(posedge clk_i) begin
    value_o <= saturating::value(total[AccBits-1-:Width+1]);
    if (clear_i) value_o <= Width'(Start);
  end

  logic unused_fraction;
  assign unused_fraction = ^total[CoeffFraction-1:0];

endmodule
