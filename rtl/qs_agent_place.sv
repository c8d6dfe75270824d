// SPDX-License-Identifier: Apache-2.0
// Where each agent is and what it does next, and the pair of each slot, stage by stage.
//
// Function    An agent's place is read for its slot, and replaced once the slot has chosen how to continue. If
//             the host accesses an entry, the pair is that of the entry from PolicyStage on.
// Timing      One slot per clock. A place is known in stage RequestStage and written in stage Select.
// Handshake   token_i[k] is 1 when the slot of an access is in stage k.
// Reset       none: undefined until loaded.
// Hazards     none: a slot returns after it has been written.
// Invariants  none
// Resources   Four words of a pair per agent
// Reference   none

module qs_agent_place
  import qs_agents_pkg::*;
#(
    parameter  int unsigned States     = 32,                                // 2..65536
    parameter  int unsigned Actions    = 4,                                 // 2..64
    parameter  int unsigned Agents     = 16,                                // 1..16
    parameter  int unsigned Algorithm  = 0,                                 // algorithm_e
    localparam int unsigned Slots      = slots(Actions, Algorithm),
    localparam int unsigned Entry      = entry_stage(Actions, Algorithm),
    localparam int unsigned Select     = select_stage(Actions, Algorithm),
    localparam int unsigned Write      = write_stage(Actions, Algorithm),
    localparam int unsigned StateBits  = $clog2(States),
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,

    input logic    [Slots-1:0][AgentBits-1:0] agent_i,   // in each stage
    input logic    [Slots-1:0]                live_i,
    input access_t                            access_i,
    input logic    [  Write:0]                token_i,

    output logic [ StateBits-1:0] request_state_o,
    output logic [ActionBits-1:0] request_action_o,
    output logic                  request_explored_o,
    output logic [ StateBits-1:0] answer_state_o,
    output logic [ StateBits-1:0] row_state_o,
    output logic [ActionBits-1:0] row_action_o,
    output logic [ StateBits-1:0] entry_state_o,       // stage Entry - 2
    output logic [ActionBits-1:0] entry_action_o,

    // How the agent continues: state in RowStage, whether at all in ActStage, action in Select
    input logic                  act_chooses_i,
    input logic [ StateBits-1:0] row_x_i,
    input logic                  row_explores_i,
    input logic [ActionBits-1:0] action_i,

    output logic                  same_o,         // continues with this pair; stage Write - 1
    output logic [ StateBits-1:0] write_state_o,
    output logic [ActionBits-1:0] write_action_o
);

  typedef struct packed {
    logic explored;
    logic [ActionBits-1:0] action;
    logic [StateBits-1:0] state;
  } place_t;

  place_t request_place, select_place;
  logic select_writes, select_loads, select_chooses, select_explored, select_same_q;
  logic [StateBits-1:0] select_x, select_state, policy_state_q;
  logic [ActionBits-1:0] select_action, policy_action_q, answer_action;

  qs_agent_ram #(
      .Agents(Agents),
      .Width ($bits(place_t))
  ) u_place (
      .clk_i,
      .write_i      (select_writes),
      .write_agent_i(agent_i[Select%Slots]),
      .write_data_i (select_place),
      .read_agent_i (agent_i[FetchStage]),
      .clear_i      (1'b0),
      .data_o       (request_place)
  );

  assign request_state_o = request_place.state;
  assign request_action_o = request_place.action;
  assign request_explored_o = request_place.explored;

  always_ff @(posedge clk_i) begin
    policy_state_q <= token_i[RequestStage] && access_i.entry ?
        access_i.index[6+:StateBits] : request_place.state;
    policy_action_q <= token_i[RequestStage] && access_i.entry ?
        access_i.index[0+:ActionBits] : request_place.action;
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
      .Depth(Entry - 2 - AnswerStage)
  ) u_entry_place (
      .clk_i,
      .data_i({answer_state_o, answer_action}),
      .data_o({entry_state_o, entry_action_o})
  );

  qs_agent_delay #(
      .Agents(Agents),
      .Slots (Slots),
      .Width (StateBits + ActionBits),
      .From  (AnswerStage),
      .To    (Select)
  ) u_select_place (
      .clk_i,
      .agent_i,
      .live_i,
      .data_i({answer_state_o, answer_action}),
      .data_o({select_state, select_action})
  );

  qs_agent_delay #(
      .Agents(Agents),
      .Slots (Slots),
      .Width (StateBits + ActionBits),
      .From  (Select),
      .To    (Write)
  ) u_write_place (
      .clk_i,
      .agent_i,
      .live_i,
      .data_i({select_state, select_action}),
      .data_o({write_state_o, write_action_o})
  );

  qs_delay #(
      .Width(1),
      .Depth(Select - ActStage)
  ) u_chooses (
      .clk_i,
      .data_i(act_chooses_i),
      .data_o(select_chooses)
  );

  qs_agent_delay #(
      .Agents(Agents),
      .Slots (Slots),
      .Width (1 + StateBits),
      .From  (RowStage),
      .To    (Select)
  ) u_x (
      .clk_i,
      .agent_i,
      .live_i,
      .data_i({row_explores_i, row_x_i}),
      .data_o({select_explored, select_x})
  );

  assign select_loads  = token_i[Select] && access_i.load[4];
  assign select_writes = select_chooses || select_loads;
  always_comb begin
    select_place = '{explored: select_explored, action: action_i, state: select_x};
    if (select_loads)
      select_place = '{
          explored: access_i.data[29],
          action: access_i.data[16+:ActionBits],
          state: access_i.data[0+:StateBits]
      };
  end

  // Whether the agent continues with the entry that this step writes.
  always_ff @(posedge clk_i) select_same_q <= select_state == select_x && select_action == action_i;

  qs_delay #(
      .Width(1),
      .Depth((Write - 1) - (Select + 1))
  ) u_same (
      .clk_i,
      .data_i(select_same_q),
      .data_o(same_o)
  );

  logic unused_bits;
  assign unused_bits = ^{agent_i, access_i, token_i};

endmodule
