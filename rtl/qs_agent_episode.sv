// SPDX-License-Identifier: Apache-2.0
// The world's answer to a slot: what the slot turns out to be, where the agent continues, the end of episodes.
//
// Function    Counts the steps of the episode if they have a limit. A step that reaches the limit without
//             terminating is truncated. The count starts from 0 in each episode. Row x is that of the next
//             state, of the start state where an episode begins, or of the agent's state (for the value
//             beside the context, and for accesses).
// Timing      One slot per clock. The count is read in CountStage and written in AnswerStage, with the answer; for
//             agents that share a table it is written in ActStage, which knows whether the slot acts.
// Handshake   access_i writes {whether there is a limit, the limit - 1}; answer_token_i says that its slot is in
//             AnswerStage, for steps and entries.
// Reset       No limit. The counts are undefined until loaded.
// Hazards     none: a slot returns after it has been written.
// Invariants  AnswerInRange_A
// Resources   16 bits per agent, an adder and a comparator of 16 bits
// Reference   none

`include "qs_assert.svh"

module qs_agent_episode
  import qs_agents_pkg::*;
#(
    parameter  int unsigned States      = 32,             // 2..65536
    parameter  int unsigned Width       = 16,             // 8..32
    parameter  int unsigned Agents      = 16,             // 1..16
    parameter  int unsigned Slots       = 16,             // 16 or more
    parameter  bit          SharedTable = 0,
    parameter  bit          StepLimit   = 1,              // else steps do not count
    localparam int unsigned StateBits   = $clog2(States)
) (
    input logic clk_i,
    input logic rst_i,

    input logic    [Slots-1:0][AgentBits-1:0] agent_i,        // in each stage
    input access_t                            access_i,
    input logic                               answer_token_i,

    input aim_t                        answer_aim_i,
    input logic        [StateBits-1:0] answer_state_i,
    input logic                        world_ready_i,
    input logic signed [    Width-1:0] world_reward_i,
    input logic        [StateBits-1:0] world_next_state_i,
    input logic                        world_terminated_i,
    input logic        [StateBits-1:0] world_start_state_i,

    output logic        [EpisodeBits-1:0] count_steps_o,
    output logic                          answer_truncated_o,
    input  logic                          acts_i,
    output deed_t                         row_deed_o,
    output logic        [  StateBits-1:0] row_x_o,
    output logic signed [      Width-1:0] row_reward_o
);

  logic answer_last, answer_step, answer_entry;

  assign answer_entry = answer_token_i && access_i.entry;
  assign answer_step = answer_aim_i.asks && world_ready_i;
  assign answer_truncated_o = answer_step && answer_last && !world_terminated_i;

  if (StepLimit) begin : gen_limit
    localparam int unsigned Part = 4;  // bits that are compared in one clock
    localparam int unsigned Parts = EpisodeBits / Part;
    localparam int unsigned Late = SharedTable ? ActStage - AnswerStage : 0;

    logic [EpisodeBits-1:0]
        last_steps_q, policy_steps, count_steps_q, answer_steps_q, answer_count, count;
    logic [Parts-1:0] count_same_q;
    logic limits_q, answer_last_q, answer_load, steps, loads;

    always_ff @(posedge clk_i) begin
      if (access_i.set_limit) begin
        {limits_q, last_steps_q} <= access_i.data[EpisodeBits:0];
      end
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
    assign answer_load = answer_token_i && access_i.load[3];
    assign answer_count = answer_load ? access_i.data[EpisodeBits-1:0] :
        answer_last_q || world_terminated_i ? '0 : answer_steps_q;

    qs_delay #(
        .Width(2 + EpisodeBits),
        .Depth(Late)
    ) u_count (
        .clk_i,
        .data_i({answer_step, answer_load, answer_count}),
        .data_o({steps, loads, count})
    );

    qs_agent_ram #(
        .Agents(Agents),
        .Width (EpisodeBits)
    ) u_steps (
        .clk_i,
        .write_i      ((steps && acts_i) || loads),
        .write_agent_i(agent_i[AnswerStage+Late]),
        .write_data_i (count),
        .read_agent_i (agent_i[RequestStage]),
        .clear_i      (1'b0),
        .data_o       (policy_steps)
    );
  end else begin : gen_no_limit
    assign count_steps_o = '0;
    assign answer_last   = 1'b0;
    logic unused_limit;
    assign unused_limit = ^{rst_i, acts_i};
  end

  always_ff @(posedge clk_i) begin
    row_deed_o.step <= answer_step;
    row_deed_o.terminated <= answer_step && world_terminated_i;
    row_deed_o.truncated <= answer_truncated_o;
    row_deed_o.finish <= answer_aim_i.finish;
    row_deed_o.chooses <= answer_aim_i.start || answer_aim_i.finish ||
        (answer_step && !answer_truncated_o);
    row_deed_o.values <= answer_aim_i.start || answer_aim_i.finish || answer_aim_i.refresh ||
        answer_step;
    row_deed_o.late <= answer_aim_i.asks && !world_ready_i;
    row_reward_o <= answer_step ? world_reward_i : '0;
    row_x_o <= answer_aim_i.refresh || answer_entry ? answer_state_i :
        answer_aim_i.start || answer_aim_i.finish || world_terminated_i ? world_start_state_i :
        world_next_state_i;
  end

  logic unused_bits;
  assign unused_bits = ^{agent_i, access_i};

  `QS_ASSERT(AnswerInRange_A, !answer_step || 32'(world_next_state_i) < States)

endmodule
