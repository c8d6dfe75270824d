// SPDX-License-Identifier: Apache-2.0
// The generators of a lane's agents, and what a step draws: whether it explores, and its random action.
//
// Function    A word advances by xorshift (13, 7, 17) and is kept; three rounds of Simon make the lower half of a
//             draw, which is all that is needed here. Golden model: qstep.acting.draws.
// Timing      The word is read in stage 1 and written in stage 3; action_o is valid in stage 5, explores_o in
//             stage 6.
// Handshake   turn_i moves the word of agent_i by 16 bits: bits_i in at the top, bits_o out at the bottom. The
//             agents of both addresses must have been the same for two clocks.
// Reset       none: words are undefined until written.
// Hazards     none: an agent's word is written seven clocks before it is read again.
// Invariants  none
// Resources   Four block RAMs: 64 bits for each agent.
// Reference   as qs_draw

module qs_lockstep_draw
  import qs_lockstep_pkg::*;
(
    input logic clk_i,

    input logic [AgentBits-1:0] s1_agent_i,
    input logic [AgentBits-1:0] s3_agent_i,
    input logic                 s3_advance_i,
    input logic                 turn_i,
    input logic [         15:0] bits_i,
    input logic [         16:0] not_threshold_i,

    output logic [          15:0] bits_o,
    output logic [ActionBits-1:0] s5_action_o,
    output logic                  s6_explores_o
);

  function automatic logic [31:0] mixing(logic [31:0] word);
    return ({word[30:0], word[31]} & {word[23:0], word[31:24]}) ^ {word[29:0], word[31:30]};
  endfunction

  (* ram_style = "block", no_rw_check *) logic [63:0] mem[2**AgentBits];
  logic [63:0] word_q, half_q, half_d, advanced;
  logic [31:0] first_q, high_q, third_q;

  assign half_d   = word_q ^ (word_q << 13);
  assign advanced = turn_i ? {bits_i, word_q[63:16]} : half_q ^ (half_q << 17);
  assign bits_o   = word_q[15:0];

  always_ff @(posedge clk_i) begin
    word_q <= mem[s1_agent_i];
    half_q <= half_d ^ (half_d >> 7);
    if (s3_advance_i || turn_i) mem[s3_agent_i] <= advanced;
    first_q <= advanced[31:0] ^ mixing(advanced[63:32]);
    high_q <= advanced[63:32];
    third_q <= first_q ^ mixing(high_q ^ mixing(first_q));
    s6_explores_o <= {1'b0, third_q[31:16]} < ~not_threshold_i;
  end
  assign s5_action_o = third_q[15:14];

  logic unused_bits;
  assign unused_bits = ^third_q[13:0];

endmodule
