// SPDX-License-Identifier: Apache-2.0
// Top-level testbench module with qs_agents and a table-based world that can answer late. World requests and answers
// are packed into words, so that a Python bench can record every clock while reading only once in 16 clocks.
//
// Function    The world is late with probability late_i / 256. Item 0 of seen_o describes the latest clock: its
//             number, the world request and answer of the slot in stage 10, the slot's task, and whether it acts.
//             The fields are those of CLOCK in uvm/acting_items.py. With separate tables, steps_o is the number
//             of steps not yet assigned to agents. It is valid just after the start of a run or after a stop;
//             then it is shifted as the steps are counted. steps_known_o is 0 with a shared table, which has no
//             such steps, and in a netlist, where their number is not visible.
// Timing      seen_o: one clock. Drive at the falling edge.
// Reset       as qs_agents; clocks in reset are numbered too.

module qs_agents_bench
  import qs_agents_pkg::*;
  import qs_map_pkg::*;
#(
    parameter  int unsigned States        = 6,
    parameter  int unsigned Actions       = 3,
    parameter  int unsigned Width         = 10,
    parameter  int unsigned CoeffFraction = 15,
    parameter  int unsigned Agents        = 16,
    parameter  int unsigned Algorithm     = 0,
    parameter  int unsigned Rounding      = 0,
    parameter  bit          SharedTable   = 0,
    parameter  int unsigned Outcomes      = 2,
    parameter  int unsigned Starts        = 2,
    localparam int unsigned StateBits     = $clog2(States),
    localparam int unsigned ActionBits    = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic            bus_valid_i,
    input  request_t        bus_i,
    output logic            bus_done_o,
    output logic     [31:0] bus_data_o,

    input  logic        run_i,
    input  logic [47:0] run_steps_i,
    input  logic        stop_i,
    output logic        busy_o,

    input logic [7:0] late_i,

    output logic [15:0][127:0] seen_o,
    output logic [47:0]        steps_o,
    output logic               steps_known_o
);

  localparam int unsigned OrderStage = 10;
  // Number of preceding slots that a slot of a shared table may have to wait for before it reads a row (RowReach) or
  // its entry (EntryReach).
  localparam int unsigned RowReach = write_stage(Actions, Algorithm) - RowStage;
  localparam int unsigned EntryReach = write_stage(
      Actions, Algorithm
  ) - entry_stage(
      Actions, Algorithm
  ) + 2;
  localparam int unsigned Slots = slots(Actions, Algorithm);

  typedef struct packed {
    logic valid;
    logic [AgentBits-1:0] agent;
    logic [StateBits-1:0] state;
    logic [ActionBits-1:0] action;
  } ask_t;

  typedef struct packed {
    logic signed [Width-1:0] reward;
    logic [StateBits-1:0] next_state;
    logic terminated;
    logic ready;
  } answer_t;

  logic [AgentBits-1:0] unused_acting;
  logic unused_goes, unused_restarts;
  ask_t ask, asked;
  answer_t answer, answered;
  logic [DrawBits-1:0] outcome, start;
  logic [StateBits-1:0] start_state;
  logic world_write, start_write, feedback;
  logic [15:0] noise_q;
  logic [31:0] edge_q;

  // A 16-bit feedback shift register gives irregular delays that are the same in each run.
  assign feedback = noise_q[15] ^ noise_q[13] ^ noise_q[12] ^ noise_q[10];
  assign answer.ready = noise_q[7:0] >= late_i;

  always_ff @(posedge clk_i) begin
    edge_q  <= edge_q + 1'b1;
    noise_q <= rst_i ? 16'd1 : {noise_q[14:0], feedback};
  end

  qs_agents #(
      .States       (States),
      .Actions      (Actions),
      .Width        (Width),
      .CoeffFraction(CoeffFraction),
      .Agents       (Agents),
      .Algorithm    (Algorithm),
      .Rounding     (Rounding),
      .SharedTable  (SharedTable)
  ) u_agents (  // not .*, as a netlist has extra outputs for the signals that the bench watches
      .clk_i,
      .rst_i,
      .bus_valid_i,
      .bus_i,
      .bus_done_o,
      .bus_data_o,
      .run_i,
      .run_steps_i,
      .stop_i,
      .busy_o,
      .world_valid_o      (ask.valid),
      .world_agent_o      (ask.agent),
      .world_state_o      (ask.state),
      .world_action_o     (ask.action),
      .world_outcome_o    (outcome),
      .world_start_o      (start),
      .world_ready_i      (answer.ready),
      .world_reward_i     (answer.reward),
      .world_next_state_i (answer.next_state),
      .world_terminated_i (answer.terminated),
      .world_start_state_i(start_state),
      .world_acting_o     (unused_acting),
      .world_goes_o       (unused_goes),
      .world_restarts_o   (unused_restarts)
  );

  assign world_write = bus_done_o && bus_i.write && bus_i.region == RegionWorld;
  assign start_write = bus_done_o && bus_i.write && bus_i.region == RegionStarts;

  qs_world #(
      .States  (States),
      .Actions (Actions),
      .Width   (Width),
      .Outcomes(Outcomes),
      .Starts  (Starts)
  ) u_world (
      .clk_i,
      .world_write_i(world_write),
      .start_write_i(start_write),
      .index_i      (bus_i.index),
      .data_i       (bus_i.data),
      .state_i      (ask.state),
      .action_i     (ask.action),
      .outcome_i    (outcome),
      .start_i      (start),
      .reward_o     (answer.reward),
      .next_state_o (answer.next_state),
      .terminated_o (answer.terminated),
      .start_state_o(start_state)
  );

  qs_delay #(
      .Width($bits(ask_t)),
      .Depth(OrderStage - RequestStage)
  ) u_asked (
      .clk_i,
      .data_i(ask),
      .data_o(asked)
  );

  qs_delay #(
      .Width($bits(answer_t)),
      .Depth(OrderStage - AnswerStage)
  ) u_answered (
      .clk_i,
      .data_i(answer),
      .data_o(answered)
  );

  result_t result;
  logic acts;
  assign result = u_agents.act_result_q;
  assign acts   = u_agents.acts;

  logic [127:0] now;
  assign now = {
    32'(answered.reward),
    16'(answered.next_state),
    16'(asked.state),
    16'(rst_i ? '0 : result),
    8'(asked.action),
    asked.agent,
    acts,
    answered.terminated,
    answered.ready,
    asked.valid && !rst_i,
    edge_q
  };
  always_ff @(posedge clk_i) seen_o <= {seen_o[14:0], now};

`ifdef QS_NETLIST
  assign {steps_known_o, steps_o} = '0;  // a netlist has different registers
`else
  assign steps_known_o = !SharedTable || Agents == 1;
  if (SharedTable && Agents > 1) begin : gen_no_steps
    assign steps_o = '0;
  end else begin : gen_steps
    assign steps_o = {
      u_agents.gen_budget.u_budget.remaining_q, u_agents.gen_budget.u_budget.first_q
    };
  end
`endif

endmodule
