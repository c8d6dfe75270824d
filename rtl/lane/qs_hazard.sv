// SPDX-License-Identifier: Apache-2.0
// Hazard detection: the results in flight on which the next transition depends.
//
// Function    Tracks state and action of the Window transitions ahead; slot d is d clocks ahead. For the
//             transition in the issue register (distance 0):
//               replaces_entry_o[d]  slot d is the youngest slot ahead that writes Q[state, action]
//               joins_max_o[d]       slot d writes an entry of row next_state, and is the youngest slot
//                                    ahead that writes this entry
//             Two clocks later, mask_o[a] is 1 for every action of row next_state that some slot writes:
//             the value read from the table is stale, and a joined value replaces it.
//             If the distance is below LoopDepth, the result cannot be ready in time: hold_o is 1, a
//             bubble enters slot 1, and the transition retries one clock later.
//             Golden model: the order contract, that is, qstep.golden.lane applied to one transition at a time.
//             The comparisons for hold_o are made one clock early, on the next content of the issue register,
//             because hold_o stops all earlier stages.
// Timing      replaces_entry_o, joins_max_o: combinational from the issue register (one comparator, a few gates).
//             hold_o: from registers of this module and issue_valid_i. mask_o: two clocks. One transition per clock.
// Handshake   A transition enters slot 1 at the next edge if issue_valid_i is 1 and hold_o is 0; while hold_o is 1 it
//             must be held. While hold_o is 0, offer_* must be the issue register's content in the next clock.
// Reset       Empties the slots; their states and actions are undefined.
// Hazards     resolved by this module
// Invariants  OneReplaces_A, LoopIsClosed_A
// Resources   2 * Window comparators of StateBits bits.
// Reference   none

`include "qs_assert.svh"

module qs_hazard #(
    parameter  int unsigned States     = 64,                                       // 2..65536
    parameter  int unsigned Actions    = 4,                                        // 2..64
    parameter  int unsigned LoopDepth  = 1,                                        // 1..3
    localparam int unsigned Window     = qs_pkg::write_stage(Actions, LoopDepth),
    localparam int unsigned StateBits  = $clog2(States),
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                  issue_valid_i,
    input  logic [ StateBits-1:0] issue_state_i,
    input  logic [ActionBits-1:0] issue_action_i,
    input  logic [ StateBits-1:0] issue_next_state_i,
    input  logic [ StateBits-1:0] offer_state_i,
    input  logic [ActionBits-1:0] offer_action_i,
    input  logic [ StateBits-1:0] offer_next_state_i,
    output logic                  hold_o,
    output logic [      Window:1] replaces_entry_o,
    output logic [      Window:1] joins_max_o,
    output logic [   Actions-1:0] mask_o,

    // The slots: valid bits, and the entry of the oldest slot, whose result is written in this clock.
    output logic [      Window:1] valid_o,
    output logic [ StateBits-1:0] write_state_o,
    output logic [ActionBits-1:0] write_action_o,
    output logic [ActionBits-1:0] write_rank_o     // complement of write_action_o, from a register
);

  logic issue;
  logic [Window:1] valid_q, youngest_q, same;
  // Bit d: slot d, if valid, writes the entry, or any entry of the row.
  logic [Window:1] same_entry, same_row;
  logic [Window:1][StateBits-1:0] state_q;
  logic [Window+1:1][ActionBits-1:0] action_q;
  logic [ActionBits-1:0] rank_q;
  logic [Window:1] joins_max_q;
  logic [Actions-1:0] mask_q;

  always_comb begin
    same = '0;
    replaces_entry_o = '0;
    joins_max_o = '0;
    if (issue_valid_i) begin
      for (int unsigned d = 1; d <= Window; d++) begin
        same[d] = valid_q[d] && same_entry[d];
        replaces_entry_o[d] = same[d] && youngest_q[d];
        joins_max_o[d] = valid_q[d] && youngest_q[d] && same_row[d];
      end
    end
  end

  for (genvar d = 1; d <= Window; d++) begin : gen_compare
    if (d >= LoopDepth) begin : gen_far
      assign same_entry[d] = state_q[d] == issue_state_i && action_q[d] == issue_action_i;
      assign same_row[d]   = state_q[d] == issue_next_state_i;
    end else begin : gen_near
      // The next content of slot d is now in slot d - 1, or for slot 1 in the issue register, unless that register is
      // held.
      logic same_entry_q, same_row_q, held_same_entry, held_same_row;
      logic [ StateBits-1:0] state;
      logic [ActionBits-1:0] action;
      if (d == 1) begin : gen_issue
        assign state = issue_state_i;
        assign action = issue_action_i;
        assign held_same_entry = 1'b0;
        assign held_same_row = 1'b0;
      end else begin : gen_slot
        assign state = state_q[d-1];
        assign action = action_q[d-1];
        assign held_same_entry = same_entry[d-1];
        assign held_same_row = same_row[d-1];
      end
      always_ff @(posedge clk_i) begin
        if (!hold_o) begin
          same_entry_q <= state == offer_state_i && action == offer_action_i;
          same_row_q   <= state == offer_next_state_i;
        end else begin
          same_entry_q <= held_same_entry;
          same_row_q   <= held_same_row;
        end
      end
      assign same_entry[d] = same_entry_q;
      assign same_row[d]   = same_row_q;
    end
  end

  if (LoopDepth > 1) begin : gen_hold
    assign hold_o = issue_valid_i &&
        |(replaces_entry_o[LoopDepth-1:1] | joins_max_o[LoopDepth-1:1]);
  end else begin : gen_no_hold
    logic unused_offer;
    assign hold_o = 1'b0;
    assign unused_offer = ^{offer_state_i, offer_action_i, offer_next_state_i};
  end
  assign issue = issue_valid_i && !hold_o;

  always_ff @(posedge clk_i) begin
    state_q <= {state_q[Window-1:1], issue_state_i};
    action_q <= {action_q[Window:1], issue_action_i};
    rank_q <= ~action_q[Window-1];
    valid_q <= {valid_q[Window-1:1], issue};
    // A slot stops being the youngest writer of its entry when a younger one enters.
    youngest_q <= {youngest_q[Window-1:1] & ~(same[Window-1:1] & ({(Window - 1) {issue}})), 1'b1};
    joins_max_q <= joins_max_o;
    if (rst_i) valid_q <= '0;
  end

  // One clock after issue, the slots and their actions have advanced by one.
  always_ff @(posedge clk_i) begin
    if (valid_q[1]) begin
      mask_q <= '0;
      for (int unsigned d = 1; d <= Window; d++) begin
        if (joins_max_q[d]) mask_q[action_q[d+1]] <= 1'b1;
      end
    end
  end

  assign mask_o = mask_q;
  assign valid_o = valid_q;
  assign write_state_o = state_q[Window];
  assign write_action_o = action_q[Window];
  assign write_rank_o = rank_q;

  `QS_ASSERT(OneReplaces_A, !issue_valid_i || $onehot0(replaces_entry_o))
  // A transition that leaves the issue register never depends on a result less than LoopDepth clocks ahead.
  if (LoopDepth > 1) begin : gen_loop_is_closed
    `QS_ASSERT(LoopIsClosed_A,
               !issue || (replaces_entry_o[LoopDepth-1:1] | joins_max_o[LoopDepth-1:1]) == '0)
  end

endmodule
