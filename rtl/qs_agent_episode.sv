// SPDX-License-Identifier: Apache-2.0
// The world's answer to a slot: what the slot turns out to be, where the agent continues, the end of episodes.
//
// Function    Counts the steps of the episode if they have a limit. A step that reaches the limit without
//             terminating is truncated. The count starts from 0 in each episode. Row x is that of the next
//             state, of the start state where an episode begins, or of the agent's state (for the value
//             beside the context, and for accesses).
// Timing      One slot per clock. The count is read in stage 7 and written in stage 8, with the answer; for
//             agents that share a table it is written in stage 10, which knows whether the slot acts.
// Handshake   access_i writes {whether there is a limit, the limit - 1}; token_i says in which stages its slot is, for steps and entries.
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

    input logic    [Slots-1:0][AgentBits-1:0] agent_i,    // in each stage
    input access_t                            access_i,
    input logic                               s8_token_i,

    input aim_t                        s8_aim_i,
    input logic        [StateBits-1:0] s8_state_i,
    input logic                        world_ready_i,
    input logic signed [    Width-1:0] world_reward_i,
    input logic        [StateBits-1:0] world_next_state_i,
    input logic                        world_terminated_i,
    input logic        [StateBits-1:0] world_start_state_i,

    output logic        [EpisodeBits-1:0] s7_steps_o,
    output logic                          s8_truncated_o,
    input  logic                          s10_acts_i,
    output deed_t                         s9_deed_o,
    output logic        [  StateBits-1:0] s9_x_o,
    output logic signed [      Width-1:0] s9_reward_o
);

  logic s8_last, s8_step, s8_entry;

  assign s8_entry = s8_token_i && access_i.entry;
  assign s8_step = s8_aim_i.asks && world_ready_i;
  assign s8_truncated_o = s8_step && s8_last && !world_terminated_i;

  if (StepLimit) begin : gen_limit
    localparam int unsigned Part = 4;  // bits that are compared in one clock
    localparam int unsigned Parts = EpisodeBits / Part;
    localparam int unsigned Late = SharedTable ? ActStage - AnswerStage : 0;

    logic [EpisodeBits-1:0] last_steps_q, s6_steps, s7_steps_q, s8_steps_q, s8_count, count;
    logic [Parts-1:0] s7_same_q;
    logic limits_q, s8_last_q, s8_load, steps, loads;

    always_ff @(posedge clk_i) begin
      if (access_i.set_limit) begin
        {limits_q, last_steps_q} <= access_i.data[EpisodeBits:0];
      end
      s7_steps_q <= s6_steps;
      for (int unsigned p = 0; p < Parts; p++) begin
        s7_same_q[p] <= s6_steps[p*Part+:Part] == last_steps_q[p*Part+:Part];
      end
      s8_steps_q <= s7_steps_q + EpisodeBits'(limits_q);
      s8_last_q  <= limits_q && (&s7_same_q);
      if (rst_i) limits_q <= 1'b0;
    end

    assign s7_steps_o = s7_steps_q;
    assign s8_last = s8_last_q;
    assign s8_load = s8_token_i && access_i.load[3];
    assign s8_count = s8_load ? access_i.data[EpisodeBits-1:0] :
        s8_last_q || world_terminated_i ? '0 : s8_steps_q;

    qs_delay #(
        .Width(2 + EpisodeBits),
        .Depth(Late)
    ) u_count (
        .clk_i,
        .data_i({s8_step, s8_load, s8_count}),
        .data_o({steps, loads, count})
    );

    qs_agent_ram #(
        .Agents(Agents),
        .Width (EpisodeBits)
    ) u_steps (
        .clk_i,
        .write_i      ((steps && s10_acts_i) || loads),
        .write_agent_i(agent_i[AnswerStage+Late]),
        .write_data_i (count),
        .read_agent_i (agent_i[RequestStage]),
        .clear_i      (1'b0),
        .data_o       (s6_steps)
    );
  end else begin : gen_no_limit
    assign s7_steps_o = '0;
    assign s8_last = 1'b0;
    logic unused_limit;
    assign unused_limit = ^{rst_i, s10_acts_i};
  end

  always_ff @(posedge clk_i) begin
    s9_deed_o.step <= s8_step;
    s9_deed_o.terminated <= s8_step && world_terminated_i;
    s9_deed_o.truncated <= s8_truncated_o;
    s9_deed_o.finish <= s8_aim_i.finish;
    s9_deed_o.chooses <= s8_aim_i.start || s8_aim_i.finish || (s8_step && !s8_truncated_o);
    s9_deed_o.values <= s8_aim_i.start || s8_aim_i.finish || s8_aim_i.refresh || s8_step;
    s9_deed_o.late <= s8_aim_i.asks && !world_ready_i;
    s9_reward_o <= s8_step ? world_reward_i : '0;
    s9_x_o <= s8_aim_i.refresh || s8_entry ? s8_state_i :
        s8_aim_i.start || s8_aim_i.finish || world_terminated_i ? world_start_state_i :
        world_next_state_i;
  end

  logic unused_bits;
  assign unused_bits = ^{agent_i, access_i};

  `QS_ASSERT(AnswerInRange_A, !s8_step || 32'(world_next_state_i) < States)

endmodule
