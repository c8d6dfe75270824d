// SPDX-License-Identifier: Apache-2.0
// qs_table returns the last written value, from both of its copies, two clocks after the address.
//
// Function    The proof watches one arbitrary entry. Once it has been written, every read returns the last written
//             value, unless the entry is written in the clock of the read. any/qs_table.sv assumes the same.
// Assumed     Addresses are in range.

module table_proof #(
    parameter  int unsigned States     = 1000,
    parameter  int unsigned Actions    = 3,
    parameter  int unsigned Width      = 16,
    localparam int unsigned StateBits  = $clog2(States),
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,

    input logic [ StateBits-1:0] row_state_i,
    input logic [ StateBits-1:0] entry_state_i,
    input logic [ActionBits-1:0] entry_action_i,
    input logic                  write_i,
    input logic [ StateBits-1:0] write_state_i,
    input logic [ActionBits-1:0] write_action_i,
    input logic [     Width-1:0] write_data_i
);

  logic [Actions-1:0][Width-1:0] row_o;
  logic [Width-1:0] entry_o;
  qs_table #(
      .States (States),
      .Actions(Actions),
      .Width  (Width)
  ) u_table (
      .*
  );

  // The watched entry, an arbitrary constant.
  logic [StateBits-1:0] state;
  logic [ActionBits-1:0] action;
  logic [Width-1:0] last_q;
  logic known_q = 1'b0;
  logic writes;
  assign writes = write_i && write_state_i == state && write_action_i == action;

  // Reads of the entry one and two clocks ago, and the values that they must return.
  logic [2:1] row_read_q = '0, entry_read_q = '0;
  logic [2:1][Width-1:0] read_q;
  logic row_read, entry_read;
  assign row_read   = known_q && !writes && row_state_i == state;
  assign entry_read = known_q && !writes && entry_state_i == state && entry_action_i == action;

  always_ff @(posedge clk_i) begin
    state  <= state;
    action <= action;
    if (writes) begin
      last_q  <= write_data_i;
      known_q <= 1'b1;
    end
    row_read_q <= {row_read_q[1], row_read};
    entry_read_q <= {entry_read_q[1], entry_read};
    read_q <= {read_q[1], last_q};
  end

  always_comb begin
    assume (32'(state) < States && 32'(action) < Actions);
    assume (32'(write_state_i) < States && 32'(write_action_i) < Actions);
    assume (32'(row_state_i) < States);
    assume (32'(entry_state_i) < States && 32'(entry_action_i) < Actions);
  end

  for (genvar a = 0; a < Actions; a++) begin : gen_action
    always_comb begin
      if (known_q && a == 32'(action)) begin
        Bank_L : assert (u_table.gen_bank[a].u_ram.mem[state] == last_q);
        Row_A : assert (!row_read_q[2] || row_o[a] == read_q[2]);
      end
      if (row_read_q[1] && a == 32'(action)) begin
        Fetched_L : assert (u_table.gen_bank[a].u_ram.ram_q == read_q[1]);
      end
    end
  end

  always_comb begin
    Copy_L : assert (!known_q || u_table.u_copy.mem[{action, state}] == last_q);
    Fetched_L : assert (!entry_read_q[1] || u_table.u_copy.ram_q == read_q[1]);
    Entry_A : assert (!entry_read_q[2] || entry_o == read_q[2]);
    Reads_C : cover (row_read_q[2] && entry_read_q[2] && entry_o != 0 && known_q && writes);
  end

endmodule
