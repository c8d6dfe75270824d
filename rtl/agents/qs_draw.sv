// SPDX-License-Identifier: Apache-2.0
// Random generators of all agents: one word per agent, and the draws from it.
//
// Function    If advance_i is 1, the word of the agent in AdvanceStage advances (xorshift 13, 7, 17). In either case, a
//             draw is computed from the word: four keyless rounds of Simon on 32-bit words, and a fifth round for bits
//             that few builds need. Golden model: qstep.spec.random.
// Timing      One slot per clock. The word is read in BeginStage and written back in MixStage. The draw is valid in
//             RequestStage, and the fifth round's bits in PolicyStage. At most two rounds, or one xorshift, per stage.
// Handshake   mix_load_i[h] replaces half h of the word of the agent in MixStage.
// Reset       none: words are undefined until loaded.
// Hazards     none: a word is written before its agent's next read.
// Invariants  NeverZero_A
// Resources   64 bits per agent; flip-flops of unused draw bits are optimised away.
// Reference   G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003); Beaulieu et al., "The
//             SIMON and SPECK families of lightweight block ciphers" (2013).

`include "qs_assert.svh"

module qs_draw #(
    parameter int unsigned Agents        = 16,  // 1..16
    parameter int unsigned CoeffFraction = 15   // bits for rounding, 15..24
) (
    input logic clk_i,
    input logic rst_i,  // only gates the assertion

    input logic [qs_agents_pkg::AgentBits-1:0] begin_agent_i,
    input logic                                advance_i,
    input logic [qs_agents_pkg::AgentBits-1:0] mix_agent_i,
    input logic                                mix_write_i,    // the slot has an agent
    input logic [                         1:0] mix_load_i,
    input logic [                        31:0] load_data_i,

    output logic [63:0] advance_word_o,
    output logic [63:0] request_draw_o,  // outcome, start, explore, action
    output logic [CoeffFraction-1:0] policy_rounding_o,
    output logic policy_table_o
);

  function automatic logic [31:0] mixing(logic [31:0] word);
    return ({word[30:0], word[31]} & {word[23:0], word[31:24]}) ^ {word[29:0], word[31:30]};
  endfunction

  function automatic logic [63:0] round(logic [63:0] halves);
    return {halves[31:0] ^ mixing(halves[63:32]), halves[63:32]};
  endfunction

  logic [63:0] word_a, word_b, advanced, mix_word_q, fetch_halves_q, request_halves_q;
  logic [31:0] extra;
  logic [30:0] rounding;  // without the bit that selects the table

  for (genvar h = 0; h < 2; h++) begin : gen_half
    qs_agent_ram #(
        .Agents(Agents),
        .Width (32)
    ) u_word (
        .clk_i,
        .write_i      (mix_write_i),
        .write_agent_i(mix_agent_i),
        .write_data_i (mix_load_i[h] ? load_data_i : mix_word_q[32*h+:32]),
        .read_agent_i (begin_agent_i),
        .clear_i      (1'b0),
        .data_o       (advance_word_o[32*h+:32])
    );
  end

  assign word_a   = advance_word_o ^ (advance_word_o << 13);
  assign word_b   = word_a ^ (word_a >> 7);
  assign advanced = word_b ^ (word_b << 17);

  always_ff @(posedge clk_i) begin
    mix_word_q <= advance_i ? advanced : advance_word_o;
    fetch_halves_q <= round(round(mix_word_q));
    request_halves_q <= round(round(fetch_halves_q));
  end

  assign request_draw_o = request_halves_q;

  assign extra = request_halves_q[31:0] ^ mixing(request_halves_q[63:32]);
  assign rounding = {extra[31:17], extra[15:0]};
  always_ff @(posedge clk_i) begin
    policy_rounding_o <= rounding[30-:CoeffFraction];
    policy_table_o <= extra[16];
  end

  logic unused_rounding;
  assign unused_rounding = ^rounding[30-CoeffFraction:0];

  `QS_ASSERT(NeverZero_A, !advance_i || advance_word_o != 0)

endmodule
