// SPDX-License-Identifier: Apache-2.0
// Exploration for choose requests: forced by the request, or random.
//
// Function    Each choose request advances the word of one generator (xorshift 13, 7, 17), from which four keyless
//             rounds of Simon yield a draw. A request may force exploration with a given action. Any other request
//             explores if its draw is below threshold_i, with action (draw * Actions) >> 16. Golden model: PlanesModel
//             in qstep.golden.planes.
// Timing      ExploreStages (4) clocks; one request per clock. At most two rounds, or one xorshift, per stage.
// Handshake   none
// Reset       Loads the word from word_i.
// Hazards     none
// Invariants  NeverZero_A
// Resources   64 + 64 + 32 bits; optimised away if threshold_i is constant 0.
// Reference   G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003); Beaulieu et al., "The SIMON
//             and SPECK families of lightweight block ciphers" (2013).

`include "qs_assert.svh"

module qs_planes_explore
  import qs_planes_pkg::*;
#(
    parameter  int unsigned Actions    = 15,              // 2..64
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,

    input logic [63:0] word_i,      // before the first draw, not 0
    input logic [16:0] threshold_i, // 0..65536

    input logic                  valid_i,
    input logic                  explore_i,
    input logic [ActionBits-1:0] action_i,

    output logic                  explore_o,
    output logic [ActionBits-1:0] action_o
);

  localparam int unsigned DrawBits = 16;
  localparam int unsigned ScaledBits = DrawBits + ActionBits + 1;

  function automatic logic [31:0] mixing(logic [31:0] word);
    return ({word[30:0], word[31]} & {word[23:0], word[31:24]}) ^ {word[29:0], word[31:30]};
  endfunction

  function automatic logic [63:0] round(logic [63:0] halves);
    return {halves[31:0] ^ mixing(halves[63:32]), halves[63:32]};
  endfunction

  function automatic logic [63:0] advanced(logic [63:0] word);
    logic [63:0] left, right;
    left  = word ^ (word << 13);
    right = left ^ (left >> 7);
    return right ^ (right << 17);
  endfunction

  logic [63:0] word_q, halves_q, draw_q;
  logic [ScaledBits-1:0] scaled;
  logic given, draws_q;
  logic [ActionBits-1:0] given_action, drawn_q;

  always_ff @(posedge clk_i) begin
    if (valid_i) word_q <= advanced(word_q);
    halves_q <= round(round(word_q));
    draw_q   <= round(round(halves_q));
    draws_q  <= {1'b0, draw_q[DrawBits+:DrawBits]} < threshold_i;
    drawn_q  <= scaled[DrawBits+:ActionBits];
    if (rst_i) word_q <= word_i;
  end
  assign scaled = ScaledBits'(draw_q[DrawBits-1:0]) * ScaledBits'(Actions);

  qs_delay #(
      .Width(1 + ActionBits),
      .Depth(ExploreStages)
  ) u_given (
      .clk_i,
      .data_i({explore_i, action_i}),
      .data_o({given, given_action})
  );

  assign explore_o = given || draws_q;
  assign action_o  = given ? given_action : drawn_q;

  logic unused_bits;
  assign unused_bits = ^{draw_q, scaled};

  `QS_ASSERT(NeverZero_A, !valid_i || word_q != 0)

endmodule
