// SPDX-License-Identifier: Apache-2.0
// State and next action of each agent, and the state-action pair of the slot in each stage.
//
// Function    An agent's place (state and next action) is read for its slot, and replaced when the slot has chosen
//             the next one. If the host accesses an entry, the slot carries that entry's pair from PolicyStage on.
//             With several planes, a state consists of one row per plane, with the first plane's row in the low bits.
// Timing      One slot per clock. A place is valid in RequestStage and written in stage Select.
// Handshake   request_entry_i: the host accesses the entry (access_state_i, access_action_i) in this slot.
//             select_load_i, one bit per plane, replaces the place's row in that plane with load_row_i. The first
//             plane's bit also replaces the place's explored flag and action with load_explored_i and load_action_i.
// Reset       none: places are undefined until loaded.
// Hazards     none: a place is written before its agent's next read.
// Invariants  none
// Resources   Four words per agent, each about the size of a pair
// Reference   none

module qs_agent_place
  import qs_agents_pkg::*;
  import qs_map_pkg::*;
#(
    parameter int unsigned States = 32,  // 2..65536
    parameter int unsigned Actions = 4,  // 2..64
    parameter int unsigned Agents = 16,  // 1..16
    parameter int unsigned Algorithm = 0,  // algorithm_e
    parameter int unsigned Planes = 1,  // 1..16
    localparam int unsigned Read = entry_read_stage(Actions, Algorithm, Planes),
    localparam int unsigned Select = select_stage(Actions, Algorithm, Planes),
    localparam int unsigned Write = write_stage(Actions, Algorithm, Planes),
    localparam int unsigned RowBits = $clog2(States),
    localparam int unsigned StateBits = Planes * RowBits,
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,

    input logic [AgentBits-1:0] fetch_agent_i,
    input logic [AgentBits-1:0] answer_agent_i,
    input logic                 answer_live_i,
    input logic [AgentBits-1:0] row_agent_i,
    input logic                 row_live_i,
    input logic [AgentBits-1:0] before_select_agent_i,  // stage Select - 1
    input logic [AgentBits-1:0] select_agent_i,
    input logic                 select_live_i,
    input logic [AgentBits-1:0] before_write_agent_i,   // stage Write - 1

    input logic                  request_entry_i,
    input logic [ StateBits-1:0] access_state_i,
    input logic [ActionBits-1:0] access_action_i,
    input logic [    Planes-1:0] select_load_i,
    input logic                  load_explored_i,
    input logic [ActionBits-1:0] load_action_i,
    input logic [   RowBits-1:0] load_row_i,

    output logic [ StateBits-1:0] request_state_o,
    output logic [ActionBits-1:0] request_action_o,
    output logic                  request_explored_o,
    output logic [ StateBits-1:0] answer_state_o,
    output logic [ StateBits-1:0] row_state_o,
    output logic [ActionBits-1:0] row_action_o,
    output logic [ StateBits-1:0] entry_state_o,       // stage entry_read_stage
    output logic [ActionBits-1:0] entry_action_o,

    // The agent's next pair: its state in RowStage, whether an action is chosen in ActStage, the action in stage Select
    input logic                  act_chooses_i,
    input logic [ StateBits-1:0] row_x_i,
    input logic                  row_explores_i,
    input logic [ActionBits-1:0] action_i,

    output logic [    Planes-1:0] same_o,         // the next pair equals this one; stage Write - 1
    output logic [ StateBits-1:0] write_state_o,
    output logic [ActionBits-1:0] write_action_o
);

  logic select_chooses, select_explored;
  logic [Planes-1:0] select_same_q;
  logic [StateBits-1:0] select_x, select_state, policy_state_q;
  logic [ActionBits-1:0] select_action, policy_action_q, answer_action;

  for (genvar t = 0; t < Planes; t++) begin : gen_place
    localparam int unsigned Width = t == 0 ? 1 + ActionBits + RowBits : RowBits;
    logic [Width-1:0] select_place, request_place;

    always_comb begin
      select_place = Width'({select_explored, action_i, select_x[t*RowBits+:RowBits]});
      if (select_load_i[t]) select_place = Width'({load_explored_i, load_action_i, load_row_i});
    end

    qs_agent_ram #(
        .Agents(Agents),
        .Width (Width)
    ) u_place (
        .clk_i,
        .write_i      (select_chooses || select_load_i[t]),
        .write_agent_i(select_agent_i),
        .write_data_i (select_place),
        .read_agent_i (fetch_agent_i),
        .clear_i      (1'b0),
        .data_o       (request_place)
    );

    assign request_state_o[t*RowBits+:RowBits] = request_place[RowBits-1:0];
    if (t == 0) begin : gen_action
      assign {request_explored_o, request_action_o} = request_place[Width-1:RowBits];
    end
  end

  always_ff @(posedge clk_i) begin
    policy_state_q  <= request_entry_i ? access_state_i : request_state_o;
    policy_action_q <= request_entry_i ? access_action_i : request_action_o;
  end

  qs_delay #(
      .Width(StateBits + ActionBits),
      .Depth(AnswerStage - PolicyStage)
  ) u_place_delay (
      .clk_i,
      .data_i({policy_state_q, policy_action_q}),
      .data_o({answer_state_o, answer_action})
  );

  qs_delay #(
      .Width(StateBits + ActionBits),
      .Depth(RowStage - AnswerStage)
  ) u_row_place (
      .clk_i,
      .data_i({answer_state_o, answer_action}),
      .data_o({row_state_o, row_action_o})
  );

  qs_delay #(
      .Width(StateBits + ActionBits),
      .Depth(Read - AnswerStage)
  ) u_entry_place (
      .clk_i,
      .data_i({answer_state_o, answer_action}),
      .data_o({entry_state_o, entry_action_o})
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (StateBits + ActionBits)
  ) u_select_place (
      .clk_i,
      .write_i      (answer_live_i),
      .write_agent_i(answer_agent_i),
      .write_data_i ({answer_state_o, answer_action}),
      .read_agent_i (before_select_agent_i),
      .clear_i      (1'b0),
      .data_o       ({select_state, select_action})
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (StateBits + ActionBits)
  ) u_write_place (
      .clk_i,
      .write_i      (select_live_i),
      .write_agent_i(select_agent_i),
      .write_data_i ({select_state, select_action}),
      .read_agent_i (before_write_agent_i),
      .clear_i      (1'b0),
      .data_o       ({write_state_o, write_action_o})
  );

  qs_delay #(
      .Width(1),
      .Depth(Select - ActStage)
  ) u_chooses (
      .clk_i,
      .data_i(act_chooses_i),
      .data_o(select_chooses)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (1 + StateBits)
  ) u_x (
      .clk_i,
      .write_i      (row_live_i),
      .write_agent_i(row_agent_i),
      .write_data_i ({row_explores_i, row_x_i}),
      .read_agent_i (before_select_agent_i),
      .clear_i      (1'b0),
      .data_o       ({select_explored, select_x})
  );

  // 1 if the agent's next entry in the plane is the one that this step writes.
  for (genvar t = 0; t < Planes; t++) begin : gen_same
    always_ff @(posedge clk_i)
      select_same_q[t] <= select_state[t*RowBits+:RowBits] == select_x[t*RowBits+:RowBits] &&
          select_action == action_i;
  end

  qs_delay #(
      .Width(Planes),
      .Depth((Write - 1) - (Select + 1))
  ) u_same (
      .clk_i,
      .data_i(select_same_q),
      .data_o(same_o)
  );

endmodule
