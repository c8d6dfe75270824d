// SPDX-License-Identifier: Apache-2.0
// One plane: its table in block RAM. It supplies the entries of learn requests, including results in flight.
//
// Function    choose_values_o is the row of a choose request; entry_o and next_o are the entries of a learn request,
//             as if every earlier result had been written. If the request two clocks ahead is about to write an
//             entry, that entry's *_newest_o is 1 instead. Results are written to three copies of the table: one copy
//             for rows and two for entries.
// Timing      Stages as in qs_planes_pkg. Two clocks from row to choose_values_o; entries are valid in OperandStage.
// Handshake   none
// Reset       none: clear_i writes value_i to entry (clear_row_i, write_action_i).
// Hazards     A request that needs a result too early must be held: depends_o[k] is 1 if the new request needs the
//             result of the request in stage k. A row must not be read while it is written: collides_o is 1 if the
//             new choose request reads the row that the new learn request writes.
// Invariants  none
// Resources   3 * Rows * Actions * Width bits of block RAM.
// Reference   none

module qs_plane
  import qs_planes_pkg::*;
#(
    parameter  int unsigned Rows       = 128,              // a power of two, 2..65536
    parameter  int unsigned Actions    = 15,               // 2..64
    parameter  int unsigned Width      = 16,               // 8..32
    parameter  int unsigned Write      = 5,                // write_stage
    parameter  int unsigned Distance   = 2,                // min_distance
    parameter  bit          Newest     = 1,                // *_newest_o are used
    localparam int unsigned RowBits    = $clog2(Rows),
    localparam int unsigned ActionBits = $clog2(Actions),
    localparam int unsigned Words      = Actions * Rows
) (
    input logic clk_i,

    // The new requests, before stage 0. ahead_*_i[k]: the request in stage k writes the same action.
    input logic [RowBits-1:0] new_choose_row_i,
    input logic [RowBits-1:0] new_row_i,
    input logic [RowBits-1:0] new_next_row_i,
    input logic [Distance-2:0] ahead_entry_i,
    input logic [Distance-2:0] ahead_next_i,
    output logic [Distance-2:0] depends_o,
    output logic collides_o,

    // Stage 0.
    input logic [   RowBits-1:0] row_i,
    input logic [ActionBits-1:0] action_i,
    input logic [   RowBits-1:0] next_row_i,
    input logic [ActionBits-1:0] next_action_i,

    // MatchStage: a request ahead writes the same action. Bit 0: two clocks ahead; bits 1..3: Write - 2 .. Write clocks
    // ahead.
    input logic [3:0] match_entry_i,
    input logic [3:0] match_next_i,

    // OperandStage.
    output logic [Width-1:0] entry_o,
    output logic             entry_newest_o,
    output logic [Width-1:0] next_o,
    output logic             next_newest_o,

    // Stage Write.
    input logic                  clear_i,         // one clock earlier
    input logic [   RowBits-1:0] clear_row_i,
    input logic                  write_i,
    input logic [ActionBits-1:0] write_action_i,
    input logic [     Width-1:0] value_i,

    input  logic [RowBits-1:0]            choose_row_i,
    output logic [Actions-1:0][Width-1:0] choose_values_o
);

  // --- The rows of the requests in flight ---------------------------------------------------------------
  logic [Write+1:1][RowBits-1:0] row_q;
  logic [RowBits-1:0] next_row_q;

  always_ff @(posedge clk_i) begin
    row_q <= {row_q[Write:1], row_i};
    if (clear_i) row_q[Write] <= clear_row_i;
    next_row_q <= next_row_i;
  end

  for (genvar k = 0; k < Distance - 1; k++) begin : gen_ahead
    logic [RowBits-1:0] row;
    if (k == 0) begin : gen_request
      assign row = row_i;
    end else begin : gen_stage
      assign row = row_q[k];
    end
    assign depends_o[k] = (ahead_entry_i[k] && row == new_row_i) ||
        (ahead_next_i[k] && row == new_next_row_i);
  end
  assign collides_o = new_choose_row_i == new_row_i;

  // --- The table ----------------------------------------------------------------------------------------
  logic [Actions-1:0] write_lanes;
  logic [Width-1:0] entry, next;
  assign write_lanes = Actions'(write_i) << write_action_i;

  qs_ram #(
      .Words(Rows),
      .Lanes(Actions),
      .Width(Width)
  ) u_rows (
      .clk_i,
      .write_i      (write_lanes),
      .write_index_i(row_q[Write]),
      .write_data_i (value_i),
      .read_index_i (choose_row_i),
      .data_o       (choose_values_o)
  );

  qs_ram #(
      .Words(Words),
      .Width(Width)
  ) u_entries (
      .clk_i,
      .write_i,
      .write_index_i({write_action_i, row_q[Write]}),
      .write_data_i (value_i),
      .read_index_i ({action_i, row_i}),
      .data_o       (entry)
  );

  qs_ram #(
      .Words(Words),
      .Width(Width)
  ) u_next_entries (
      .clk_i,
      .write_i,
      .write_index_i({write_action_i, row_q[Write]}),
      .write_data_i (value_i),
      .read_index_i ({next_action_i, next_row_i}),
      .data_o       (next)
  );

  // --- Results that were not in the RAM when it was read ------------------------------------------------
  logic [1:0][Width-1:0] past_q;  // value_i one and two clocks ago
  logic [3:0] entry_match, next_match;
  logic [3:1] entry_match_q, next_match_q;

  for (genvar j = 0; j < 4; j++) begin : gen_match
    localparam int unsigned Ahead = j == 0 ? 2 : Write - 3 + j;
    assign entry_match[j] = match_entry_i[j] && row_q[MatchStage+Ahead] == row_q[MatchStage];
    assign next_match[j]  = match_next_i[j] && row_q[MatchStage+Ahead] == next_row_q;
  end

  function automatic logic [Width-1:0] taken(logic [3:1] match, logic [Width-1:0] stored);
    unique casez (match)
      3'b??1:  return value_i;
      3'b?10:  return past_q[0];
      3'b100:  return past_q[1];
      default: return stored;
    endcase
  endfunction

  always_ff @(posedge clk_i) begin
    past_q <= {past_q[0], value_i};
    entry_match_q <= entry_match[3:1];
    next_match_q <= next_match[3:1];
    entry_o <= taken(entry_match_q, entry);
    next_o <= taken(next_match_q, next);
  end

  if (Newest) begin : gen_newest
    qs_delay #(
        .Width(2),
        .Depth(OperandStage - MatchStage)
    ) u_newest (
        .clk_i,
        .data_i({entry_match[0], next_match[0]}),
        .data_o({entry_newest_o, next_newest_o})
    );
  end else begin : gen_older
    assign {entry_newest_o, next_newest_o} = '0;
    logic unused_newest;
    assign unused_newest = ^{entry_match[0], next_match[0]};
  end

endmodule
