// SPDX-License-Identifier: Apache-2.0
// In place of qs_draw: it treats the words of agents in the same way, with any function as its rounds.
//
// Function    `draw_proof.sv` proves that qs_draw does the same with its own rounds.

module qs_draw #(
    parameter int unsigned Agents = 16
) (
    input logic clk_i,
    input logic rst_i,

    input logic [qs_agents_pkg::AgentBits-1:0] s1_agent_i,
    input logic                                s2_advance_i,
    input logic [qs_agents_pkg::AgentBits-1:0] s3_agent_i,
    input logic                                s3_write_i,
    input logic [                         1:0] s3_load_i,
    input logic [                        31:0] load_data_i,

    output logic [                        63:0] s2_word_o,
    output logic [                        63:0] s5_draw_o,
    output logic [qs_agents_pkg::NoiseBits-1:0] s6_rounding_o,
    output logic                                s6_table_o
);

  logic [63:0] advanced, draw, s3_word_q, s4_word_q, s5_word_q;
  logic [qs_agents_pkg::NoiseBits-1:0] rounding;
  logic one_table;

  qs_agent_ram #(
      .Agents(Agents),
      .Width (64)
  ) u_word (
      .clk_i,
      .write_i(s3_write_i),
      .write_agent_i(s3_agent_i),
      .write_data_i({
        s3_load_i[1] ? load_data_i : s3_word_q[63:32], s3_load_i[0] ? load_data_i : s3_word_q[31:0]
      }),
      .read_agent_i(s1_agent_i),
      .clear_i(1'b0),
      .data_o(s2_word_o)
  );

  drawn u_advanced (
      .word_i    (s2_word_o),
      .advanced_o(advanced),
      .draw_o    (),
      .rounding_o(),
      .table_o   ()
  );
  drawn u_drawn (
      .word_i    (s5_word_q),
      .advanced_o(),
      .draw_o    (draw),
      .rounding_o(rounding),
      .table_o   (one_table)
  );

  always_ff @(posedge clk_i) begin
    s3_word_q <= s2_advance_i ? advanced : s2_word_o;
    s4_word_q <= s3_word_q;
    s5_word_q <= s4_word_q;
    {s6_rounding_o, s6_table_o} <= {rounding, one_table};
  end
  assign s5_draw_o = draw;

  logic unused_reset;
  assign unused_reset = rst_i;

endmodule
