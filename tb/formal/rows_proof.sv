// SPDX-License-Identifier: Apache-2.0
// qs_agent_rows returns the last written values, two clocks after the address.
//
// Function    The proof watches one arbitrary entry. Once it has been written, every read of its row returns the
//             entry's last written value, unless the entry is written in the clock of the read. any/qs_agent_rows.sv
//             assumes the same.
// Assumed     Addresses are in range.

module rows_proof #(
    parameter  int unsigned States     = 1000,
    parameter  int unsigned Actions    = 3,
    parameter  int unsigned Width      = 16,
    localparam int unsigned StateBits  = $clog2(States),
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,

    input logic [ StateBits-1:0] row_state_i,
    input logic                  write_i,
    input logic [ StateBits-1:0] write_state_i,
    input logic [ActionBits-1:0] write_action_i,
    input logic [     Width-1:0] write_data_i
);

  logic [Actions-1:0][Width-1:0] row_o;
  qs_agent_rows #(
      .States (States),
      .Actions(Actions),
      .Width  (Width)
  ) u_rows (
      .*
  );

  logic [StateBits-1:0] state;
  logic [ActionBits-1:0] action;
  logic [Width-1:0] last_q;
  logic [2:1][Width-1:0] read_q;
  logic known_q = 1'b0;
  logic [2:1] reads_q = '0;
  logic writes;
  assign writes = write_i && write_state_i == state && write_action_i == action;

  always_ff @(posedge clk_i) begin
    state  <= state;
    action <= action;
    if (writes) begin
      last_q  <= write_data_i;
      known_q <= 1'b1;
    end
    reads_q <= {reads_q[1], known_q && !writes && row_state_i == state};
    read_q  <= {read_q[1], last_q};
  end

  always_comb begin
    assume (32'(state) < States && 32'(action) < Actions);
    assume (32'(write_state_i) < States && 32'(write_action_i) < Actions);
    assume (32'(row_state_i) < States);
    Entry_L : assert (!known_q || u_rows.u_ram.mem[state][action] == last_q);
    Fetched_L : assert (!reads_q[1] || u_rows.u_ram.ram_q[action] == read_q[1]);
    Row_A : assert (!reads_q[2] || row_o[action] == read_q[2]);
    Reads_C : cover (reads_q[2] && row_o[action] != '0 && 32'(action) == Actions - 1 && writes);
  end

endmodule
