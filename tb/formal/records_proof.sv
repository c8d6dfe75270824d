// SPDX-License-Identifier: Apache-2.0
// The record decoder outputs the transitions encoded in the bytes of an APPLY, once each, in order.
//
// Function    The reference decodes each complete record immediately, according to docs/link.md, and queues its
//             transition. The decoder outputs the queued transitions one by one up to the first record that is out of
//             range or has no state, and none after it. While it is empty, its flags show whether there was such a
//             record, and whether bytes of an incomplete record are left. A reward code means the value last written
//             for it, or 0. An offered transition is held until it is accepted, and for one more clock. The decoder
//             waits only for a byte, or for its transition to be accepted.
// Assumed     The commands behave as proved in commands_lane_proof: a start arrives only while the decoder is empty
//             and receives no byte, the record format is held until the next start, and rewards are written only
//             while the decoder contains no record. Power-up is a reset; another reset may come at any time.

module records_proof #(
    parameter int unsigned States  = 12,
    parameter int unsigned Actions = 3,
    parameter int unsigned Width   = 13
) (
    input logic clk,
    input logic rst,

    input logic records__start,
    input logic records__coded,
    input logic records__bytes__valid,
    input logic [7:0] records__bytes__payload,
    input logic transitions__ready,
    input logic rewards__write,
    input logic [7:0] rewards__code,
    input logic [Width-1:0] rewards__value
);

  localparam int unsigned StateBits = $clog2(States);
  localparam int unsigned ActionBits = $clog2(Actions);
  localparam int unsigned Reward = 2 + ActionBits + StateBits;  // position in a record
  localparam int unsigned Most = 32;  // maximum number of bits of a record

  typedef struct packed {
    logic [StateBits-1:0]  state;
    logic [Width-1:0]      reward;
    logic                  terminated;
    logic [StateBits-1:0]  next_state;
    logic [ActionBits-1:0] action;
  } transition_t;

  // A transition, whether it is legal, and whether its reward is not the watched one.
  typedef struct packed {
    logic        legal;
    logic        unknown;
    transition_t of;
  } decoded_t;

  logic
      records__bytes__ready, records__busy, records__partial, records__illegal, transitions__valid;
  transition_t transitions__payload;
  record_decoder u_decoder (.*);

  // --- The reward of one arbitrary code ---------------------------------------------------------------
  logic [7:0] seen;
  logic [Width-1:0] reward_q = '0;
  always_ff @(posedge clk) begin
    seen <= seen;
    if (rewards__write && rewards__code == seen) reward_q <= rewards__value;
  end

  // --- The format of the bytes ------------------------------------------------------------------------
  function automatic int unsigned bytes_of(logic coded, logic continues);
    return (Reward + (coded ? 8 : Width) + (continues ? 0 : StateBits) + 7) >> 3;
  endfunction

  // Decodes a complete record that follows a record with next state `from`.
  function automatic decoded_t decode(logic [Most-1:0] bits, logic coded, logic first,
                                      logic [StateBits-1:0] from, logic [7:0] code,
                                      logic [Width-1:0] reward);
    decoded_t d;
    d.of.action = bits[1+:ActionBits];
    d.of.next_state = bits[1+ActionBits+:StateBits];
    d.of.terminated = bits[Reward-1];
    d.of.reward = coded ? reward : bits[Reward+:Width];
    d.of.state = bits[0] ? from : coded ? bits[Reward+8+:StateBits] : bits[Reward+Width+:StateBits];
    d.unknown = coded && bits[Reward+:8] != code;
    d.legal = !(bits[0] && first) && 32'(d.of.action) < Actions && 32'(d.of.state) < States &&
        32'(d.of.next_state) < States;
    return d;
  endfunction

  logic takes, whole, dead_q, first_q, past_q = 1'b0;
  logic [1:0] bytes_q;  // bytes of the record received so far
  logic [Most-1:0] bits_q, bits;
  logic [StateBits-1:0] from_q;
  decoded_t new_one;
  assign takes = records__bytes__valid && records__bytes__ready;
  always_comb begin
    bits = bits_q;
    bits[8*bytes_q+:8] = records__bytes__payload;
  end
  assign whole   = takes && !dead_q && 32'(bytes_q) + 1 == bytes_of(records__coded, bits[0]);
  assign new_one = decode(bits, records__coded, first_q, from_q, seen, reward_q);

  // --- The queue --------------------------------------------------------------------------------------
  decoded_t [2:0] queue_q;
  logic [1:0] length_q, behind;
  logic pops, pushes;
  assign pops   = transitions__valid && transitions__ready;
  assign pushes = whole && new_one.legal;
  assign behind = length_q - 2'(pops);
  always_ff @(posedge clk) begin
    past_q <= 1'b1;
    if (pops) queue_q <= queue_q >> $bits(decoded_t);
    if (pushes) queue_q[behind] <= new_one;
    length_q <= behind + 2'(pushes);
    if (takes && !dead_q) begin
      bits_q  <= bits;
      bytes_q <= whole ? '0 : bytes_q + 1'b1;
    end
    if (whole) begin
      first_q <= 1'b0;
      from_q  <= new_one.of.next_state;
      dead_q  <= !new_one.legal;
    end
    if (records__start || rst) begin
      bytes_q <= '0;
      first_q <= 1'b1;
      dead_q  <= 1'b0;
    end
    if (rst) begin
      length_q <= '0;
      first_q  <= 1'b0;  // the decoder accepts no byte before a start
    end
  end

  // --- Assumed ----------------------------------------------------------------------------------------
  logic coded_q, ready_q, started_q;
  always_ff @(posedge clk) begin
    coded_q   <= records__coded;
    started_q <= !rst && (started_q || records__start);
  end
  always_comb begin
    assume (past_q || rst);
    assume (!records__start || (!records__busy && !records__bytes__valid));
    assume (!records__bytes__valid || started_q);
    assume (!started_q || records__start || records__coded == coded_q);
    assume (!rewards__write || (!records__busy && !records__bytes__valid));
  end

  // --- For the induction ------------------------------------------------------------------------------
  // The contents of the decoder's stages: a record, fields, and an offered transition.
  decoded_t in_record, in_fields;
  logic has_record, has_fields, record_ends, fields_end;
  logic [1:0] n_fields, n_record;
  assign has_record = u_decoder.whole;
  assign has_fields = u_decoder.s1_valid;
  assign in_record = decode(
      u_decoder.record,
      records__coded,
      u_decoder.first,
      u_decoder.fields[ActionBits+:StateBits],
      seen,
      reward_q
  );
  always_comb begin
    in_fields.of = u_decoder.fields;
    in_fields.of.reward = u_decoder.s1_coded ? u_decoder.look_up__data : u_decoder.s1_raw;
    in_fields.unknown = 1'b0;
    in_fields.legal = !u_decoder.s1_illegal && 32'(in_fields.of.action) < Actions &&
        32'(in_fields.of.state) < States && 32'(in_fields.of.next_state) < States;
  end
  assign fields_end = records__illegal || (has_fields && !in_fields.legal);
  assign record_ends = fields_end || (has_record && !in_record.legal);
  assign n_fields = 2'(transitions__valid);
  assign n_record = 2'(transitions__valid) + 2'(has_fields && !fields_end);

  function automatic logic same(decoded_t expected, transition_t found);
    transition_t of;
    of = expected.of;
    if (expected.unknown) of.reward = found.reward;
    return of == found;
  endfunction

  logic [31:0] mask;
  assign mask = ~(32'hffffffff << {bytes_q, 3'd0});

  logic waits, taken_q;
  logic [1:0] stall_q;
  transition_t taken_one_q;
  assign waits = !records__busy || takes || (transitions__valid && !transitions__ready) || pops;
  always_ff @(posedge clk) begin
    stall_q <= waits || rst ? '0 : stall_q + 1'b1;
    taken_q <= transitions__valid && !rst;
    taken_one_q <= transitions__payload;
  end

  always_comb begin
    if (past_q) begin
      Table_L : assert (u_decoder.rewards[seen] == reward_q);
      Length_L : assert (length_q == n_record + 2'(has_record && !record_ends));
      Offer_L : assert (!transitions__valid || same(queue_q[0], transitions__payload));
      Fields_L : assert (!has_fields || fields_end || same(queue_q[n_fields], in_fields.of));
      Record_L :
      assert (!has_record || record_ends || (queue_q[n_record].unknown == in_record.unknown && same(
          queue_q[n_record], in_record.of
      )));
      Dead_L : assert (dead_q == record_ends);
      Kind_L : assert (!has_fields || u_decoder.s1_coded == records__coded);
      First_L : assert (!started_q || dead_q || (first_q == (!has_record && u_decoder.first)));
      From_L :
      assert (dead_q || !started_q || first_q ||
              from_q == (has_record ? in_record.of.next_state :
                         u_decoder.fields[ActionBits+:StateBits]));
      Bytes_L : assert (dead_q || (u_decoder.count == bytes_q && (bytes_q == '0 || !has_record)));
      Whole_L :
      assert (dead_q || records__start || bytes_q == '0 || 32'(bytes_q) < bytes_of(
          records__coded, bits_q[0]
      ));
      Bits_L : assert (dead_q || ((bits_q ^ u_decoder.record) & mask) == '0);
      Started_L :
      assert (started_q || (!has_record && !has_fields && !transitions__valid && bytes_q == '0 &&
                            !dead_q));

      Stall_L : assert (stall_q <= (has_record ? 2'd0 : has_fields ? 2'd1 : 2'd2));

      // --- The theorem --------------------------------------------------------------------------------
      Due_A : assert (!transitions__valid || length_q != '0);
      Same_A : assert (!transitions__valid || same(queue_q[0], transitions__payload));
      Legal_A :
      assert (!transitions__valid || (32'(transitions__payload.action) < Actions &&
                                      32'(transitions__payload.state) < States &&
                         32'(transitions__payload.next_state) < States));
      All_A : assert (records__busy || length_q == '0);
      Illegal_A : assert (records__busy || records__illegal == dead_q);
      Partial_A : assert (records__busy || records__illegal || records__partial == (bytes_q != '0));
      Stays_A : assert (!taken_q || transitions__payload == taken_one_q);
      Live_A : assert (stall_q < 2'd3);
    end
    Full_C :
    cover (transitions__valid && has_fields && has_record && records__coded &&
           !transitions__payload.terminated);
    Illegal_C : cover (!records__busy && dead_q && from_q == '1 && records__partial);
    Raw_C :
    cover (length_q == 2'd2 && !records__coded && queue_q[1].of.reward[Width-1] && !first_q &&
           pops);
  end

endmodule
