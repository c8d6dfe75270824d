// SPDX-License-Identifier: Apache-2.0
// The Q-table in block RAM: one whole row and one entry are read, and one entry written, per clock.
//
// Function    row_o = Q[row_state_i, 0..Actions-1] and entry_o = Q[entry_state_i, entry_action_i]. The row comes from
//             one bank per action (a parallel row fetch for any number of actions), the entry from a second copy of
//             the table. A write goes to both.
// Timing      Two clocks from address to data (RAM, then its output register); one read of each kind and
//             one write per clock; no combinational path from input to output.
// Handshake   none: both reads take place every clock, and an entry is written if write_i is 1.
// Reset       none: contents and outputs are undefined until written and read.
// Hazards     A read in the same clock as a write to the same entry is undefined (see qs_ram).
// Invariants  WriteInRange_A
// Resources   Actions banks of States words and one of (Actions - 1) * 2^clog2(States) + States words.
// Reference   Da Silva, Torquato and Fernandes, "Parallel implementation of reinforcement learning
//             Q-learning technique for FPGA", IEEE Access 7 (2019), for the table split by action.

`include "qs_assert.svh"

module qs_table #(
    parameter  int unsigned States     = 64,              // 2..65536
    parameter  int unsigned Actions    = 4,               // 2..64
    parameter  int unsigned Width      = 16,              // 8..32
    localparam int unsigned StateBits  = $clog2(States),
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,  // only gates the assertion

    input  logic [StateBits-1:0]            row_state_i,
    output logic [  Actions-1:0][Width-1:0] row_o,

    input  logic [ StateBits-1:0] entry_state_i,
    input  logic [ActionBits-1:0] entry_action_i,
    output logic [     Width-1:0] entry_o,

    input logic                  write_i,
    input logic [ StateBits-1:0] write_state_i,
    input logic [ActionBits-1:0] write_action_i,
    input logic [     Width-1:0] write_data_i
);

  // The copy's address is {action, state}, so any number of actions uses the memory fully.
  localparam int unsigned CopyWords = (Actions - 1) * 2 ** StateBits + States;

  for (genvar a = 0; a < Actions; a++) begin : gen_bank
    qs_ram #(
        .Words(States),
        .Width(Width)
    ) u_ram (
        .clk_i,
        .write_i      (write_i && write_action_i == ActionBits'(a)),
        .write_index_i(write_state_i),
        .write_data_i,
        .read_index_i (row_state_i),
        .data_o       (row_o[a])
    );
  end

  qs_ram #(
      .Words(CopyWords),
      .Width(Width)
  ) u_copy (
      .clk_i,
      .write_i,
      .write_index_i({write_action_i, write_state_i}),
      .write_data_i,
      .read_index_i ({entry_action_i, entry_state_i}),
      .data_o       (entry_o)
  );

  `QS_ASSERT(WriteInRange_A,
             !write_i || (32'(write_state_i) < States && 32'(write_action_i) < Actions))

endmodule
