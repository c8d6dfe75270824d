// SPDX-License-Identifier: Apache-2.0
// qs_agent_counters accumulates each agent's inputs exactly, and a read returns sums of a single instant.
//
// Function    The agent is any of 16. The reference accumulates immediately: steps, terminations, truncations,
//             returns and saturations. In every clock, each of its sums is the agent's word at the last sweep plus
//             the small count since then. A copy contains all 16 words of one sweep, and a write sets only its own
//             word.
// Assumed     A request is held until it is done, selects its word one clock before it starts, and is followed by one
//             idle clock. A word is written only while it has no pending counts, because the device refuses writes
//             with BUSY while agents step. Power-up is the only reset. Slots rotate (`slots`).

module counters_proof
  import qs_agents_pkg::*;
(
    input logic clk_i,
    input logic rst_i,

    input logic               stepped_i,
    input logic               terminated_i,
    input logic               truncated_i,
    input logic signed [15:0] reward_i,
    input logic               saturated_i,

    input logic        read_i,
    input logic        write_i,
    input logic [ 3:0] want_agent_i,
    input logic [ 3:0] want_word_i,
    input logic [15:0] want_data_i
);

  localparam int unsigned Slots = 16;
  localparam int unsigned Stage = 13;
  localparam int unsigned Late = 5;  // stage in which saturations arrive, one rotation later

  typedef struct packed {
    logic [47:0] saturations;
    logic [63:0] returns;
    logic [47:0] truncations;
    logic [47:0] terminations;
    logic [47:0] steps;
  } sums_t;  // word n starts at bit 16 n

  // --- Slots ------------------------------------------------------------------------------------------
  logic [AgentBits-1:0] slot_q = '0, chosen;
  logic [Slots-1:0][AgentBits-1:0] agent_i;
  always_ff @(posedge clk_i) begin
    slot_q <= slot_q + 1'b1;
    chosen <= chosen;
  end
  for (genvar k = 0; k < Slots; k++) begin : gen_stage
    assign agent_i[k] = slot_q - AgentBits'(k);
  end

  logic done_o;
  logic [15:0] data_o;
  qs_agent_counters u_counters (
      .before_entry_agent_i(agent_i[Stage-1]),
      .before_entry_live_i (1'b1),
      .entry_agent_i       (agent_i[Stage]),
      .entry_live_i        (1'b1),
      .before_write_agent_i(agent_i[Late-1]),
      .before_write_live_i (1'b1),
      .write_agent_i       (agent_i[Late]),
      .write_live_i        (1'b1),
      .*
  );

  // --- Clocks since the agent's sweep, 1 to 272 -------------------------------------------------------
  logic [2:0] age_q = '0;
  logic old;
  logic [AgentBits-1:0] turns;
  logic [8:0] since, late_since;
  assign old = age_q == '1;
  assign turns = u_counters.swept_q - chosen;
  assign since = 9'(turns) * 9'd17 + 9'(u_counters.sweep_q == '0 ? 5'd17 : u_counters.sweep_q);
  assign late_since = since > 9'd8 ? since - 9'd8 : since + 9'd264;

  logic known_q = 1'b0, late_known_q = 1'b0;  // the agent has been swept
  logic mine, late, takes, late_takes;
  assign mine = agent_i[Stage] == chosen;
  assign late = agent_i[Late] == chosen;
  assign takes = old && mine && u_counters.take_q;
  assign late_takes = known_q && late && u_counters.late_take_q;

  // --- The reference: sums, and their swept parts -----------------------------------------------------
  sums_t total_q, before_q, after_q, memory, swept;
  logic [4:0] steps_q, terminations_q, truncations_q, saturations_q;
  logic signed [20:0] returns_q;
  for (genvar n = 0; n < 16; n++) begin : gen_memory
    assign memory[16*n+:16] = u_counters.u_words.mem[{chosen, 4'(n)}];
  end
  always_comb begin
    swept.steps = memory.steps + 48'(u_counters.counted.steps);
    swept.terminations = memory.terminations + 48'(u_counters.counted.terminations);
    swept.truncations = memory.truncations + 48'(u_counters.counted.truncations);
    swept.returns = memory.returns + 64'(signed'(u_counters.counted.returns));
    swept.saturations = memory.saturations + 48'(u_counters.saturated);
  end

  logic window, writes;
  logic [3:0] word;  // index of the word in sum_q
  assign window = known_q && since >= 9'd5 && since <= 9'd20;
  assign word   = 4'(since - 9'd5);
  assign writes = window && u_counters.hit_q;

  always_ff @(posedge clk_i) begin
    if (!old) age_q <= age_q + 1'b1;

    if (mine) begin
      total_q.steps <= total_q.steps + 48'(stepped_i);
      total_q.terminations <= total_q.terminations + 48'(terminated_i);
      total_q.truncations <= total_q.truncations + 48'(truncated_i);
      total_q.returns <= total_q.returns + 64'(reward_i);
      steps_q <= steps_q + 5'(stepped_i);
      terminations_q <= terminations_q + 5'(terminated_i);
      truncations_q <= truncations_q + 5'(truncated_i);
      returns_q <= returns_q + 21'(reward_i);
    end
    if (takes) begin
      {steps_q, terminations_q, truncations_q, returns_q} <= '0;
      before_q <= memory;
      after_q <= {
        memory.saturations, swept.returns, swept.truncations, swept.terminations, swept.steps
      };
      if (!known_q) total_q <= swept;
      known_q <= 1'b1;
    end

    if (late) begin
      total_q.saturations <= total_q.saturations + 48'(saturated_i);
      saturations_q <= saturations_q + 5'(saturated_i);
    end
    if (late_takes) begin
      saturations_q <= '0;
      after_q.saturations <= swept.saturations;
      if (!late_known_q) total_q.saturations <= swept.saturations;
      late_known_q <= 1'b1;
    end

    if (writes) begin
      before_q[16*word+:16] <= want_data_i;
      after_q[16*word+:16]  <= want_data_i;
      total_q[16*word+:16]  <= want_data_i;
    end
  end

  // --- Requests ---------------------------------------------------------------------------------------
  logic asks, asked_q = 1'b0, over_q = 1'b0, wants;
  logic [25:0] given, given_q;
  assign asks  = read_i || write_i;
  assign given = {read_i, write_i, want_agent_i, want_word_i, want_data_i};
  assign wants = want_agent_i == chosen;

  // A complete copy of the agent's words.
  logic  copied_q = 1'b0;
  sums_t copy_q;
  always_ff @(posedge clk_i) begin
    asked_q <= asks;
    over_q  <= done_o;
    given_q <= given;
    if (u_counters.copies_q) copied_q <= known_q && wants && u_counters.ends;
    if (u_counters.copies_q && wants) copy_q <= after_q;
  end

  always_comb begin
    assume (rst_i == (age_q < 3'd2));
    assume (!asks || known_q);
    assume (!(read_i && write_i));
    assume (!asked_q || over_q || given == given_q);
    assume (!over_q || !asks);
    assume (!asks || given[23:0] == given_q[23:0]);
    if (write_i && wants) begin
      assume (total_q == after_q && (since > 9'd20 || after_q == before_q));
      assume (!(mine && {stepped_i, terminated_i, truncated_i, 16'(reward_i)} != '0));
      assume (!(late && saturated_i));
    end
  end

  // --- For the induction ------------------------------------------------------------------------------
  logic [4:0] most, late_most;  // slots since the sweep
  logic signed [20:0] most_returns;
  sums_t added;
  assign most = 5'((since - 9'd1) >> 4);
  assign late_most = 5'((late_since - 9'd1) >> 4);
  assign most_returns = signed'({1'b0, most, 15'd0});
  assign added.steps = after_q.steps - before_q.steps;
  assign added.terminations = after_q.terminations - before_q.terminations;
  assign added.truncations = after_q.truncations - before_q.truncations;
  assign added.returns = after_q.returns - before_q.returns;
  assign added.saturations = after_q.saturations - before_q.saturations;

  // The carry into each word is 1 if the value of the words below it has wrapped around.
  logic [15:0] carry;
  for (genvar n = 0; n < 16; n++) begin : gen_carry
    localparam int First = n < 3 ? 0 : n < 6 ? 3 : n < 9 ? 6 : n < 13 ? 9 : 13;
    if (n == First) begin : gen_first
      assign carry[n] = 1'b0;
    end else begin : gen_next
      assign carry[n] = after_q[16*n-1:16*First] < before_q[16*n-1:16*First];
    end
  end

  for (genvar n = 0; n < 16; n++) begin : gen_word
    logic now;
    assign now = n < 13 ? known_q : late_known_q;
    always_comb begin
      if (now) begin
        if ((n < 13 || since > 9'd8) && since <= 9'(n + 5))
          Before_L :
          assert (memory[16*n+:16] == before_q[16*n+:16]);
          else After_L : assert (memory[16*n+:16] == after_q[16*n+:16]);
        if (since == 9'(n + 2)) Ram_L : assert (u_counters.u_words.ram_q == before_q[16*n+:16]);
        if (since == 9'(n + 3)) Mem_L : assert (u_counters.mem_word == before_q[16*n+:16]);
        if (since == 9'(n + 4)) begin
          Word_L : assert (u_counters.word_q == before_q[16*n+:16]);
          Addend_L : assert (u_counters.addend_q == added[16*n+:16]);
          Carry_L : assert (u_counters.carry_q == carry[n]);
        end
        if (since == 9'(n + 5)) Sum_L : assert (u_counters.sum_q == after_q[16*n+:16]);
        if (u_counters.copies_q && wants && since > 9'(n + 5))
          Copying_L : assert (u_counters.snapshot[n] == after_q[16*n+:16]);
      end
      if (copied_q) Copied_L : assert (u_counters.snapshot[n] == copy_q[16*n+:16]);
    end
  end

  always_comb begin
    Age_L : assert (!known_q || old);
    Late_L : assert (late_known_q ? known_q : !known_q || since <= 9'd8);
    if (old) begin
      Sweep_L :
      assert (u_counters.sweep_q <= 5'd16 && u_counters.take_q == (u_counters.sweep_q == '0));
      Clear_L :
      assert (u_counters.clear_q == (u_counters.sweep_q == 5'd15) &&
              u_counters.late_take_q == (u_counters.sweep_q == 5'd8) &&
              u_counters.late_clear_q == (u_counters.sweep_q == 5'd6));
      Slot_L : assert (slot_q == 4'(32'(chosen) + Stage + 32'(since)));
      Lives_L : assert (u_counters.lives_q);
      Summed_L :
      assert (u_counters.summed_q ==
              u_counters.swept_q - 4'(u_counters.sweep_q inside {5'd1, 5'd2, 5'd3}));
    end
    if (known_q) begin
      Steps_L : assert (steps_q <= most && terminations_q <= most && truncations_q <= most);
      Returns_L : assert (returns_q <= most_returns && returns_q >= -most_returns);
      if (mine)
        Count_L :
        assert ({u_counters.count} == {steps_q, terminations_q, truncations_q, returns_q});
      if (since > 9'd16)
        Small_L :
        assert (u_counters.u_small.gen_memory.mem[chosen] ==
                {steps_q, terminations_q, truncations_q, returns_q});
      if (since <= 9'd17)
        Taken_L :
        assert (added.steps == 48'(u_counters.taken_q.steps) &&
                added.terminations == 48'(u_counters.taken_q.terminations) &&
                added.truncations == 48'(u_counters.taken_q.truncations) &&
                added.returns == 64'(signed'(u_counters.taken_q.returns)));
      if (since <= 9'd8)
        Same_L : assert (added.saturations == '0 && before_q.saturations == memory.saturations);
    end
    if (late_known_q) begin
      Saturations_L : assert (saturations_q <= late_most);
      if (late) LateCount_L : assert (u_counters.saturations == saturations_q);
      if (late_since > 9'd16)
        LateSmall_L : assert (u_counters.u_saturations.gen_memory.mem[chosen] == saturations_q);
      if (since > 9'd8 && since <= 9'd25)
        LateTaken_L : assert (added.saturations == 48'(u_counters.late_q));
    end
    Window_L : assert (!(u_counters.copies_q && wants) || (read_i && window) || !asks);
    Copy_L : assert (!(u_counters.copied_q && read_i && wants) || copied_q);

    // --- The theorem ----------------------------------------------------------------------------------
    if (known_q) begin
      Sums_A :
      assert (total_q.steps == after_q.steps + 48'(steps_q) &&
              total_q.terminations == after_q.terminations + 48'(terminations_q) &&
              total_q.truncations == after_q.truncations + 48'(truncations_q) &&
              total_q.returns == after_q.returns + 64'(returns_q));
    end
    if (late_known_q)
      Saturations_A : assert (total_q.saturations == after_q.saturations + 48'(saturations_q));
    if (writes) Write_A : assert (write_i && wants && want_word_i == word);
    if (done_o && write_i && wants) Written_A : assert (total_q[16*want_word_i+:16] == want_data_i);
    if (done_o && read_i && wants && (want_word_i == '0 || copied_q))
      Read_A : assert (copied_q && data_o == copy_q[16*want_word_i+:16]);

    Read_C : cover (done_o && read_i && wants && total_q.steps == 48'd65536 && steps_q == 5'd1);
    Carry_C : cover (known_q && since == 9'd20 && carry[1] && carry[2] && carry[12]);
    Written_C : cover (done_o && write_i && wants);
  end

endmodule
