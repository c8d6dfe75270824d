// SPDX-License-Identifier: Apache-2.0
// qs_agent_ram returns an agent's word one clock after its address.
//
// Function    The proof watches the word of one arbitrary agent; any/qs_agent_ram.sv assumes the same behaviour. The
//             value read in the clock of a write is unspecified.

module agent_ram_proof #(
    parameter int unsigned Agents = 16,
    parameter int unsigned Width  = 16
) (
    input logic clk_i,

    input logic                                write_i,
    input logic [qs_agents_pkg::AgentBits-1:0] write_agent_i,
    input logic [                   Width-1:0] write_data_i,
    input logic [qs_agents_pkg::AgentBits-1:0] read_agent_i,
    input logic                                clear_i
);

  logic [Width-1:0] data_o;
  qs_agent_ram #(
      .Agents(Agents),
      .Width (Width)
  ) u_ram (
      .*
  );

  logic [qs_agents_pkg::AgentBits-1:0] chosen;
  logic [Width-1:0] word_q, read_q;
  logic known_q = 1'b0, reads_q = 1'b0, cleared_q = 1'b0;
  logic writes, clashes;
  assign writes  = write_i && write_agent_i == chosen;
  assign clashes = write_i && write_agent_i == read_agent_i;

  always_ff @(posedge clk_i) begin
    chosen <= chosen;
    if (writes) begin
      word_q  <= write_data_i;
      known_q <= 1'b1;
    end
    reads_q   <= known_q && !clashes && !clear_i && read_agent_i == chosen;
    cleared_q <= clear_i && !clashes;
    read_q    <= word_q;
  end

  always_comb begin
    Word_L : assert (!known_q || u_ram.gen_memory.mem[chosen] == word_q);
    Read_A : assert (!reads_q || data_o == read_q);
    Cleared_A : assert (!cleared_q || data_o == '0);
    Read_C : cover (reads_q && data_o != '0 && cleared_q == 1'b0 && chosen == 4'd11);
  end

endmodule
