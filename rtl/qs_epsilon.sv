// SPDX-License-Identifier: Apache-2.0
// The exploration of all agents: an epsilon each, and its schedule.
//
// Function    When a slot's unit (a step, or the end of an episode) is over, its count goes up; when that
//             reaches period it starts again and epsilon = max(end, epsilon - decrement - (shift ? epsilon >>
//             shift : 0)). Golden model: ActingModel._lower_epsilon in qstep.acting.model.
// Timing      A slot a clock. Epsilon is there in stage 5 and the count in stage 9. What they would go on with is
//             made in any slot, and written in stage 10 if a unit is over.
// Handshake   access_i.set writes a setting: 1 {by_episodes, end}, 2 {shift, decrement}, 3 period - 1.
//             access_i.load writes epsilon (2) and the count (3) of the slot that token_i follows.
// Reset       none: undefined until loaded.
// Hazards     none: a slot returns after it has been written.
// Invariants  EpsilonInRange_A
// Resources   Three sums of 26 bits and a shifter of 25; two block RAMs, as much of the rest is memory
// Reference   none

`include "qs_assert.svh"

module qs_epsilon
  import qs_agents_pkg::*;
#(
    parameter int unsigned Agents = 16,  // 1..16
    parameter int unsigned Slots = 16,  // 16 or more
    localparam int unsigned Count = EpisodeBits
) (
    input logic clk_i,
    input logic rst_i,  // only gates the assertion

    input logic    [Slots-1:0][AgentBits-1:0] agent_i,   // in each stage
    input access_t                            access_i,
    input logic    [     10:0]                token_i,   // the slot of an access is in this stage

    input logic s9_stepped_i,  // a step is over
    input logic s9_ended_i,    // and so is its episode
    input logic s10_acts_i,

    output logic [EpsilonBits-1:0] s5_epsilon_o,
    output logic [      Count-1:0] s9_count_o
);

  localparam int unsigned Part = 4;  // bits that are compared in one clock
  localparam int unsigned Parts = Count / Part;

  logic s7_by_episodes;
  logic [3:0] s5_shift;
  logic [Count-1:0] s9_last_count, s10_count_q;
  logic [EpsilonBits-1:0] s5_decrement, s7_end, s10_epsilon_q;
  logic s10_unit_q, s10_due, s10_load, s10_load_count;
  logic [Parts-1:0] s10_same_q;

  // An epsilon that is loaded takes the place of the end, which the slot then goes on with in any case.
  qs_agent_settings #(
      .Words(2 << AgentBits),
      .Width(1 + EpsilonBits)
  ) u_end (
      .clk_i,
      .write_i      (access_i.set[1] || (token_i[2] && access_i.load[2])),
      .write_index_i({access_i.load[2], access_i.agent}),
      .write_data_i (access_i.data[EpsilonBits:0]),
      .read_index_i ({token_i[5] && access_i.load[2], agent_i[5]}),
      .data_o       ({s7_by_episodes, s7_end})
  );

  qs_agent_settings #(
      .Words(1 << AgentBits),
      .Width(4 + EpsilonBits)
  ) u_fall (
      .clk_i,
      .write_i      (access_i.set[2]),
      .write_index_i(access_i.agent),
      .write_data_i (access_i.data[EpsilonBits+3:0]),
      .read_index_i (agent_i[3]),
      .data_o       ({s5_shift, s5_decrement})
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (Count)
  ) u_period (
      .clk_i,
      .write_i      (access_i.set[3]),
      .write_agent_i(access_i.agent),
      .write_data_i (access_i.data[Count-1:0]),
      .read_agent_i (agent_i[8]),
      .clear_i      (1'b0),
      .data_o       (s9_last_count)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (EpsilonBits)
  ) u_epsilon (
      .clk_i,
      .write_i      (s10_due || s10_load),
      .write_agent_i(agent_i[10]),
      .write_data_i (s10_epsilon_q),
      .read_agent_i (agent_i[4]),
      .clear_i      (1'b0),
      .data_o       (s5_epsilon_o)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (Count)
  ) u_count (
      .clk_i,
      .write_i      ((s10_unit_q && s10_acts_i) || s10_load_count),
      .write_agent_i(agent_i[10]),
      .write_data_i (s10_load_count ? access_i.data[31-:Count] : s10_due ? '0 : s10_count_q),
      .read_agent_i (agent_i[8]),
      .clear_i      (1'b0),
      .data_o       (s9_count_o)
  );

  // Shift by 0 to 3, then by multiples of 4; the decrement meanwhile; compare; choice. Two's complement: epsilon
  // less decrement and shifted epsilon is at least -2^24.
  logic s6_shifts_q, s8_by_episodes_q, s9_by_episodes_q, s9_less_q;
  logic [1:0] s6_shift_q;
  logic [EpsilonBits-1:0] s6_shifted_q, s7_shifted_q, s8_end_q, s9_end_q, s9_left_q;
  logic [EpsilonBits:0] s6_left_q, s7_left_q, s8_left_q, s8_lead;

  assign s8_lead = s8_left_q - {1'b0, s8_end_q};

  always_ff @(posedge clk_i) begin
    s6_shifts_q      <= s5_shift != '0;
    s6_shift_q       <= s5_shift[3:2];
    s6_shifted_q     <= s5_epsilon_o >> s5_shift[1:0];
    s6_left_q        <= {1'b0, s5_epsilon_o} - {1'b0, s5_decrement};

    s7_shifted_q     <= s6_shifts_q ? s6_shifted_q >> {s6_shift_q, 2'b0} : '0;
    s7_left_q        <= s6_left_q;

    // A block RAM is slow: end is compared behind a register.
    s8_left_q        <= s7_left_q - {1'b0, s7_shifted_q};
    s8_end_q         <= s7_end;
    s8_by_episodes_q <= s7_by_episodes;

    s9_less_q        <= s8_lead[EpsilonBits] || (token_i[8] && access_i.load[2]);
    s9_left_q        <= s8_left_q[EpsilonBits-1:0];
    s9_end_q         <= s8_end_q;
    s9_by_episodes_q <= s8_by_episodes_q;

    s10_epsilon_q    <= s9_less_q ? s9_end_q : s9_left_q;
    s10_unit_q       <= s9_stepped_i && (s9_ended_i || !s9_by_episodes_q);

    // Whether the count is the period, four bits at a time: all of them are too many for a clock.
    s10_count_q      <= s9_count_o + 1'b1;
    for (int unsigned p = 0; p < Parts; p++)
    s10_same_q[p] <= s9_count_o[p*Part+:Part] == s9_last_count[p*Part+:Part];
  end

  assign s10_due = s10_unit_q && s10_acts_i && s10_same_q == '1;
  assign s10_load = token_i[10] && access_i.load[2];
  assign s10_load_count = token_i[10] && access_i.load[3];

  logic unused_bits;
  assign unused_bits = ^{agent_i, access_i, token_i, s8_lead[EpsilonBits-1:0]};

  `QS_ASSERT(EpsilonInRange_A, !s10_due || s10_epsilon_q <= EpsilonBits'(1) << 24)

endmodule
