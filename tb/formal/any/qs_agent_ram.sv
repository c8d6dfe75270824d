// SPDX-License-Identifier: Apache-2.0
// Replaces qs_agent_ram: stores the word of one arbitrary agent; all other reads return arbitrary values.
//
// Function    Properties proved for an agent with this memory also hold with the words of all agents, because
//             `agent_ram_proof.sv` proves that qs_agent_ram behaves like this. All memories of a lane store the word
//             of the same agent.

module qs_agent_ram #(
    parameter int unsigned Agents = 16,
    parameter int unsigned Width  = 16
) (
    input logic clk_i,

    input logic                                write_i,
    input logic [qs_agents_pkg::AgentBits-1:0] write_agent_i,
    input logic [                   Width-1:0] write_data_i,

    input  logic [qs_agents_pkg::AgentBits-1:0] read_agent_i,
    input  logic                                clear_i,
    output logic [                   Width-1:0] data_o
);

  logic [Width-1:0] word_q, any_word;
  logic clashes;
  assign clashes = write_i && write_agent_i == read_agent_i;

  always_ff @(posedge clk_i) begin
    if (write_i && write_agent_i == agent_lane_proof.chosen) word_q <= write_data_i;
    data_o <= any_word;
    if (!clashes && clear_i) data_o <= '0;
    else if (!clashes && read_agent_i == agent_lane_proof.chosen) data_o <= word_q;
  end

endmodule
