// SPDX-License-Identifier: Apache-2.0
// Replaces qs_table: stores one arbitrary row and one arbitrary entry; all other reads return arbitrary values.
//
// Function    Properties proved with this table hold for a table of any size, for each row and each entry, because
//             `table_proof.sv` proves that qs_table behaves like this. A proof covers transitions that read this row
//             and this entry. Since both are arbitrary, it covers all transitions.

module qs_table #(
    parameter  int unsigned States     = 64,
    parameter  int unsigned Actions    = 4,
    parameter  int unsigned Width      = 16,
    localparam int unsigned StateBits  = $clog2(States),
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,

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

  // The row and the entry: arbitrary constants.
  logic [StateBits-1:0] row_state, entry_state;
  logic [ActionBits-1:0] entry_action;
  always_ff @(posedge clk_i) begin
    row_state    <= row_state;
    entry_state  <= entry_state;
    entry_action <= entry_action;
  end

  logic [Actions-1:0][Width-1:0] row_q, any_row, ram_row_q;
  logic [Width-1:0] entry_q, any_entry, ram_entry_q;
  logic [Actions-1:0] writes_row;
  logic writes_entry;

  always_comb begin
    for (int unsigned a = 0; a < Actions; a++) begin
      writes_row[a] = write_i && write_state_i == row_state && 32'(write_action_i) == a;
    end
  end
  assign writes_entry = write_i && write_state_i == entry_state && write_action_i == entry_action;

  always_ff @(posedge clk_i) begin
    for (int unsigned a = 0; a < Actions; a++) begin
      if (writes_row[a]) row_q[a] <= write_data_i;
      ram_row_q[a] <= row_state_i == row_state && !writes_row[a] ? row_q[a] : any_row[a];
    end
    if (writes_entry) entry_q <= write_data_i;
    ram_entry_q <= entry_state_i == entry_state && entry_action_i == entry_action && !writes_entry ?
        entry_q : any_entry;
    row_o <= ram_row_q;
    entry_o <= ram_entry_q;
  end

  logic unused_reset;
  assign unused_reset = rst_i;

endmodule
