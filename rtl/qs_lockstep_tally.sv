// SPDX-License-Identifier: Apache-2.0
// The counters of all agents of lanes in lockstep: small counts of the lanes, swept into a large memory.
//
// Function    A sweep visits all agents, lane by lane, each for six rotations, and then the host. In a visit the
//             agent's small counts are taken, begin again at 0, and are added to its 16 words: steps (3 words,
//             lowest first), terminations (3), truncations (3), sum of returns (4), saturations (3). A read of
//             word 0 copies all words, and all words are read from the copy, so they are of one moment.
//             Golden model: AgentCounters in qstep.acting.agent.
// Timing      A sweep takes 54 * (agents + 1) clocks; an access of the host up to two sweeps.
// Handshake   read_i or write_i stays 1 until done_o is 1, for one clock, in which data_o is the word read.
// Reset       none: the sweep goes on.
// Hazards     none: a small count holds all that happens between two visits.
// Invariants  none
// Resources   A single-port RAM (SPRAM) and about 200 logic cells of an iCE40 UP5K.
// Reference   none

module qs_lockstep_tally
  import qs_lockstep_pkg::*;
#(
    parameter  int unsigned Lanes    = 3,  // 1..4
    localparam int unsigned LaneBits = 3
) (
    input logic clk_i,

    input  logic                 turn_i,    // a rotation's last clock
    input  logic [AgentBits-1:0] slot_i,    // stage 0
    input  logic [CountBits-1:0] recent_i,
    output logic                 begins_o,  // with turn_i: the next rotation is a sweep's first
    output logic                 ends_o,    // or its last

    input  logic [Lanes-1:0][ReturnBits-1:0]                return_i,
    input  logic [Lanes-1:0][           1:0][CountBits-1:0] counts_i,
    output logic [Lanes-1:0]                                fresh_return_o,
    output logic [Lanes-1:0]                                fresh_counts_o,

    input  logic                 read_i,
    input  logic                 write_i,
    input  logic [ LaneBits-1:0] want_lane_i,
    input  logic [AgentBits-1:0] want_agent_i,
    input  logic [          3:0] want_word_i,
    input  logic [         15:0] data_i,
    output logic                 done_o,
    output logic [         15:0] data_o
);

  localparam int unsigned Rotations = 6;
  localparam logic [LaneBits+AgentBits-1:0] COPY = '1;

  if (Lanes < 1 || Lanes > 4) begin : gen_bad_lanes
    $fatal(1, "qs_lockstep_tally: Lanes is %0d, legal is 1..4", Lanes);
  end

  // --- Visits ----------------------------------------------------------------------------------------
  logic [2:0] rotation_q;
  logic [AgentBits-1:0] agent_q;
  logic [LaneBits-1:0] lane_q;
  logic begins_visit, visits_last_q, agents_last_q, host_q;

  assign begins_visit = rotation_q == '0;
  assign begins_o = host_q && visits_last_q;
  assign ends_o = host_q && rotation_q == 3'(Rotations - 2);

  always_ff @(posedge clk_i) begin
    // Constant in a rotation's last clocks, where they are used.
    host_q <= lane_q >= LaneBits'(Lanes);
    visits_last_q <= rotation_q >= 3'(Rotations - 1);
    agents_last_q <= agent_q >= AgentBits'(Agents - 1);
    if (turn_i) begin
      rotation_q <= visits_last_q ? '0 : rotation_q + 1'b1;
      if (visits_last_q) begin
        agent_q <= agent_q + 1'b1;
        if (agents_last_q) begin
          agent_q <= '0;
          lane_q  <= lane_q + 1'b1;
        end
        if (host_q) begin
          agent_q <= '0;
          lane_q  <= '0;
        end
      end
    end
  end

  // --- The slot whose counts are taken, and the agent's next, which begins at 0 --------------------------
  logic [19:2] token_q;
  logic takes, takes_q;
  logic [Lanes-1:0] at_lane_q;
  logic [CountBits-1:0] steps_q;
  logic [ReturnBits-1:0] return_q;
  logic [1:0][CountBits-1:0] counts_q;

  assign takes = begins_visit && slot_i == agent_q;

  always_ff @(posedge clk_i) begin
    for (int unsigned n = 0; n < Lanes; n++) at_lane_q[n] <= lane_q == LaneBits'(n);
    takes_q <= takes;
    token_q <= {token_q[18:2], takes_q};
    if (begins_visit) steps_q <= recent_i;  // constant in a rotation
    if (token_q[5]) begin
      return_q <= '0;
      for (int unsigned n = 0; n < Lanes; n++) if (at_lane_q[n]) return_q <= return_i[n];
    end
    if (token_q[13]) begin
      counts_q <= '0;
      for (int unsigned n = 0; n < Lanes; n++) if (at_lane_q[n]) counts_q <= counts_i[n];
    end
    fresh_return_o <= token_q[11] ? at_lane_q : '0;
    fresh_counts_o <= token_q[19] ? at_lane_q : '0;
  end

  // --- The agent's words: read in the even clocks of a visit's last four rotations, written in the odd ones -----
  (* ram_style = "huge" *) logic [15:0] totals[1<<14];
  logic [5:0] clock_q;
  logic [4:0] word;
  logic [3:0] written_q;
  logic [15:0] ram_q, sum_q, addend_q;
  logic [7:0] high_q;  // of a total whose lower half has been added
  logic [8:0] low_q;
  logic
      carry_q,
      adds_q,
      added_q,
      ends_q,
      writes_q,
      matches_q,
      done_q,
      serves_q,
      copies_q,
      copied_q,
      write_q;
  logic [8:0] low, high;
  logic [LaneBits+AgentBits-1:0] from_q, place_q, want;
  logic [13:0] address;
  logic host_writes_q, from_steps_q, from_return_q, from_sign_q;
  logic [ 1:0] from_counts_q;
  logic [15:0] addend;

  assign word    = clock_q[5:1];
  assign want    = {want_lane_i, want_agent_i};
  assign address = 14'(clock_q[0] ? {place_q, written_q} : {from_q, word[3:0]});
  always_comb begin
    addend = {16{from_sign_q}};
    if (from_steps_q) addend |= 16'(steps_q);
    if (from_counts_q[0]) addend |= 16'(counts_q[0]);
    if (from_counts_q[1]) addend |= 16'(counts_q[1]);
    if (from_return_q) addend |= return_q;
  end
  assign low    = {1'b0, ram_q[7:0]} + {1'b0, addend_q[7:0]} + 9'(carry_q);
  assign high   = {1'b0, high_q} + {1'b0, addend_q[15:8]} + 9'(low_q[8]);
  assign done_o = done_q;
  assign data_o = sum_q;

  always_ff @(posedge clk_i) begin
    if (write_q) totals[address] <= host_writes_q ? data_i : sum_q;
    else ram_q <= totals[address];
  end

  always_ff @(posedge clk_i) begin
    clock_q <= clock_q + 1'b1;
    if (turn_i && rotation_q == 3'd1) clock_q <= '0;
    adds_q <= (adds_q || (turn_i && rotation_q == 3'd1)) && !(turn_i && visits_last_q);
    from_q <= !host_q ? {lane_q, agent_q} : write_i || copies_q ? want : COPY;
    place_q <= !host_q ? {lane_q, agent_q} : write_i ? want : COPY;
    host_writes_q <= host_q && write_i;
    // What the next word grows by, one bit per source.
    from_steps_q <= !adds_q && !host_q;
    from_counts_q <= {word == 5'd12, word == 5'd2} & {2{!host_q}};
    from_return_q <= word == 5'd8 && !host_q;
    from_sign_q <= word inside {5'd9, 5'd10, 5'd11} && return_q[ReturnBits-1] && !host_q;
    // The lower half of a word is added in its odd clock, the upper one in the next even clock, and the sum is
    // written in the odd clock behind that.
    writes_q <= adds_q && !word[4];
    matches_q <= word[3:0] == want_word_i;
    write_q <= !clock_q[0] && writes_q &&
        (!host_q || copies_q || (serves_q && write_i && matches_q));
    done_q <= !clock_q[0] && writes_q && host_q && serves_q && !copies_q && matches_q;
    ends_q <= word inside {5'd2, 5'd5, 5'd8, 5'd12, 5'd15};

    if (!clock_q[0]) begin
      addend_q <= addend;
      sum_q <= {high[7:0], low_q[7:0]};
      carry_q <= high[8] && !ends_q;
    end else begin
      low_q <= low;
      high_q <= ram_q[15:8];
      written_q <= word[3:0];
    end
    added_q <= adds_q;
    if (!added_q) carry_q <= 1'b0;

    // Whom the host's visit serves: decided a rotation before the first address depends on it.
    if (!host_q || begins_visit) begin
      serves_q <= 1'b1;
      copies_q <= read_i && want_word_i == '0 && !copied_q;
    end
    if (done_q || !(read_i || write_i)) serves_q <= 1'b0;
    copied_q <= read_i && !done_q && (copied_q || (copies_q && host_q && turn_i && visits_last_q));
  end

endmodule
