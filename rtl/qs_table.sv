// SPDX-License-Identifier: Apache-2.0
// The Q-table in block RAM: one whole row and one entry are read, and one entry written, per clock.
//
// Function    row_o = Q[row_state_i, 0..Actions-1] and entry_o = Q[entry_state_i, entry_action_i]. The row
//             comes from one bank per action (the parallel fetch of a row, for any number of actions), the
//             entry from a second copy of the table. A write goes to both.
// Timing      Two clocks from address to data (RAM, then its output register); one read of each kind and
//             one write per clock; no combinational path from input to output.
// Handshake   none: in every clock both reads take place, and an entry is written if write_i is 1.
// Reset       none: contents and outputs are undefined until written and read.
// Hazards     A read in the same clock as a write to the same entry is undefined, as it is in many block
//             RAMs; in simulation it returns the complement of the old value, so that nothing relies on it.
//             The attribute no_rw_check tells yosys, which otherwise adds logic for the old value.
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
    (* no_rw_check *) logic [Width-1:0] mem[States];
    logic [Width-1:0] ram_q;
    logic write;

    assign write = write_i && write_action_i == ActionBits'(a);

    always_ff @(posedge clk_i) begin
      if (write) mem[write_state_i] <= write_data_i;
      ram_q <= mem[row_state_i];
`ifndef SYNTHESIS
      if (write && write_state_i == row_state_i) ram_q <= ~mem[row_state_i];
`endif
      row_o[a] <= ram_q;
    end
  end

  (* no_rw_check *) logic [Width-1:0] copy[CopyWords];
  logic [Width-1:0] copy_q;
  logic [ActionBits+StateBits-1:0] copy_read, copy_write;

  assign copy_read  = {entry_action_i, entry_state_i};
  assign copy_write = {write_action_i, write_state_i};

  always_ff @(posedge clk_i) begin
    if (write_i) copy[copy_write] <= write_data_i;
    copy_q <= copy[copy_read];
`ifndef SYNTHESIS
    if (write_i && copy_write == copy_read) copy_q <= ~copy[copy_read];
`endif
    entry_o <= copy_q;
  end

  `QS_ASSERT(WriteInRange_A,
             !write_i || (32'(write_state_i) < States && 32'(write_action_i) < Actions))

endmodule
