// SPDX-License-Identifier: Apache-2.0
// The random generators of all agents: one word each, and the draws from it.
//
// Function    The word of the agent in stage 2 advances (xorshift 13, 7, 17) if advance_i is 1. In any case it
//             gives a draw: four keyless rounds of Simon on words of 32 bits, and a fifth round for bits that
//             few builds need. Golden model: qstep.spec.random.
// Timing      One slot per clock. Stage 1 reads the word, stage 3 writes it back; the draw is valid in stage 5,
//             the fifth round's bits in stage 6. Two rounds, or all of xorshift, lie between registers.
// Handshake   load_i[h] replaces half h of the word of the agent in stage 3.
// Reset       none: words are undefined until loaded.
// Hazards     none: a slot returns after it has been written.
// Invariants  NeverZero_A
// Resources   64 bits per agent; flip-flops of unused draw bits are optimised away.
// Reference   G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003); Beaulieu et al., "The
//             SIMON and SPECK families of lightweight block ciphers" (2013).

`include "qs_assert.svh"

module qs_draw #(
    parameter int unsigned Agents = 16  // 1..16
) (
    input logic clk_i,
    input logic rst_i,  // only gates the assertion

    input logic [qs_agents_pkg::AgentBits-1:0] s1_agent_i,
    input logic                                s2_advance_i,
    input logic [qs_agents_pkg::AgentBits-1:0] s3_agent_i,
    input logic                                s3_write_i,    // the slot has an agent
    input logic [                         1:0] s3_load_i,
    input logic [                        31:0] load_data_i,

    output logic [                        63:0] s2_word_o,
    output logic [                        63:0] s5_draw_o,      // outcome, start, explore, action
    output logic [qs_agents_pkg::NoiseBits-1:0] s6_rounding_o,
    output logic                                s6_table_o
);

  function automatic logic [31:0] mixing(logic [31:0] word);
    return ({word[30:0], word[31]} & {word[23:0], word[31:24]}) ^ {word[29:0], word[31:30]};
  endfunction

  function automatic logic [63:0] round(logic [63:0] halves);
    return {halves[31:0] ^ mixing(halves[63:32]), halves[63:32]};
  endfunction

  logic [63:0] word_a, word_b, advanced, s3_word_q, s4_halves_q, s5_halves_q;
  logic [31:0] extra;

  for (genvar h = 0; h < 2; h++) begin : gen_half
    qs_agent_ram #(
        .Agents(Agents),
        .Width (32)
    ) u_word (
        .clk_i,
        .write_i      (s3_write_i),
        .write_agent_i(s3_agent_i),
        .write_data_i (s3_load_i[h] ? load_data_i : s3_word_q[32*h+:32]),
        .read_agent_i (s1_agent_i),
        .clear_i      (1'b0),
        .data_o       (s2_word_o[32*h+:32])
    );
  end

  assign word_a   = s2_word_o ^ (s2_word_o << 13);
  assign word_b   = word_a ^ (word_a >> 7);
  assign advanced = word_b ^ (word_b << 17);

  always_ff @(posedge clk_i) begin
    s3_word_q   <= s2_advance_i ? advanced : s2_word_o;
    s4_halves_q <= round(round(s3_word_q));
    s5_halves_q <= round(round(s4_halves_q));
  end

  assign s5_draw_o = s5_halves_q;

  assign extra = s5_halves_q[31:0] ^ mixing(s5_halves_q[63:32]);
  always_ff @(posedge clk_i) {s6_rounding_o, s6_table_o} <= extra[31:16];

  logic unused_extra;
  assign unused_extra = ^extra[15:0];

  `QS_ASSERT(NeverZero_A, !s2_advance_i || s2_word_o != 0)

endmodule
