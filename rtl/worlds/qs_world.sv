// SPDX-License-Identifier: Apache-2.0
// A tabular world: draws the outcome of each state and action, and start states, by the alias method.
//
// Function    The upper log2(Outcomes) bits of outcome_i choose a slot of (state_i, action_i). Its first outcome is
//             selected if the other bits are below its split, else its second. Start states work the same way with
//             start_i and Starts slots. With one slot there is no choice: only the first outcome is stored. Golden
//             model: qstep.mdp.memory.
// Timing      Three clocks from request to answer; one request per clock; always ready.
// Handshake   world_write_i and start_write_i write a 32-bit column of a word; docs/agents.md defines the layout of
//             words.
// Reset       none: memories are undefined until written.
// Hazards     none: memories are written only while there are no requests.
// Invariants  none
// Resources   Actions * States * Outcomes words of 2 D + 17 bits, or of D bits with one outcome; D = Width +
//             StateBits + 1.
// Reference   A. J. Walker, "An efficient method for generating discrete random variables", ACM TOMS 3 (1977).

module qs_world
  import qs_agents_pkg::*;
  import qs_map_pkg::*;
#(
    parameter  int unsigned States     = 32,              // 2..65536
    parameter  int unsigned Actions    = 4,               // 2..64
    parameter  int unsigned Width      = 16,              // 8..32
    parameter  int unsigned Outcomes   = 1,               // a power of two, 1..64
    parameter  int unsigned Starts     = 1,               // a power of two, 1..65536
    localparam int unsigned StateBits  = $clog2(States),
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,

    input logic          world_write_i,
    input logic          start_write_i,
    input index_t        index_i,
    input logic   [31:0] data_i,

    input  logic        [ StateBits-1:0] state_i,
    input  logic        [ActionBits-1:0] action_i,
    input  logic        [  DrawBits-1:0] outcome_i,
    input  logic        [  DrawBits-1:0] start_i,
    output logic signed [     Width-1:0] reward_o,
    output logic        [ StateBits-1:0] next_state_o,
    output logic                         terminated_o,
    output logic        [ StateBits-1:0] start_state_o
);

  localparam int unsigned SlotBits = $clog2(Outcomes);
  localparam int unsigned StartBits = $clog2(Starts);

  // Addresses are {action, slot, state}, so any number of actions uses the memory fully.
  localparam int unsigned PairBits = ActionBits + SlotBits;
  logic [PairBits+StateBits-1:0] read, write;

  if (SlotBits > 0) begin : gen_slots
    assign read = {action_i, outcome_i[DrawBits-1-:SlotBits], state_i};
    assign write = {
      index_i.in_world.action[ActionBits-1:0],
      index_i.in_world.slot[SlotBits-1:0],
      index_i.in_world.state[StateBits-1:0]
    };
  end else begin : gen_slot
    assign read = {action_i, state_i};
    assign write = {index_i.in_world.action[ActionBits-1:0], index_i.in_world.state[StateBits-1:0]};
  end

  qs_alias #(
      .Words    (Actions * Outcomes << StateBits),
      .Slots    (Outcomes),
      .DataWidth(Width + StateBits + 1)
  ) u_outcomes (
      .clk_i,
      .write_i  (world_write_i),
      .address_i(write),
      .column_i (index_i.in_world.column),
      .data_i,
      .read_i   (read),
      .draw_i   (outcome_i),
      .chosen_o ({terminated_o, next_state_o, reward_o})
  );

  if (StartBits > 0) begin : gen_starts
    qs_alias #(
        .Words    (Starts),
        .Slots    (Starts),
        .DataWidth(StateBits)
    ) u_starts (
        .clk_i,
        .write_i  (start_write_i),
        .address_i(index_i.in_starts.start[StartBits-1:0]),
        .column_i ({1'b0, index_i.in_starts.column}),
        .data_i,
        .read_i   (start_i[DrawBits-1-:StartBits]),
        .draw_i   (start_i),
        .chosen_o (start_state_o)
    );
  end else begin : gen_start
    always_ff @(posedge clk_i)
      if (start_write_i && !index_i.in_starts.column)
        start_state_o <= data_i[StateBits-1:0];
  end

  logic unused_bits;
  assign unused_bits = ^{index_i, start_i};

endmodule
