// SPDX-License-Identifier: Apache-2.0
// A block RAM with an output register: one word is read, and lanes of one word are written, per clock.
//
// Function    data_o = word read_index_i; the lanes of word write_index_i whose write_i is 1 become write_data_i.
// Timing      Two clocks from index to data (RAM, then its output register); one read and one write per clock.
// Handshake   none
// Reset       none: words are undefined until written.
// Hazards     Reading a lane while it is written is undefined, as in many block RAMs. Simulation returns the complement
//             of the old value, so that no test passes by relying on it. Without the attribute no_rw_check, yosys would
//             add logic that returns the old value.
// Invariants  none
// Resources   Words * Lanes * Width bits. With Style "block", even a small memory takes a block RAM, but no LUT and no
//             flip-flop. On chips with byte enables, lanes use a block's full width.
// Reference   none

module qs_ram #(
    parameter int unsigned Words = 16,  // 2 or more
    parameter int unsigned Lanes = 1,  // parts of a word with separate write enables
    parameter int unsigned Width = 16,  // of a lane
    parameter bit [39:0] Style = "auto",  // or "block"
    localparam int unsigned IndexBits = $clog2(Words)
) (
    input logic clk_i,

    input logic [    Lanes-1:0] write_i,
    input logic [IndexBits-1:0] write_index_i,
    input logic [    Width-1:0] write_data_i,

    input  logic [IndexBits-1:0]            read_index_i,
    output logic [    Lanes-1:0][Width-1:0] data_o
);

  if (Style != 40'("auto") && Style != 40'("block")) begin : gen_bad_style
    $fatal(1, "qs_ram: Style is %0s, legal is auto or block", Style);
  end

  (* no_rw_check, ram_style = Style *) logic [Lanes-1:0][Width-1:0] mem[Words];
  logic [Lanes-1:0][Width-1:0] ram_q;

  always_ff @(posedge clk_i) begin
    ram_q <= mem[read_index_i];
    for (int unsigned n = 0; n < Lanes; n++) begin
      if (write_i[n]) begin
        mem[write_index_i][n] <= write_data_i;
`ifndef SYNTHESIS
        if (write_index_i == read_index_i) ram_q[n] <= ~mem[read_index_i][n];
`endif
      end
    end
    data_o <= ram_q;
  end

endmodule
