// SPDX-License-Identifier: Apache-2.0
// The clocks of a simulated device, whose model is evaluated once per clock.
//
// Function    Each change of tick_i generates a pulse on clk_o and, if awake_i is 1, on link_clk_o.
// Timing      A pulse ends in the time step in which it begins.
// Handshake   none
// Reset       none; tick_i and all registers are 0 at first.
// Hazards     awake_i may change at the end of a pulse: link_clk_o has no glitch only if the simulator settles all
//             logic before it detects edges, as Verilator does.
// Invariants  none
// Resources   none: for simulation only
// Reference   none

module qs_clocks (
    input  logic tick_i,
    input  logic awake_i,
    output logic clk_o,
    output logic link_clk_o
);

  logic tick_q;
  always_ff @(posedge clk_o) tick_q <= tick_i;

  assign clk_o      = tick_i ^ tick_q;
  assign link_clk_o = clk_o && awake_i;

endmodule
