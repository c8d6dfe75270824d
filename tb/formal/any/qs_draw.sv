// SPDX-License-Identifier: Apache-2.0
// Replaces qs_draw: handles the agents' words in the same way, but with an arbitrary function instead of the rounds.
//
// Function    `draw_proof.sv` proves that qs_draw behaves like this with its own rounds.

module qs_draw #(
    parameter int unsigned Agents        = 16,
    parameter int unsigned CoeffFraction = 15
) (
    input logic clk_i,
    input logic rst_i,

    input logic [qs_agents_pkg::AgentBits-1:0] begin_agent_i,
    input logic                                advance_i,
    input logic [qs_agents_pkg::AgentBits-1:0] mix_agent_i,
    input logic                                mix_write_i,
    input logic [                         1:0] mix_load_i,
    input logic [                        31:0] load_data_i,

    output logic [             63:0] advance_word_o,
    output logic [             63:0] request_draw_o,
    output logic [CoeffFraction-1:0] policy_rounding_o,
    output logic                     policy_table_o
);

  logic [63:0] advanced, draw, mix_word_q, fetch_word_q, request_word_q;
  logic [CoeffFraction-1:0] rounding;
  logic one_table;

  qs_agent_ram #(
      .Agents(Agents),
      .Width (64)
  ) u_word (
      .clk_i,
      .write_i(mix_write_i),
      .write_agent_i(mix_agent_i),
      .write_data_i({
        mix_load_i[1] ? load_data_i : mix_word_q[63:32],
        mix_load_i[0] ? load_data_i : mix_word_q[31:0]
      }),
      .read_agent_i(begin_agent_i),
      .clear_i(1'b0),
      .data_o(advance_word_o)
  );

  drawn #(
      .CoeffFraction(CoeffFraction)
  ) u_advanced (
      .word_i    (advance_word_o),
      .advanced_o(advanced),
      .draw_o    (),
      .rounding_o(),
      .table_o   ()
  );
  drawn #(
      .CoeffFraction(CoeffFraction)
  ) u_drawn (
      .word_i    (request_word_q),
      .advanced_o(),
      .draw_o    (draw),
      .rounding_o(rounding),
      .table_o   (one_table)
  );

  always_ff @(posedge clk_i) begin
    mix_word_q <= advance_i ? advanced : advance_word_o;
    fetch_word_q <= mix_word_q;
    request_word_q <= fetch_word_q;
    {policy_rounding_o, policy_table_o} <= {rounding, one_table};
  end
  assign request_draw_o = draw;

  logic unused_reset;
  assign unused_reset = rst_i;

endmodule
