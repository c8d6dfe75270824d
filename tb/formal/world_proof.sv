// SPDX-License-Identifier: Apache-2.0
// qs_world answers from its tables, by state, action and draw, three clocks after the request.
//
// Function    The proof watches one arbitrary slot of an arbitrary state and action, and one slot of the start
//             states. Once all columns of a slot have been written, every request whose draw selects the slot is
//             answered with the item selected by the other bits of the draw, unless the slot is written in the clock
//             of the request.
// Assumed     States and actions are in range.

module world_proof
  import qs_agents_pkg::*;
#(
    parameter  int unsigned States     = 500,
    parameter  int unsigned Actions    = 6,
    parameter  int unsigned Width      = 16,
    parameter  int unsigned Outcomes   = 4,
    parameter  int unsigned Starts     = 512,
    localparam int unsigned StateBits  = $clog2(States),
    localparam int unsigned ActionBits = $clog2(Actions),
    localparam int unsigned SlotBits   = $clog2(Outcomes),
    localparam int unsigned StartBits  = $clog2(Starts)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                  world_write_i,
    input logic                  start_write_i,
    input logic [          29:0] index_i,
    input logic [          31:0] data_i,
    input logic [ StateBits-1:0] state_i,
    input logic [ActionBits-1:0] action_i,
    input logic [  DrawBits-1:0] outcome_i,
    input logic [  DrawBits-1:0] start_i
);

  localparam int unsigned ItemBits = Width + StateBits + 1;

  logic signed [Width-1:0] reward_o;
  logic [StateBits-1:0] next_state_o, start_state_o;
  logic terminated_o;
  qs_world #(
      .States  (States),
      .Actions (Actions),
      .Width   (Width),
      .Outcomes(Outcomes),
      .Starts  (Starts)
  ) u_world (
      .*
  );

  // The watched slots, arbitrary constants.
  logic [StateBits-1:0] state;
  logic [ActionBits-1:0] action;
  logic [SlotBits-1:0] slot;
  logic [StartBits-1:0] start;

  // The last written data, in columns of 32 bits: {split, second, first} from the most significant bit.
  logic [2:0][31:0] outcome_q;
  logic [1:0][31:0] start_q;
  logic [2:0] outcome_known_q = '0;
  logic [1:0] start_known_q = '0;
  logic [16:0] split, start_split;
  logic [ItemBits-1:0] first, second;
  logic [StateBits-1:0] start_first, start_second;
  assign {split, second, first} = (2 * ItemBits + 17)'(outcome_q);
  assign {start_split, start_second, start_first} = (2 * StateBits + 17)'(start_q);

  logic outcome_writes, start_writes;
  assign outcome_writes = world_write_i && index_i[14+:StateBits] == state &&
      index_i[8+:ActionBits] == action && index_i[2+:SlotBits] == slot;
  assign start_writes = start_write_i && index_i[1+:StartBits] == start;

  // Requests of one to three clocks ago, and their answers.
  logic outcome_asked, start_asked;
  logic [3:1] outcome_asked_q = '0, start_asked_q = '0;
  logic [3:1][ ItemBits-1:0] outcome_answer_q;
  logic [3:1][StateBits-1:0] start_answer_q;
  assign outcome_asked = &outcome_known_q && !outcome_writes && state_i == state &&
      action_i == action && outcome_i[DrawBits-1-:SlotBits] == slot;
  assign start_asked = &start_known_q && !start_writes && start_i[DrawBits-1-:StartBits] == start;

  always_ff @(posedge clk_i) begin
    state  <= state;
    action <= action;
    slot   <= slot;
    start  <= start;
    for (int unsigned c = 0; c < 3; c++)
    if (outcome_writes && 32'(index_i[1:0]) == c) begin
      outcome_q[c] <= data_i;
      outcome_known_q[c] <= 1'b1;
    end
    for (int unsigned c = 0; c < 2; c++)
    if (start_writes && 32'(index_i[0]) == c) begin
      start_q[c] <= data_i;
      start_known_q[c] <= 1'b1;
    end
    outcome_asked_q <= {outcome_asked_q[2:1], outcome_asked};
    start_asked_q <= {start_asked_q[2:1], start_asked};
    outcome_answer_q <= {
      outcome_answer_q[2:1], 17'(outcome_i[DrawBits-SlotBits-1:0]) < split ? first : second
    };
    start_answer_q <= {
      start_answer_q[2:1],
      17'(start_i[DrawBits-StartBits-1:0]) < start_split ? start_first : start_second
    };
  end

  always_comb begin
    assume (32'(state) < States && 32'(action) < Actions);
    assume (32'(state_i) < States && 32'(action_i) < Actions);
    assume (32'(index_i[14+:StateBits]) < States && 32'(index_i[8+:ActionBits]) < Actions);
  end

  // The contents of the memories.
  for (genvar c = 0; c < 3; c++) begin : gen_column
    localparam int unsigned Left = 2 * ItemBits + 17 - 32 * c;
    localparam int unsigned Bits = Left < 32 ? Left : 32;
    logic [Bits-1:0] held;
    assign held = u_world.u_outcomes.gen_column[c].u_ram.mem[{action, slot, state}];
    always_comb Held_L : assert (!outcome_known_q[c] || held == outcome_q[c][Bits-1:0]);
  end
  for (genvar c = 0; c < 2; c++) begin : gen_start_column
    localparam int unsigned Left = 2 * StateBits + 17 - 32 * c;
    localparam int unsigned Bits = Left < 32 ? Left : 32;
    logic [Bits-1:0] held;
    assign held = u_world.gen_starts.u_starts.gen_column[c].u_ram.mem[start];
    always_comb Start_L : assert (!start_known_q[c] || held == start_q[c][Bits-1:0]);
  end

  always_comb begin
    Outcome_A :
    assert (!outcome_asked_q[3] || {terminated_o, next_state_o, reward_o} == outcome_answer_q[3]);
    StartState_A : assert (!start_asked_q[3] || start_state_o == start_answer_q[3]);
    Answers_C :
    cover (outcome_asked_q[3] && start_asked_q[3] && terminated_o && start_state_o != 0);
  end

endmodule
