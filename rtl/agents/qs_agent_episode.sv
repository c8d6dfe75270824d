// SPDX-License-Identifier: Apache-2.0
// The world's answer to a slot: the slot's result, the agent's next state, the end of episodes.
//
// Function    Counts the steps of the episode if there is a step limit. A step that reaches the limit without
//             terminating is truncated. The count restarts at 0 in each episode. State x is the state whose row is
//             read: the next state, the start state of a new episode, or the agent's own state (to cache its value, or
//             for a host access).
// Timing      One slot per clock. The count is read in CountStage and written in AnswerStage, with the answer. If
//             agents share a table, the count is written in ActStage, when it is known whether the slot acts.
// Handshake   set_limit_i writes the limit. answer_load_i writes the count of the agent in AnswerStage. answer_stays_i
//             and answer_starts_i must come from registers, because they drive every bit of x.
// Reset       Removes the limit. Counts are undefined until loaded.
// Hazards     none: a count is written before its agent's next read.
// Invariants  AnswerInRange_A
// Resources   16 bits per agent, a 16-bit adder and a 16-bit comparator
// Reference   none

`include "qs_assert.svh"

module qs_agent_episode
  import qs_agents_pkg::*;
#(
    parameter  int unsigned States      = 32,                 // 2..65536
    parameter  int unsigned Planes      = 1,                  // 1..16
    parameter  int unsigned Width       = 16,                 // 8..32
    parameter  int unsigned Agents      = 16,                 // 1..16
    parameter  bit          SharedTable = 0,
    parameter  bit          StepLimit   = 1,                  // else steps are not counted
    localparam int unsigned PlaneBits   = $clog2(States),
    localparam int unsigned StateBits   = Planes * PlaneBits
) (
    input logic clk_i,
    input logic rst_i,

    input logic [AgentBits-1:0] request_agent_i,
    input logic [AgentBits-1:0] answer_agent_i,
    input logic [AgentBits-1:0] act_agent_i,

    input logic                   set_limit_i,
    input logic                   answer_load_i,
    input logic [EpisodeBits-1:0] load_steps_i,
    input logic                   limits_i,
    input logic [EpisodeBits-1:0] last_steps_i,

    input logic                        answer_stays_i,      // x is answer_state_i
    input logic                        answer_starts_i,     // x is the start state
    input plan_t                       answer_plan_i,
    input logic        [StateBits-1:0] answer_state_i,
    input logic                        world_ready_i,
    input logic signed [    Width-1:0] world_reward_i,
    input logic        [StateBits-1:0] world_next_state_i,
    input logic                        world_terminated_i,
    input logic        [StateBits-1:0] world_start_state_i,

    output logic        [EpisodeBits-1:0] count_steps_o,
    output logic                          answer_truncated_o,
    input  logic                          acts_i,
    output result_t                       row_result_o,
    output logic        [  StateBits-1:0] row_x_o,
    output logic signed [      Width-1:0] row_reward_o
);

  logic answer_last, answer_step;

  assign answer_step = answer_plan_i.asks && world_ready_i;
  assign answer_truncated_o = answer_step && answer_last && !world_terminated_i;

  if (StepLimit) begin : gen_limit
    localparam int unsigned Part = 4;  // bits per comparator
    localparam int unsigned Parts = EpisodeBits / Part;
    localparam int unsigned Late = SharedTable ? ActStage - AnswerStage : 0;

    logic [EpisodeBits-1:0]
        last_steps_q, policy_steps, count_steps_q, answer_steps_q, answer_count, count;
    logic [Parts-1:0] count_same_q;
    logic limits_q, answer_last_q, steps, loads;

    always_ff @(posedge clk_i) begin
      if (set_limit_i) {limits_q, last_steps_q} <= {limits_i, last_steps_i};
      count_steps_q <= policy_steps;
      for (int unsigned p = 0; p < Parts; p++) begin
        count_same_q[p] <= policy_steps[p*Part+:Part] == last_steps_q[p*Part+:Part];
      end
      answer_steps_q <= count_steps_q + EpisodeBits'(limits_q);
      answer_last_q  <= limits_q && (&count_same_q);
      if (rst_i) limits_q <= 1'b0;
    end

    assign count_steps_o = count_steps_q;
    assign answer_last = answer_last_q;
    assign answer_count = answer_load_i ? load_steps_i :
        answer_last_q || world_terminated_i ? '0 : answer_steps_q;

    qs_delay #(
        .Width(2 + EpisodeBits),
        .Depth(Late)
    ) u_count (
        .clk_i,
        .data_i({answer_step, answer_load_i, answer_count}),
        .data_o({steps, loads, count})
    );

    qs_agent_ram #(
        .Agents(Agents),
        .Width (EpisodeBits)
    ) u_steps (
        .clk_i,
        .write_i      ((steps && acts_i) || loads),
        .write_agent_i(SharedTable ? act_agent_i : answer_agent_i),
        .write_data_i (count),
        .read_agent_i (request_agent_i),
        .clear_i      (1'b0),
        .data_o       (policy_steps)
    );
  end else begin : gen_no_limit
    assign count_steps_o = '0;
    assign answer_last   = 1'b0;
    logic unused_limit;
    assign unused_limit = ^{
      rst_i, acts_i, request_agent_i, answer_agent_i, act_agent_i,
      set_limit_i, limits_i, last_steps_i, answer_load_i, load_steps_i
    };
  end

  always_ff @(posedge clk_i) begin
    row_result_o.step <= answer_step;
    row_result_o.terminated <= answer_step && world_terminated_i;
    row_result_o.truncated <= answer_truncated_o;
    row_result_o.finish <= answer_plan_i.finish;
    row_result_o.chooses <= answer_plan_i.start || answer_plan_i.finish ||
        (answer_step && !answer_truncated_o);
    row_result_o.values <= answer_plan_i.start || answer_plan_i.finish || answer_plan_i.refresh ||
        answer_step;
    row_result_o.late <= answer_plan_i.asks && !world_ready_i;
    row_reward_o <= answer_step ? world_reward_i : '0;
    row_x_o <= answer_stays_i ? answer_state_i :
        answer_starts_i || world_terminated_i ? world_start_state_i : world_next_state_i;
  end

  for (genvar t = 0; t < Planes; t++) begin : gen_range
    `QS_ASSERT(AnswerInRange_A,
               !answer_step || 32'(world_next_state_i[t*PlaneBits+:PlaneBits]) < States)
  end

endmodule
