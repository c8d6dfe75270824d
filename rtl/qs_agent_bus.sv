// SPDX-License-Identifier: Apache-2.0
// Accesses to settings, contexts, counters and tables of the interleaved lane.
//
// Function    Decodes an access and has it made: a setting is written at once; counters are asked for by
//             counter_*_o; contexts and tables are read and written by the slot of their agent, beside which
//             token_o passes: token_o[k] is 1 when that slot is in stage k. Map: docs/agents.md.
// Timing      Up to Length + Slots + 4 clocks, for counters those of qs_agent_counters.
// Handshake   as qs_agents
// Reset       Ends an access.
// Hazards     none
// Invariants  RegionIsLegal_A
// Resources   70 flip-flops
// Reference   none

`include "qs_assert.svh"

module qs_agent_bus
  import qs_agents_pkg::*;
#(
    parameter int unsigned Length = 18  // last stage that an access needs
) (
    input logic clk_i,
    input logic rst_i,

    input  logic        bus_valid_i,
    input  logic        bus_write_i,
    input  logic [ 2:0] bus_region_i,
    input  logic [29:0] bus_index_i,
    input  logic [31:0] bus_data_i,
    output logic        bus_done_o,

    input logic [AgentBits-1:0] agent_i,        // in stage 0
    input logic                 live_i,         // it is an agent
    input logic                 counter_done_i,

    // The access, registered
    output logic [         29:0] index_o,
    output logic [         31:0] data_o,
    output logic                 write_o,
    output logic [AgentBits-1:0] agent_o,
    output logic [          3:0] set_o,            // write this setting now
    output logic                 set_limit_o,
    output logic [          4:0] field_o,          // this field of a context
    output logic                 table_o,          // an entry of a table
    output logic                 counter_read_o,
    output logic                 counter_write_o,
    output logic [     Length:0] token_o
);

  typedef enum logic [2:0] {
    StIdle,
    StOpen,
    StSlot,
    StPass,
    StCount,
    StDone
  } state_e;

  localparam logic [2:0] LIMIT = 3'd7;

  state_e state_q;
  region_e region_q;
  logic [Length:1] token_q;

  always_ff @(posedge clk_i) begin
    index_o  <= bus_index_i;
    data_o   <= bus_data_i;
    write_o  <= bus_write_i;
    region_q <= region_e'(bus_region_i);
    unique case (bus_region_i)
      RegionCounters: agent_o <= bus_index_i[7:4];
      RegionTable:    agent_o <= bus_index_i[25:22];
      default:        agent_o <= bus_index_i[6:3];
    endcase
    table_o <= bus_region_i == RegionTable;
    for (int unsigned f = 0; f < 5; f++) begin
      field_o[f] <= bus_region_i == RegionContext && bus_index_i[2:0] == 3'(f);
    end
  end

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      StIdle:  if (bus_valid_i) state_q <= StOpen;
      StOpen: begin
        unique case (region_q)
          RegionContext, RegionTable: state_q <= StSlot;
          RegionCounters:             state_q <= StCount;
          default:                    state_q <= StDone;
        endcase
      end
      StSlot:  if (token_o[0]) state_q <= StPass;
      StPass:  if (token_q[Length]) state_q <= StDone;
      StCount: if (counter_done_i) state_q <= StDone;
      default: state_q <= StIdle;
    endcase

    for (int unsigned f = 0; f < 4; f++) begin
      set_o[f] <= state_q == StOpen && region_q == RegionSettings && write_o &&
          index_o[2:0] == 3'(f);
    end
    set_limit_o <= state_q == StOpen && region_q == RegionSettings && write_o &&
        index_o[2:0] == LIMIT;

    token_q <= token_o[Length-1:0];
    if (rst_i) begin
      state_q     <= StIdle;
      set_o       <= '0;
      set_limit_o <= 1'b0;
      token_q     <= '0;
    end
  end

  assign token_o = {token_q, state_q == StSlot && live_i && agent_i == agent_o};
  assign counter_read_o = state_q == StCount && !write_o;
  assign counter_write_o = state_q == StCount && write_o;
  assign bus_done_o = state_q == StDone;

  `QS_ASSERT(RegionIsLegal_A, state_q != StOpen || region_q <= RegionStarts)

endmodule
