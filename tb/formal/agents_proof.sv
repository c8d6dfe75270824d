// SPDX-License-Identifier: Apache-2.0
// Agents with separate tables never access each other's tables.
//
// Function    The proof counts slots independently. Every write to a table, by a step or by the host, occurs in the
//             slot of an existing agent and goes to that agent's rows. An agent reads only its own rows, and its
//             requests to the world carry its own number.
// Assumed     Nothing about the bus, the runs or the world. Power-up is a reset, from which slots are counted.

module agents_proof #(
    parameter  int unsigned States     = 8,
    parameter  int unsigned Actions    = 2,
    parameter  int unsigned Agents     = 3,
    parameter  int unsigned Algorithm  = 0,
    localparam int unsigned Width      = 8,
    localparam int unsigned StateBits  = $clog2(States),
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                           bus_valid_i,
    input qs_agents_pkg::request_t        bus_i,
    input logic                           run_i,
    input logic                    [47:0] run_steps_i,
    input logic                           stop_i,

    input logic                        world_ready_i,
    input logic signed [    Width-1:0] world_reward_i,
    input logic        [StateBits-1:0] world_next_state_i,
    input logic                        world_terminated_i,
    input logic        [StateBits-1:0] world_start_state_i
);

  localparam int unsigned Slots = qs_agents_pkg::slots(Actions, Algorithm);
  localparam int unsigned SlotBits = $clog2(Slots);
  localparam int unsigned WriteStage = qs_agents_pkg::write_stage(Actions, Algorithm);
  localparam int unsigned Write = WriteStage % Slots;
  localparam int unsigned Row = qs_agents_pkg::RowStage;
  localparam int unsigned Request = qs_agents_pkg::RequestStage;
  localparam int unsigned IndexBits = $clog2(Agents);

  logic bus_done_o, busy_o, world_valid_o;
  logic [31:0] bus_data_o;
  logic [qs_agents_pkg::AgentBits-1:0] world_agent_o;
  logic [StateBits-1:0] world_state_o;
  logic [ActionBits-1:0] world_action_o;
  logic [qs_agents_pkg::DrawBits-1:0] world_outcome_o, world_start_o;

  logic [qs_agents_pkg::AgentBits-1:0] world_acting_o;
  logic world_goes_o, world_restarts_o;
  qs_agents #(
      .States   (States),
      .Actions  (Actions),
      .Width    (Width),
      .Agents   (Agents),
      .Algorithm(Algorithm)
  ) u_agents (
      .*
  );

  // The agent whose slot is in each stage.
  logic [SlotBits-1:0] slot_q = '0;
  logic [5:0] age_q = '0;
  logic past_q = 1'b0;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    slot_q <= 32'(slot_q) == Slots - 1 ? '0 : slot_q + 1'b1;
    if (age_q != '1) age_q <= age_q + 1'b1;
  end

  function automatic int unsigned owner(logic [SlotBits-1:0] slot, int unsigned stage);
    return 32'(slot) >= stage ? 32'(slot) - stage : 32'(slot) + Slots - stage;
  endfunction

  always_comb begin
    assume (past_q || rst_i);
    Turn_L :
    assert (slot_q == u_agents.u_slots.slot_q &&
            u_agents.u_slots.turn_q == (32'(slot_q) == Slots - 1));
  end

  for (genvar k = 0; k < Slots; k++) begin : gen_stage
    always_comb begin
      if (32'(age_q) >= k) begin
        Live_L : assert (u_agents.live[k] == (owner(slot_q, k) < Agents));
        Rotation_L : assert (!u_agents.live[k] || 32'(u_agents.agent[k]) == owner(slot_q, k));
      end
    end
  end

  logic [IndexBits-1:0] written, read;
  logic writes, steps;
  assign writes  = u_agents.write != '0;
  assign steps   = writes && !u_agents.token[WriteStage];
  assign written = u_agents.gen_table[0].write_address[StateBits+:IndexBits];
  assign read    = u_agents.gen_table[0].row_address[StateBits+:IndexBits];

  always_comb begin
    if (age_q == '1) begin
      Exists_A : assert (!writes || owner(slot_q, Write) < Agents);
      Written_A : assert (!writes || 32'(written) == owner(slot_q, Write));
      Read_A : assert (owner(slot_q, Row) >= Agents || 32'(read) == owner(slot_q, Row));
      Asks_A : assert (!world_valid_o || owner(slot_q, Request) < Agents);
      Named_A : assert (!world_valid_o || 32'(world_agent_o) == owner(slot_q, Request));
      Host_C : cover (writes && u_agents.token[WriteStage] && written == IndexBits'(Agents - 1));
      Step_C : cover (steps && written == IndexBits'(Agents - 1));
    end
  end

endmodule
