// SPDX-License-Identifier: Apache-2.0
// Per-agent memory: contexts, settings and pipeline data of the interleaved lane.
//
// Function    data_o = word of agent read_agent_i, or 0 if clear_i was 1; a write replaces the word of agent
//             write_agent_i.
// Timing      One clock from address to data; one read and one write per clock.
// Handshake   none
// Reset       none: words are undefined until written.
// Hazards     Reading an agent's word while it is written is undefined; simulation returns the complement of the old
//             word. This cannot happen, because slots read and write a word in different stages.
// Invariants  none
// Resources   Distributed RAM if the chip has it, else block RAM: yosys chooses. With one agent, Width flip-flops.
// Reference   none

module qs_agent_ram #(
    parameter  int unsigned Agents    = 16,             // 1..16
    parameter  int unsigned Width     = 16,             // 1 or more
    localparam int unsigned IndexBits = $clog2(Agents)
) (
    input logic clk_i,

    input logic                                write_i,
    input logic [qs_agents_pkg::AgentBits-1:0] write_agent_i,
    input logic [                   Width-1:0] write_data_i,

    input  logic [qs_agents_pkg::AgentBits-1:0] read_agent_i,
    input  logic                                clear_i,
    output logic [                   Width-1:0] data_o
);

  if (Agents == 1) begin : gen_register
    // No read directly follows a write, so the word itself can be the output.
    always_ff @(posedge clk_i) begin
      if (write_i) data_o <= write_data_i;
      if (clear_i) data_o <= '0;
    end
  end else begin : gen_memory
    (* no_rw_check *) logic [Width-1:0] mem[2**IndexBits];
    logic [IndexBits-1:0] write_index, read_index;

    assign write_index = write_agent_i[IndexBits-1:0];
    assign read_index  = read_agent_i[IndexBits-1:0];

    always_ff @(posedge clk_i) begin
      if (write_i) mem[write_index] <= write_data_i;
      data_o <= clear_i ? '0 : mem[read_index];
`ifndef SYNTHESIS
      if (write_i && write_index == read_index) data_o <= ~mem[read_index];
`endif
    end
  end

  logic unused_agent;
  assign unused_agent = ^{write_agent_i, read_agent_i};

endmodule
