// SPDX-License-Identifier: Apache-2.0
// Counters of all agents: steps, terminations, truncations, sum of returns, saturations.
//
// Function    Each agent has small counters, which every step updates, and 16 words of 16 bits in a block RAM. A sweep
//             adds the small counters to these words: steps (3 words, lowest first), terminations (3), truncations (3),
//             sum of returns (4, two's complement), saturations (3). A read of word 0 copies all words of the agent
//             during its sweep. Words 1 to 15 are read from that copy, so all words are from the same moment. Golden
//             model: AgentCounters in qstep.spec.settings.
// Timing      The sweep of an agent takes Slots clocks. The next agent's sweep begins one clock later, in its slot,
//             so a whole sweep takes Slots * (Slots + 1) clocks. Between sweeps, events are counted in the small
//             counters.
// Handshake   read_i or write_i stays 1 until done_o, which is 1 for one clock.
// Reset       Restarts the sweep; words are undefined until written.
// Hazards     A write while its agent is stepping may lose the counts that the sweep adds.
// Invariants  SweepIsAligned_A
// Resources   A block RAM of 256 words, one 16-bit adder.
// Reference   none

`include "qs_assert.svh"

module qs_agent_counters
  import qs_agents_pkg::*;
  import qs_map_pkg::*;
#(
    parameter int unsigned Agents = 16,  // 1..16
    parameter int unsigned Width = 16,  // 8..32
    parameter int unsigned Slots = 16,  // 16 or more
    parameter int unsigned WriteDelay = UpdateStages,  // stages from Entry to Write, 8 or 9
    parameter bit StepLimit = 1  // else no step is truncated
) (
    input logic clk_i,
    input logic rst_i,

    // Stages Entry and Write, and the stage before each; see qs_agents_pkg
    input logic [AgentBits-1:0] before_entry_agent_i,
    input logic                 before_entry_live_i,
    input logic [AgentBits-1:0] entry_agent_i,
    input logic                 entry_live_i,
    input logic [AgentBits-1:0] before_write_agent_i,
    input logic                 before_write_live_i,
    input logic [AgentBits-1:0] write_agent_i,
    input logic                 write_live_i,

    // Stage Entry
    input logic                    stepped_i,
    input logic                    terminated_i,  // 0 if stepped_i is 0, like the next two
    input logic                    truncated_i,
    input logic signed [Width-1:0] reward_i,
    // Stage Write
    input logic                    saturated_i,

    input  logic                 read_i,
    input  logic                 write_i,
    input  logic [AgentBits-1:0] want_agent_i,
    input  logic [          3:0] want_word_i,
    input  logic [         15:0] want_data_i,
    output logic                 done_o,
    output logic [         15:0] data_o
);

  localparam int unsigned SmallBits = $clog2(Slots + 2);
  localparam int unsigned ReturnBits = Width + SmallBits;
  localparam int unsigned SweepBits = $clog2(Slots + 1);

  typedef struct packed {
    logic [SmallBits-1:0] steps;
    logic [SmallBits-1:0] terminations;
    logic [SmallBits-1:0] truncations;
    logic signed [ReturnBits-1:0] returns;
  } small_t;

  // The sweep samples the small counts of the agent in stage Entry, then adds them to the agent's words.
  logic [SweepBits-1:0] sweep_q;
  logic last, take_q, clear_q, late_take_q, late_clear_q;
  logic [AgentBits-1:0] swept_q, summed_q;
  logic lives_q;

  always_ff @(posedge clk_i) begin
    sweep_q <= last ? '0 : sweep_q + 1'b1;
    if (rst_i) sweep_q <= '0;
    // The swept agent's slot returns one clock before the sweep restarts.
    take_q <= last || rst_i;
    clear_q <= sweep_q == SweepBits'(Slots - 2) || rst_i;
    late_take_q <= sweep_q == SweepBits'(WriteDelay - 1);
    late_clear_q <= sweep_q == SweepBits'(WriteDelay - 3) || rst_i;
  end
  assign last = sweep_q == SweepBits'(Slots);

  // Small counts, read one stage earlier; 0 after the sweep has sampled them.
  small_t count, counted, taken_q;
  logic [SmallBits-1:0] saturations, saturated, late_q;

  qs_agent_ram #(
      .Agents(Agents),
      .Width ($bits(small_t))
  ) u_small (
      .clk_i,
      .write_i      (entry_live_i),
      .write_agent_i(entry_agent_i),
      .write_data_i (counted),
      .read_agent_i (before_entry_agent_i),
      .clear_i      (clear_q && before_entry_live_i),
      .data_o       (count)
  );

  always_comb begin
    counted.steps = count.steps + SmallBits'(stepped_i);
    counted.terminations = count.terminations + SmallBits'(terminated_i);
    counted.truncations = StepLimit ? count.truncations + SmallBits'(truncated_i) : '0;
    counted.returns = count.returns + ReturnBits'(reward_i);
  end

  always_ff @(posedge clk_i) begin
    if (take_q) begin
      taken_q <= counted;
      swept_q <= entry_agent_i;
      lives_q <= entry_live_i;
    end
  end

  qs_agent_ram #(
      .Agents(Agents),
      .Width (SmallBits)
  ) u_saturations (
      .clk_i,
      .write_i      (write_live_i),
      .write_agent_i(write_agent_i),
      .write_data_i (saturated),
      .read_agent_i (before_write_agent_i),
      .clear_i      (late_clear_q && before_write_live_i),
      .data_o       (saturations)
  );

  assign saturated = saturations + SmallBits'(saturated_i);
  always_ff @(posedge clk_i) if (late_take_q) late_q <= saturated;

  // The addend of each word. Word n is in flight while sweep_q is n + 1 (address) to n + 5 (write). Sums of returns are
  // sign-extended.
  logic [15:0] mem_word, word_q, addend_q, addend, sum_q;
  logic [3:0] a_word_q, r_word_q, b_word_q, c_word_q, d_word_q;
  logic a_valid, r_valid_q, b_valid_q, c_valid_q, d_valid_q, b_first_q, carry_q, hit_q;
  logic [ 7:0] b_from_q;  // one bit per source of the addend
  logic [63:0] returns;
  logic [16:0] sum;

  assign a_valid = lives_q && sweep_q != '0 && 32'(sweep_q) <= 16;
  assign returns = 64'(taken_q.returns);

  always_comb begin
    addend = '0;
    if (b_from_q[0]) addend |= 16'(taken_q.steps);
    if (b_from_q[1]) addend |= 16'(taken_q.terminations);
    if (b_from_q[2]) addend |= 16'(taken_q.truncations);
    if (b_from_q[3]) addend |= returns[15:0];
    if (b_from_q[4]) addend |= returns[31:16];
    if (b_from_q[5]) addend |= returns[47:32];
    if (b_from_q[6]) addend |= returns[63:48];
    if (b_from_q[7]) addend |= 16'(late_q);
  end

  assign sum = {1'b0, word_q} + {1'b0, addend_q} + 17'(carry_q);

  qs_ram #(
      .Words(2 ** (AgentBits + 4)),
      .Width(16)
  ) u_words (
      .clk_i,
      .write_i      (d_valid_q),
      .write_index_i({summed_q, d_word_q}),
      .write_data_i (hit_q ? want_data_i : sum_q),
      .read_index_i ({swept_q, a_word_q}),
      .data_o       (mem_word)
  );

  logic [15:0] snapshot[16];
  logic [AgentBits-1:0] summing;
  logic wanted_q, c_wanted_q;

  assign summing = b_valid_q && b_from_q[0] ? swept_q : summed_q;

  always_ff @(posedge clk_i) begin
    // The agent whose words are in word_q and the later stages. Its last words are still in flight during the next
    // agent's sweep.
    summed_q <= summing;
    wanted_q <= summing == want_agent_i;

    a_word_q <= sweep_q[3:0];  // one less than sweep_q in that clock
    r_word_q <= a_word_q;
    r_valid_q <= a_valid;

    b_first_q <= r_word_q inside {
      CounterSteps,
      CounterTerminations,
      CounterTruncations,
      CounterReturnSum,
      CounterSaturations
    };
    b_from_q <= {
      r_word_q == CounterSaturations,
      r_word_q == CounterReturnSum + 4'd3,
      r_word_q == CounterReturnSum + 4'd2,
      r_word_q == CounterReturnSum + 4'd1,
      r_word_q == CounterReturnSum,
      r_word_q == CounterTruncations,
      r_word_q == CounterTerminations,
      r_word_q == CounterSteps
    };
    b_word_q <= r_word_q;
    b_valid_q <= r_valid_q;

    word_q <= mem_word;
    addend_q <= addend;
    c_word_q <= b_word_q;
    c_wanted_q <= b_word_q == want_word_i;
    c_valid_q <= b_valid_q;

    sum_q <= sum[15:0];
    carry_q <= sum[16] && !b_first_q;
    hit_q <= write_i && wanted_q && c_valid_q && c_wanted_q;
    d_word_q <= c_word_q;
    d_valid_q <= c_valid_q;
    if (rst_i) begin
      r_valid_q <= 1'b0;
      b_valid_q <= 1'b0;
      c_valid_q <= 1'b0;
      d_valid_q <= 1'b0;
    end
  end

  // Reads: the copy begins with the agent's first word and is complete after its last.
  logic copies, ends, copies_q, copied_q, answered_q;
  assign copies = read_i && want_word_i == '0 && !copied_q;
  assign ends   = d_valid_q && d_word_q == '1;

  always_ff @(posedge clk_i) begin
    if (copies_q && d_valid_q) snapshot[d_word_q] <= sum_q;
    data_o <= snapshot[want_word_i];
    // The requested agent's first word will be in sum_q in the next clock.
    if (copies_q) copies_q <= copies && !ends;
    else copies_q <= copies && c_valid_q && c_word_q == '0 && wanted_q;
    copied_q <= read_i && want_word_i == '0 && (copied_q || (copies_q && ends));
    answered_q <= (read_i && (want_word_i != '0 || copied_q)) || (write_i && hit_q);
    done_o <= answered_q && !done_o && (read_i || write_i);
    if (rst_i) begin
      copies_q   <= 1'b0;
      copied_q   <= 1'b0;
      answered_q <= 1'b0;
      done_o     <= 1'b0;
    end
  end

  `QS_ASSERT(SweepIsAligned_A, !late_take_q || write_agent_i == swept_q)

endmodule
