// SPDX-License-Identifier: Apache-2.0
// Tables of the interleaved lane in block RAM: one whole row is read and one entry written per clock.
//
// Function    row_o = Q[row_state_i, 0..Actions-1].
// Timing      Two clocks from address to data (RAM, then its output register); one read and one write per clock.
// Handshake   none: a row is read every clock, and an entry is written if write_i is 1.
// Reset       none: contents and outputs are undefined until written and read.
// Hazards     A read in the same clock as a write to the same entry is undefined (see qs_ram).
// Invariants  WriteInRange_A
// Resources   One row-wide memory with a write enable per entry; where block RAM has byte enables, it uses a block's
//             full width. qs_table, with a bank per action and a second copy, takes three times as much block RAM
//             on ECP5.
// Reference   as in qs_table

`include "qs_assert.svh"

module qs_agent_rows #(
    parameter  int unsigned States     = 512,             // of all agents, 2..65536
    parameter  int unsigned Actions    = 4,               // 2..64
    parameter  int unsigned Width      = 16,              // 8..32
    localparam int unsigned StateBits  = $clog2(States),
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,  // only gates the assertion

    input  logic [StateBits-1:0]            row_state_i,
    output logic [  Actions-1:0][Width-1:0] row_o,

    input logic                  write_i,
    input logic [ StateBits-1:0] write_state_i,
    input logic [ActionBits-1:0] write_action_i,
    input logic [     Width-1:0] write_data_i
);

  logic [Actions-1:0] writes;
  always_comb begin
    for (int unsigned a = 0; a < Actions; a++)
    writes[a] = write_i && write_action_i == ActionBits'(a);
  end

  qs_ram #(
      .Words(States),
      .Lanes(Actions),
      .Width(Width)
  ) u_ram (
      .clk_i,
      .write_i      (writes),
      .write_index_i(write_state_i),
      .write_data_i,
      .read_index_i (row_state_i),
      .data_o       (row_o)
  );

  `QS_ASSERT(WriteInRange_A,
             !write_i || (32'(write_state_i) < States && 32'(write_action_i) < Actions))

endmodule
