// SPDX-License-Identifier: Apache-2.0
// Host accesses to settings, contexts, counters and tables of the interleaved lane.
//
// Function    Decodes and performs host accesses. A setting is written at once; counters are requested through
//             access_o.counter_*. Contexts and tables are read and written in their agent's slot: token_o[k] is 1 while
//             that slot is in stage k. Memory map: docs/agents.md.
// Timing      Up to Length + Slots + 4 clocks; for counters see qs_agent_counters.
// Handshake   as in qs_agents
// Reset       Aborts the access in progress.
// Hazards     none
// Invariants  RegionIsLegal_A
// Resources   40 flip-flops
// Reference   none

`include "qs_assert.svh"

module qs_agent_bus
  import qs_agents_pkg::*;
  import qs_map_pkg::*;
#(
    parameter int unsigned Length = 18  // last stage that an access needs
) (
    input logic clk_i,
    input logic rst_i,

    input  logic     bus_valid_i,
    input  request_t bus_i,
    output logic     bus_done_o,

    input logic [AgentBits-1:0] agent_i,        // in SlotStage
    input logic                 live_i,         // the slot has an agent
    input logic                 counter_done_i,

    output access_t            access_o,
    output logic    [Length:0] token_o
);

  typedef enum logic [2:0] {
    StIdle,
    StOpen,
    StSlot,
    StPass,
    StCount,
    StDone
  } state_e;

  state_e state_q;
  region_e region_q;
  logic [Length:1] token_q;

  logic [7:0] set_q;
  logic entry_q;
  logic [AgentBits-1:0] agent_q;
  logic [4:0] field_q;

  always_ff @(posedge clk_i) begin
    region_q <= region_e'(bus_i.region);
    unique case (bus_i.region)
      RegionCounters: agent_q <= bus_i.index.in_counters.agent;
      RegionTable:    agent_q <= bus_i.index.in_table.agent;
      default:        agent_q <= bus_i.index.in_context.agent;
    endcase
    entry_q <= bus_i.region == RegionTable;
    for (int unsigned f = 0; f < 5; f++) begin
      field_q[f] <= bus_i.region == RegionContext && bus_i.index.in_context.word == 3'(f);
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
      StSlot:  if (token_q[1]) state_q <= StPass;
      StPass:  if (token_q[Length]) state_q <= StDone;
      StCount: if (counter_done_i) state_q <= StDone;
      default: state_q <= StIdle;
    endcase

    for (int unsigned f = 0; f < 8; f++) begin
      set_q[f] <= state_q == StOpen && region_q == RegionSettings && bus_i.write &&
          bus_i.index.in_settings.word == 3'(f);
    end

    token_q <= token_o[Length-1:0];
    if (rst_i) begin
      state_q <= StIdle;
      set_q   <= '0;
      token_q <= '0;
    end
  end

  assign token_o = {token_q, state_q == StSlot && live_i && agent_i == agent_q};
  assign access_o = '{
          index: bus_i.index,
          data: bus_i.data,
          write: bus_i.write,
          agent: agent_q,
          set: set_q,
          field: field_q,
          load: field_q & {5{bus_i.write}},
          entry: entry_q,
          counter_read: state_q == StCount && !bus_i.write,
          counter_write: state_q == StCount && bus_i.write
      };
  assign bus_done_o = state_q == StDone;

  `QS_ASSERT(RegionIsLegal_A, state_q != StOpen || region_q <= RegionStarts)

endmodule
