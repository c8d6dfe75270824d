// SPDX-License-Identifier: Apache-2.0
// Record interface of the lane: checks transitions, queues results, and keeps both in order.
//
// Function    An input record is a transition: bytes 0..3 state, 4..7 next state, 8..11 reward (signed), 12..13
//             action, 14..15 terminated (0 or 1). A record that is cut off, or has a field out of range, is refused
//             and does not reach the lane. Each input record produces one output record, in order and with the same
//             `last`: bytes 0..3 the new value, 4..7 the maximum of row next_state before the update, both signed,
//             8..11 the action with that maximum, 12..15 flags: 1 saturated, 2 forwarded, 4 refused (all other fields
//             are then 0).
// Timing      WriteStage + 3 clocks from an input record to its output record, if the lane does not hold the
//             transition. One record per clock.
// Handshake   A record is held until it is accepted. A transition is offered only if there is room for its result, as
//             the lane's results cannot be stalled. While pause_i is 1, no new transition is offered. idle_o is 1 while
//             no transition is offered.
// Reset       Drops all transitions and results.
// Hazards     none
// Invariants  ResultHasRoom_A
// Resources   Two queues of Depth words.
// Reference   none

`include "qs_assert.svh"

module qs_bus_stream #(
    parameter  int unsigned States     = 64,              // as in qs_lane
    parameter  int unsigned Actions    = 4,
    parameter  int unsigned Width      = 16,
    parameter  int unsigned LoopDepth  = 1,
    localparam int unsigned StateBits  = $clog2(States),
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic         in_valid_i,
    output logic         in_ready_o,
    input  logic [127:0] in_data_i,
    input  logic         in_last_i,
    input  logic         in_cut_i,

    output logic         out_valid_o,
    input  logic         out_ready_i,
    output logic [127:0] out_data_o,
    output logic         out_last_o,

    input  logic pause_i,
    output logic idle_o,
    output logic waits_o,    // a record is waiting for the lane
    output logic refused_o,  // events, one clock each
    output logic cut_o,

    output logic                  tr_valid_o,
    input  logic                  tr_ready_i,
    output logic [ StateBits-1:0] tr_state_o,
    output logic [ActionBits-1:0] tr_action_o,
    output logic [     Width-1:0] tr_reward_o,
    output logic [ StateBits-1:0] tr_next_state_o,
    output logic                  tr_terminated_o,

    input logic                         res_valid_i,
    input logic signed [     Width-1:0] res_value_i,
    input logic signed [     Width-1:0] res_max_i,
    input logic        [ActionBits-1:0] res_greedy_i,
    input logic                         res_saturated_i,
    input logic                         res_forwarded_i
);

  // Enough for all transitions in flight between the offer and the result queue, so a full queue never stalls the lane.
  localparam int unsigned Depth = 1 << $clog2(qs_pkg::write_stage(Actions, LoopDepth) + 4);
  localparam int unsigned ResultBits = 2 * Width + ActionBits + 2;

  // --- The next transition --------------------------------------------------------------------------
  logic have_q, last_q, cut_q, legal_q, offered_q;
  logic [2*StateBits+ActionBits+Width:0] tr_q;
  logic legal, leaves, room;
  logic [31:0] reward;

  assign reward = in_data_i[95:64];
  assign legal = in_data_i[31:0] < States && in_data_i[63:32] < States && reward == 32'($signed(
      reward[Width-1:0]
  )) && 32'(in_data_i[111:96]) < Actions && in_data_i[127:113] == '0 && !in_cut_i;
  assign in_ready_o = !have_q || leaves;

  always_ff @(posedge clk_i) begin
    if (in_ready_o) begin
      have_q <= in_valid_i;
      last_q <= in_last_i;
      cut_q <= in_cut_i;
      legal_q <= legal;
      tr_q <= {
        in_data_i[StateBits-1:0],
        in_data_i[96+:ActionBits],
        reward[Width-1:0],
        in_data_i[32+:StateBits],
        in_data_i[112]
      };
    end
    offered_q <= tr_valid_o && !tr_ready_i;
    if (rst_i) begin
      have_q <= 1'b0;
      offered_q <= 1'b0;
    end
  end

  assign {tr_state_o, tr_action_o, tr_reward_o, tr_next_state_o, tr_terminated_o} = tr_q;
  assign tr_valid_o = have_q && legal_q && room && (!pause_i || offered_q);
  assign leaves = (tr_valid_o && tr_ready_i) || (have_q && !legal_q && room);
  assign idle_o = !tr_valid_o;
  assign waits_o = have_q;
  assign cut_o = leaves && cut_q;
  assign refused_o = leaves && !legal_q && !cut_q;

  // --- Transitions in flight, in order --------------------------------------------------------------
  logic next_valid, next_refused, result_valid, result_room, result_taken;
  logic [ResultBits-1:0] result;

  qs_bus_fifo #(
      .Width(2),
      .Depth(Depth)
  ) u_order (
      .clk_i,
      .rst_i,
      .put_i  (leaves),
      .data_i ({last_q, !legal_q}),
      .room_o (room),
      .valid_o(next_valid),
      .data_o ({out_last_o, next_refused}),
      .take_i (out_valid_o && out_ready_i)
  );

  qs_bus_fifo #(
      .Width(ResultBits),
      .Depth(Depth)
  ) u_results (
      .clk_i,
      .rst_i,
      .put_i  (res_valid_i),
      .data_i ({res_value_i, res_max_i, res_greedy_i, res_forwarded_i, res_saturated_i}),
      .room_o (result_room),
      .valid_o(result_valid),
      .data_o (result),
      .take_i (result_taken)
  );

  logic signed [Width-1:0] value, maximum;
  logic [ActionBits-1:0] greedy;
  logic [1:0] flags;

  assign {value, maximum, greedy, flags} = result;
  assign out_valid_o = next_valid && (next_refused || result_valid);
  assign result_taken = out_valid_o && out_ready_i && !next_refused;
  assign out_data_o = next_refused ? {32'd4, 96'd0} : {
    32'(flags), 32'(greedy), 32'(maximum), 32'(value)
  };

  `QS_ASSERT(ResultHasRoom_A, !res_valid_i || result_room)

endmodule
