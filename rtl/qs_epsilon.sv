// SPDX-License-Identifier: Apache-2.0
// The exploration of all agents: an epsilon each, and its schedule.
//
// Function    When a slot's unit (a step, or the end of an episode) is over, its count goes up; when that
//             reaches period it starts again and epsilon = max(end, epsilon - decrement - (shift ? epsilon >>
//             shift : 0)). Golden model: ActingModel._lower_epsilon in qstep.acting.model.
// Timing      A slot a clock. What the slot did in this rotation comes in its last stage but one, Slots - 2; the count
//             for the next one is there in stage 2, where it is written back, and epsilon likewise in stage 5.
// Handshake   s2_load_i and s5_load_i write the slot's count and epsilon. set_i writes a setting of
//             set_agent_i: 0 end, 1 decrement, 2 {by_episodes, shift, period}.
// Reset       none: undefined until loaded.
// Hazards     none: a slot returns after it has been written.
// Invariants  EpsilonInRange_A
// Resources   Three sums of 26 bits and a shifter of 25.
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

    input logic [Slots-1:0][AgentBits-1:0] agent_i,    // in each stage
    input logic                            s2_live_i,  // the slot has an agent
    input logic                            s5_live_i,

    // Stage Slots - 2
    input logic stepped_i,  // a step was made
    input logic ended_i,    // and ended an episode

    input logic [          2:0] set_i,
    input logic [AgentBits-1:0] set_agent_i,
    input logic [         31:0] set_data_i,
    input logic                 s2_load_i,
    input logic                 s5_load_i,

    output logic [      Count-1:0] s2_count_o,
    output logic [EpsilonBits-1:0] s5_epsilon_o
);

  // Settings, each read so that it is there in the stage that uses it; stages go on behind the last one.
  logic by_episodes;
  logic [3:0] a_shift;
  logic [Count-1:0] b_period;
  logic [EpsilonBits-1:0] c_decrement, e_end;

  qs_agent_ram #(
      .Agents(Agents),
      .Width (1)
  ) u_unit (
      .clk_i,
      .write_i      (set_i[2]),
      .write_agent_i(set_agent_i),
      .write_data_i (set_data_i[20]),
      .read_agent_i (agent_i[Slots-3]),
      .clear_i      (1'b0),
      .data_o       (by_episodes)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (4)
  ) u_shift (
      .clk_i,
      .write_i      (set_i[2]),
      .write_agent_i(set_agent_i),
      .write_data_i (set_data_i[19:16]),
      .read_agent_i (agent_i[Slots-2]),
      .clear_i      (1'b0),
      .data_o       (a_shift)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (Count)
  ) u_period (
      .clk_i,
      .write_i      (set_i[2]),
      .write_agent_i(set_agent_i),
      .write_data_i (set_data_i[Count-1:0]),
      .read_agent_i (agent_i[Slots-1]),
      .clear_i      (1'b0),
      .data_o       (b_period)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (EpsilonBits)
  ) u_decrement (
      .clk_i,
      .write_i      (set_i[1]),
      .write_agent_i(set_agent_i),
      .write_data_i (set_data_i[EpsilonBits-1:0]),
      .read_agent_i (agent_i[0]),
      .clear_i      (1'b0),
      .data_o       (c_decrement)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (EpsilonBits)
  ) u_end (
      .clk_i,
      .write_i      (set_i[0]),
      .write_agent_i(set_agent_i),
      .write_data_i (set_data_i[EpsilonBits-1:0]),
      .read_agent_i (agent_i[2]),
      .clear_i      (1'b0),
      .data_o       (e_end)
  );

  // Stage a, the last one: epsilon, count, and whether a unit is over.
  logic [Count-1:0] a_count;
  logic [EpsilonBits-1:0] a_epsilon;
  logic a_unit_q;

  qs_agent_ram #(
      .Agents(Agents),
      .Width (EpsilonBits)
  ) u_epsilon (
      .clk_i,
      .write_i      (s5_live_i),
      .write_agent_i(agent_i[5]),
      .write_data_i (s5_load_i ? set_data_i[EpsilonBits-1:0] : s5_epsilon_o),
      .read_agent_i (agent_i[Slots-2]),
      .clear_i      (1'b0),
      .data_o       (a_epsilon)
  );

  qs_agent_ram #(
      .Agents(Agents),
      .Width (Count)
  ) u_count (
      .clk_i,
      .write_i      (s2_live_i),
      .write_agent_i(agent_i[2]),
      .write_data_i (s2_load_i ? set_data_i[31-:Count] : s2_count_o),
      .read_agent_i (agent_i[Slots-2]),
      .clear_i      (1'b0),
      .data_o       (a_count)
  );

  // Stages b to f: shift by 0 to 3, then by multiples of 4; sum; difference; compare.
  logic b_unit_q, b_shifts_q, c_unit_q, d_due_q, e_due_q, f_below_q, f_less_q, c_due;
  logic [Count-1:0] b_count_q, c_count_q;
  logic [Count/4-1:0] c_same_q;
  logic [1:0] b_shift_q;
  logic [EpsilonBits-1:0] b_shifted_q, b_epsilon_q, c_shifted_q, c_epsilon_q, d_epsilon_q, f_end_q;
  logic [EpsilonBits-1:0] f_left_q;
  logic [EpsilonBits:0] d_fall_q, e_left_q, lead;

  // Whether the count is the period, four bits at a time: all of them are too many for a clock.
  for (genvar n = 0; n < Count / 4; n++) begin : gen_same
    always_ff @(posedge clk_i) c_same_q[n] <= b_count_q[4*n+:4] == b_period[4*n+:4];
  end

  assign c_due = c_unit_q && c_same_q == '1;

  assign lead  = e_left_q - {1'b0, e_end};

  always_ff @(posedge clk_i) begin
    a_unit_q     <= stepped_i && (ended_i || !by_episodes);

    b_unit_q     <= a_unit_q;
    b_count_q    <= a_count + Count'(a_unit_q);
    b_shifts_q   <= a_shift != 0;
    b_shift_q    <= a_shift[3:2];
    b_shifted_q  <= a_epsilon >> a_shift[1:0];
    b_epsilon_q  <= a_epsilon;

    c_unit_q     <= b_unit_q;
    c_count_q    <= b_count_q;
    c_shifted_q  <= b_shifts_q ? b_shifted_q >> {b_shift_q, 2'b0} : '0;
    c_epsilon_q  <= b_epsilon_q;

    d_due_q      <= c_due;
    s2_count_o   <= c_due ? '0 : c_count_q;
    d_fall_q     <= c_due ? {1'b0, c_decrement} + {1'b0, c_shifted_q} : '0;
    d_epsilon_q  <= c_epsilon_q;

    // Two's complement: the top bit says that it is below 0, which a difference of more than -2^25 is not.
    e_due_q      <= d_due_q;
    e_left_q     <= {1'b0, d_epsilon_q} - d_fall_q;

    f_below_q    <= e_due_q && e_left_q[EpsilonBits];
    f_less_q     <= e_due_q && lead[EpsilonBits];
    f_left_q     <= e_left_q[EpsilonBits-1:0];
    f_end_q      <= e_end;

    s5_epsilon_o <= f_below_q || f_less_q ? f_end_q : f_left_q;
  end

  logic unused_lead;
  assign unused_lead = ^lead[EpsilonBits-1:0];

  `QS_ASSERT(EpsilonInRange_A, !d_due_q || d_epsilon_q <= EpsilonBits'(1) << 24)

endmodule
