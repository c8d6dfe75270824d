// SPDX-License-Identifier: Apache-2.0
// qs_draw produces each agent's draws from its own word, as defined in qstep.spec.random.
//
// Function    The proof watches one arbitrary agent. Once both halves of its word have been loaded, its slot reads
//             the word's xorshift sequence, whatever other slots do, and its draws are the result of five rounds of
//             Simon on the word.
// Assumed     A slot returns to stage 1 only after stage 3. A word advances only after it has been loaded, and is
//             never loaded with 0.

module draw_proof #(
    parameter  int unsigned Agents        = 16,
    parameter  int unsigned CoeffFraction = 15,
    localparam int unsigned AgentBits     = qs_agents_pkg::AgentBits
) (
    input logic clk_i,
    input logic rst_i,

    input logic [AgentBits-1:0] begin_agent_i,
    input logic                 begin_live_i,
    input logic                 advance_i,
    input logic [          1:0] mix_load_i,
    input logic [         31:0] load_data_i
);

  // A slot in stages 1 to 6.
  logic [6:2][AgentBits-1:0] agent_q;
  logic [6:2] live_q = '0;
  always_ff @(posedge clk_i) begin
    agent_q <= {agent_q[5:2], begin_agent_i};
    live_q  <= {live_q[5:2], begin_live_i};
  end

  logic [63:0] advance_word_o, request_draw_o;
  logic [CoeffFraction-1:0] policy_rounding_o;
  logic policy_table_o;
  qs_draw #(
      .Agents       (Agents),
      .CoeffFraction(CoeffFraction)
  ) u_draw (
      .mix_agent_i(agent_q[3]),
      .mix_write_i(live_q[3]),
      .*
  );

  function automatic logic [31:0] left(logic [31:0] word, int unsigned places);
    return (word << places) | (word >> (32 - places));
  endfunction
  function automatic logic [63:0] simon(logic [63:0] halves);
    logic [31:0] high;
    high = halves[63:32];
    return {halves[31:0] ^ (left(high, 1) & left(high, 8)) ^ left(high, 2), high};
  endfunction
  function automatic logic [63:0] xorshift(logic [63:0] word);
    logic [63:0] x;
    x = word;
    x = x ^ (x << 13);
    x = x ^ (x >> 7);
    x = x ^ (x << 17);
    return x;
  endfunction

  // The watched agent, an arbitrary constant; its word, and the draws of its slot.
  logic [AgentBits-1:0] agent;
  logic [63:0] word_q, mix_word_q;
  logic [1:0] known_q = '0;
  logic [6:3] drawn_q = '0;
  logic [6:3][63:0] draw_q;
  logic [2:1] mine;
  logic mix_mine;
  assign mine = {live_q[2] && agent_q[2] == agent, begin_live_i && begin_agent_i == agent};
  assign mix_mine = live_q[3] && agent_q[3] == agent;

  logic [63:0] advance_next;
  assign advance_next = advance_i ? xorshift(word_q) : word_q;
  always_ff @(posedge clk_i) begin
    agent <= agent;
    mix_word_q <= advance_next;
    if (mix_mine) begin
      word_q <= {
        mix_load_i[1] ? load_data_i : mix_word_q[63:32],
        mix_load_i[0] ? load_data_i : mix_word_q[31:0]
      };
      known_q <= known_q | mix_load_i;
    end
    drawn_q <= {drawn_q[5:3], mine[2] && &known_q};
    draw_q  <= {draw_q[5:3], simon(simon(simon(simon(advance_next))))};
  end

  logic [63:0] held, extra;
  logic [30:0] rounding;
  assign extra = simon(draw_q[6]);
  assign rounding = {extra[63:49], extra[47:32]};
  assign held = {
    u_draw.gen_half[1].u_word.gen_memory.mem[agent], u_draw.gen_half[0].u_word.gen_memory.mem[agent]
  };

  logic past_q = 1'b0;
  always_ff @(posedge clk_i) past_q <= 1'b1;

  always_comb begin
    assume (past_q || rst_i);
    assume (32'(agent) < Agents && 32'(begin_agent_i) < Agents);
    assume (!begin_live_i || !live_q[2] || begin_agent_i != agent_q[2]);
    assume (!begin_live_i || !live_q[3] || begin_agent_i != agent_q[3]);
    assume (!mine[2] || !advance_i || (&known_q && word_q != 0));
    Word_L : assert (known_q[0] == 0 || held[31:0] == word_q[31:0]);
    Word_L2 : assert (known_q[1] == 0 || held[63:32] == word_q[63:32]);
    Stage3_L : assert (!mix_mine || !known_q[0] || u_draw.mix_word_q[31:0] == mix_word_q[31:0]);
    Stage3_L2 : assert (!mix_mine || !known_q[1] || u_draw.mix_word_q[63:32] == mix_word_q[63:32]);
    Word_A : assert (!mine[2] || known_q != '1 || advance_word_o == word_q);
    Half_A : assert (!mine[2] || !known_q[0] || advance_word_o[31:0] == word_q[31:0]);
    Half_A2 : assert (!mine[2] || !known_q[1] || advance_word_o[63:32] == word_q[63:32]);
    NeverZero_A : assert (!mine[2] || known_q != '1 || word_q == 0 || advance_next != 0);
    Draw_A : assert (!drawn_q[5] || request_draw_o == draw_q[5]);
    Extra_A : assert (!drawn_q[6] || policy_rounding_o == rounding[30-:CoeffFraction]);
    Table_A : assert (!drawn_q[6] || policy_table_o == extra[48]);
    Draws_C : cover (drawn_q[6] && mine[2] && word_q != 0 && policy_table_o);
  end

endmodule
