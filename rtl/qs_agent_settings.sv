// SPDX-License-Identifier: Apache-2.0
// Settings that the host writes and slots read, in block RAM.
//
// Function    data_o = word read_index_i; a write replaces word write_index_i.
// Timing      Two clocks from index to data (RAM, then its output register); one read and one write per clock.
// Handshake   none
// Reset       none: words are undefined until written.
// Hazards     A read in the same clock as a write of the same word is undefined; in simulation it returns the
//             complement of the old word.
// Invariants  none
// Resources   One block RAM per 36 bits on ECP5, which costs no LUT4 and no flip-flop.
// Reference   none

module qs_agent_settings #(
    parameter  int unsigned Words     = 16,            // 2 or more
    parameter  int unsigned Width     = 25,            // 1 or more
    localparam int unsigned IndexBits = $clog2(Words)
) (
    input logic clk_i,

    input logic                 write_i,
    input logic [IndexBits-1:0] write_index_i,
    input logic [    Width-1:0] write_data_i,

    input  logic [IndexBits-1:0] read_index_i,
    output logic [    Width-1:0] data_o
);

  (* no_rw_check, ram_style = "block" *) logic [Width-1:0] mem[Words];
  logic [Width-1:0] ram_q;

  always_ff @(posedge clk_i) begin
    if (write_i) mem[write_index_i] <= write_data_i;
    ram_q <= mem[read_index_i];
`ifndef SYNTHESIS
    if (write_i && write_index_i == read_index_i) ram_q <= ~mem[read_index_i];
`endif
    data_o <= ram_q;
  end

endmodule
