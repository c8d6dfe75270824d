// SPDX-License-Identifier: Apache-2.0
// The 5x5 grid world as logic, without a table: an example of a circuit world.
//
// Function    Implements the world `gridworld`, whose cells are numbered row by row from the upper left corner:
//
//                 S....      S start, G goal: +1, H hole: -5, both end the episode; all other cells: -1
//                 H..H.      actions: 0 up, 1 down, 2 left, 3 right; no move leaves the grid
//                 .....
//                 .H...
//                 ..H.G
//
// Timing      Three clocks from a request to its answer, as the port requires; one request per clock.
// Handshake   Always ready. docs/circuit-worlds.md describes the port.
// Reset       none
// Hazards     none
// Invariants  none
// Resources   No memory.
// Reference   none

module gridworld #(
    parameter  int unsigned States     = 25,              // 25 or more
    parameter  int unsigned Actions    = 4,               // 4
    parameter  int unsigned Width      = 16,
    parameter  int unsigned Fraction   = 8,               // Width - Fraction is 4 or more
    localparam int unsigned StateBits  = $clog2(States),
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                  valid_i,
    input logic [           3:0] agent_i,
    input logic [ StateBits-1:0] state_i,
    input logic [ActionBits-1:0] action_i,
    input logic [          15:0] outcome_i,
    input logic [          15:0] start_i,

    output logic                        ready_o,
    output logic signed [    Width-1:0] reward_o,
    output logic        [StateBits-1:0] next_state_o,
    output logic                        terminated_o,
    output logic        [StateBits-1:0] start_state_o
);

  localparam int unsigned Side = 5;
  localparam logic [24:0] Holes = 25'b00100_00010_00000_01001_00000;  // cell 0 is the lowest bit
  localparam int unsigned Goal = 24;

  logic [4:0] cell_q, entered_q;
  logic [1:0] action_q;
  logic is_goal, is_hole;

  always_ff @(posedge clk_i) begin
    cell_q    <= state_i[4:0];
    action_q  <= action_i[1:0];
    entered_q <= cell_q;
    unique case (action_q)
      2'd0: if (cell_q >= 5'(Side)) entered_q <= cell_q - 5'(Side);
      2'd1: if (cell_q < 5'(Goal + 1 - Side)) entered_q <= cell_q + 5'(Side);
      2'd2: if (!(cell_q inside {5'd0, 5'd5, 5'd10, 5'd15, 5'd20})) entered_q <= cell_q - 1'b1;
      2'd3: if (!(cell_q inside {5'd4, 5'd9, 5'd14, 5'd19, 5'd24})) entered_q <= cell_q + 1'b1;
    endcase
  end

  assign is_goal = entered_q == 5'(Goal);
  assign is_hole = entered_q < 5'(Goal) && Holes[entered_q];
  always_ff @(posedge clk_i) begin
    next_state_o <= StateBits'(entered_q);
    terminated_o <= is_goal || is_hole;
    reward_o     <= (is_goal ? Width'(1) : is_hole ? -Width'(5) : -Width'(1)) << Fraction;
  end

  assign ready_o = 1'b1;
  assign start_state_o = '0;

  logic unused_inputs;
  assign unused_inputs = ^{rst_i, valid_i, agent_i, state_i, action_i, outcome_i, start_i};

endmodule
