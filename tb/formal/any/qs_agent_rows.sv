// SPDX-License-Identifier: Apache-2.0
// Replaces qs_agent_rows: stores one arbitrary row and one arbitrary entry; all other reads return arbitrary values.
//
// Function    Properties proved for agents with this table hold for a table of any size, for each row and each entry,
//             because `rows_proof.sv` proves that qs_agent_rows behaves like this. Each table of a lane has its own
//             row and its own entry state; the agent and the entry's action are the same in all tables.

module qs_agent_rows #(
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

    input logic                  write_i,
    input logic [ StateBits-1:0] write_state_i,
    input logic [ActionBits-1:0] write_action_i,
    input logic [     Width-1:0] write_data_i
);

  // The states of the row and of the entry: arbitrary constants.
  logic [StateBits-qs_agents_pkg::AgentBits-1:0] row_state, entry_state;
  logic [StateBits-1:0] row_address, entry_address;
  always_ff @(posedge clk_i) begin
    row_state   <= row_state;
    entry_state <= entry_state;
  end
  assign row_address   = {agent_lane_proof.chosen, row_state};
  assign entry_address = {agent_lane_proof.chosen, entry_state};

  logic [Actions-1:0][Width-1:0] row_q, any_row, ram_q;
  logic [Width-1:0] entry_q;
  logic [Actions-1:0] writes, is_entry;
  logic reads_row, reads_entry;

  assign reads_row   = row_state_i == row_address;
  assign reads_entry = row_state_i == entry_address;
  always_comb begin
    for (int unsigned a = 0; a < Actions; a++) begin
      writes[a]   = write_i && 32'(write_action_i) == a;
      is_entry[a] = 32'(agent_lane_proof.entry_action) == a;
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned a = 0; a < Actions; a++) begin
      if (writes[a] && write_state_i == row_address) row_q[a] <= write_data_i;
      if (writes[a] && write_state_i == entry_address && is_entry[a]) entry_q <= write_data_i;
      ram_q[a] <= writes[a] && write_state_i == row_state_i ? any_row[a] :
          reads_row ? row_q[a] : reads_entry && is_entry[a] ? entry_q : any_row[a];
    end
    row_o <= ram_q;
  end

  logic unused_reset;
  assign unused_reset = rst_i;

endmodule
