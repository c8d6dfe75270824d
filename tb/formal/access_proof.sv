// SPDX-License-Identifier: Apache-2.0
// The table access moves exactly the values named by a REWARDS, LOAD, READ or CLEAR request, each once and in order.
//
// Function    The verdict of a check follows docs/link.md; the reference computes it directly, without walking the
//             table. LOAD and REWARDS write each value to its own entry, and nothing else. CLEAR writes 0 to every
//             entry once. READ returns the bytes of the requested entries, as they are at the time of reading, and
//             writes nothing. The access is busy from a request until the request is complete. It waits only for an
//             input byte or for space for an output byte. A check of n values takes n + 3 clocks.
// Assumed     The commands behave as proved in commands_lane_proof: a check or a move starts while the access is
//             idle, and its arguments are stable while it is busy. A move has the same arguments as the last check,
//             whose verdict was OK. The move gets the announced number of bytes, the first of them at least two
//             clocks after the move starts. The table returns an entry two clocks after its address. Power-up is a
//             reset; another reset may come at any time.

module access_proof #(
    parameter int unsigned States  = 12,
    parameter int unsigned Actions = 3,
    parameter int unsigned Width   = 13
) (
    input logic clk,
    input logic rst,

    input logic request__check,
    input logic request__move,
    input logic [1:0] request__task,
    input logic [7:0] request__first_code,
    input logic [15:0] request__first_state,
    input logic [7:0] request__first_action,
    input logic [15:0] request__count,
    input logic [10:0] request__payload_bytes,
    input logic request__values__valid,
    input logic [7:0] request__values__payload,
    input logic values__ready,
    input logic [Width-1:0] table_value
);

  localparam int unsigned StateBits = $clog2(States);
  localparam int unsigned ActionBits = $clog2(Actions);
  localparam int unsigned Entries = States * Actions;
  localparam int unsigned MostValues = 1012;  // that fit in an answer
  localparam logic [1:0] REWARDS = 2'd0, LOAD = 2'd1, READ = 2'd2, CLEAR = 2'd3;
  localparam logic [2:0] OK = 3'd0, BAD_LENGTH = 3'd5, OUT_OF_RANGE = 3'd6;

  typedef struct packed {
    logic [1:0]  kind;
    logic [7:0]  first_code;
    logic [15:0] first_state;
    logic [7:0]  first_action;
    logic [15:0] count;
  } asked_t;

  logic request__busy, write_table, rewards__write, values__valid;
  logic [ActionBits-1:0] action;
  logic [ StateBits-1:0] state;
  logic [7:0] rewards__code, values__payload;
  logic [ 2:0] request__verdict;
  logic [10:0] request__data_bytes;
  logic [Width-1:0] value, rewards__value;
  table_access u_access (.*);

  // --- The request ------------------------------------------------------------------------------------
  typedef enum logic [1:0] {
    Rests,
    Checks,
    Moves
  } doing_e;
  doing_e doing_q = Rests;
  asked_t asked, asked_q, checked_q;
  logic [15:0] bytes_q;  // number of bytes of all values
  logic past_q = 1'b0, first_q, reset_q, good_q;
  logic [10:0] age_q;
  assign asked = '{
          request__task,
          request__first_code,
          request__first_state,
          request__first_action,
          request__count
      };

  // The requested values and the verdict, computed independently of the walk.
  function automatic logic [16:0] first_of(asked_t a);
    return a.kind == REWARDS ? 17'(a.first_code) : a.kind == CLEAR ? '0 :
        17'(a.first_state) * 17'(Actions) + 17'(a.first_action);
  endfunction

  function automatic logic no_entry(asked_t a);
    return 32'(a.first_state) >= States || 32'(a.first_action) >= Actions;
  endfunction

  function automatic logic bad_count(asked_t a);
    return a.count == '0 || 32'(a.count) > MostValues;
  endfunction

  function automatic logic [2:0] judge(asked_t a, logic [15:0] bytes);
    logic past_end;
    past_end = first_of(a) + 17'(bytes >> 1) > (a.kind == REWARDS ? 17'd256 : 17'(Entries));
    case (a.kind)
      REWARDS: return bytes[0] || past_end ? BAD_LENGTH : OK;
      LOAD: return bytes[0] ? BAD_LENGTH : no_entry(a) || past_end ? OUT_OF_RANGE : OK;
      default: return bad_count(a) || no_entry(a) || past_end ? OUT_OF_RANGE : OK;
    endcase
  endfunction

  logic [2:0] due_verdict;
  logic [16:0] values, start, end_of;
  assign values = 17'(bytes_q >> 1);
  assign start = first_of(asked_q);
  assign end_of = asked_q.kind == REWARDS ? 17'd256 : 17'(Entries);
  assign due_verdict = judge(asked_q, bytes_q);

  // --- The observed transfers -------------------------------------------------------------------------
  logic moves_in, writes, due_q, done;
  logic [10:0] taken_q, written_q, sent_q, walked_q;
  logic [15:0] word_q;
  logic [2:0] verdict_q;
  logic offered_q;
  logic [2:0] stall_q;
  assign moves_in = asked_q.kind inside {REWARDS, LOAD};
  assign writes   = write_table || rewards__write;
  always_comb begin
    case (asked_q.kind)
      CLEAR: done = written_q == 11'(Entries);
      READ: done = 16'(sent_q) == bytes_q;
      default: done = 16'(taken_q) == bytes_q && 17'(written_q) == values;
    endcase
  end

  logic waits, checking;
  logic [2:0] fsm;
  assign fsm = u_access.fsm_state;
  assign checking = fsm == 3'd6;
  assign waits = doing_q == Checks || (moves_in && 16'(taken_q) != bytes_q &&
                                       !request__values__valid) ||
      values__valid || writes || !request__busy;
  always_ff @(posedge clk) begin
    past_q <= 1'b1;
    reset_q <= rst;
    first_q <= request__check || request__move;
    asked_q <= asked;
    verdict_q <= request__verdict;
    offered_q <= values__valid && !values__ready && !rst;
    age_q <= request__check || request__move ? '0 : age_q + 1'b1;
    stall_q <= waits || first_q || request__values__valid || rst ? '0 : stall_q + 1'b1;
    walked_q <= checking ? walked_q + 1'b1 : '0;
    if (request__check || request__move) begin
      doing_q <= request__check ? Checks : Moves;
      written_q <= '0;
      taken_q <= '0;
      sent_q <= '0;
      due_q <= 1'b0;
    end else begin
      if (!request__busy) doing_q <= Rests;
      if (writes) written_q <= written_q + 1'b1;
      if (values__valid && values__ready) sent_q <= sent_q + 1'b1;
      due_q <= request__values__valid && taken_q[0];
      if (request__values__valid) begin
        taken_q <= taken_q + 1'b1;
        word_q  <= {request__values__payload, word_q[15:8]};
      end
    end
    if (request__check) begin
      bytes_q   <= request__task == READ ? 16'(request__count) << 1 : 16'(request__payload_bytes);
      checked_q <= asked;
      good_q    <= 1'b0;
    end else if (doing_q == Checks && !request__busy) begin
      good_q <= request__verdict == OK;
    end
    if (rst) begin
      doing_q <= Rests;
      good_q  <= 1'b0;
      due_q   <= 1'b0;
    end
  end

  // --- The table: one arbitrary entry -----------------------------------------------------------------
  logic [ActionBits-1:0] seen_action;
  logic [StateBits-1:0] seen_state;
  logic [Width-1:0] seen_value;
  logic [15:0] seen;
  logic [2:1][StateBits+ActionBits-1:0] address_q;
  logic is_seen;
  assign seen = 16'($signed(seen_value));
  assign is_seen = start + 17'(sent_q >> 1) == 17'(seen_state) * 17'(Actions) + 17'(seen_action);
  always_ff @(posedge clk) begin
    seen_action <= seen_action;
    seen_state  <= seen_state;
    seen_value  <= seen_value;
    address_q   <= {address_q[1], {state, action}};
  end

  always_comb begin
    assume (past_q || rst);
    assume (!(request__check && request__move));
    assume (!(request__check || request__move) || (!request__busy && (doing_q == Rests)));
    assume (!request__check || request__task != CLEAR);
    assume (!(request__busy || first_q) || asked == asked_q);
    assume (!request__move || request__task == CLEAR || (good_q && asked == checked_q));
    assume (!request__values__valid ||
            (doing_q == Moves && request__busy && !first_q && moves_in && 16'(taken_q) < bytes_q));
    assume (32'(seen_state) < States && 32'(seen_action) < Actions);
    assume (address_q[2] != {seen_state, seen_action} || table_value == seen_value);
  end

  // --- For the induction ------------------------------------------------------------------------------
  logic [16:0] at;  // index of the value that the walk has reached
  logic legal, in_table, base;
  assign legal = asked_q.kind == CLEAR || !no_entry(asked_q);
  always_comb begin
    base = asked_q.kind != REWARDS && no_entry(asked_q);
    if (asked_q.kind == READ && bad_count(asked_q)) base = 1'b1;
  end
  assign at = start + (checking ? 17'(walked_q) : fsm == 3'd3 ?
      17'((bytes_q - 16'(u_access.left)) >> 1) : 17'(written_q));
  assign in_table = at < 17'(Entries);

  always_comb begin
    if (past_q) begin
      Doing_L : assert (doing_q != 2'd3 && fsm <= 3'd6);
      State_L :
      assert (fsm == 3'd0 ? doing_q == Rests || !request__busy :
              doing_q == (fsm inside {3'd1, 3'd6} ? Checks : Moves));
      Starts_L :
      assert ((fsm inside {3'd1, 3'd2}) == (first_q && !reset_q) &&
              u_access.restart == (fsm inside {3'd1, 3'd2}));
      Kind_L :
      assert ((fsm != 3'd3 || asked_q.kind == READ) && (fsm != 3'd4 || asked_q.kind == CLEAR) &&
              (fsm != 3'd5 || moves_in) &&
              (doing_q != Checks || asked_q.kind != CLEAR));
      Good_L : assert (!good_q || (request__verdict == OK && judge(checked_q, bytes_q) == OK));
      Checked_L : assert (doing_q != Checks || (asked_q == checked_q && !good_q));
      Bytes_L :
      assert (!(doing_q == Checks || good_q) ||
              (request__data_bytes == bytes_q[10:0] && (checked_q.kind != READ || !bytes_q[0]) &&
               (checked_q.kind == READ ? bytes_q == checked_q.count << 1 : bytes_q < 16'd2048)));
      Moved_L :
      assert (doing_q != Moves || asked_q.kind == CLEAR || (good_q && asked_q == checked_q));
      Left_L :
      assert (!checking || (17'(request__data_bytes) >= 17'(walked_q) * 2 &&
              u_access.left == request__data_bytes - 11'(walked_q << 1)));
      Outside_L :
      assert (!checking || u_access.outside == (base || (walked_q != '0 && at > end_of)));
      Code_L :
      assert (asked_q.kind != REWARDS || !(fsm inside {3'd5, 3'd6}) ||
              {u_access.past_rewards, rewards__code} == 9'(at));
      Place_L :
      assert (asked_q.kind == REWARDS || !legal || !(fsm inside {3'd3, 3'd4, 3'd5, 3'd6}) ||
              (u_access.past_table == !in_table &&
               (!in_table || (17'(state) * 17'(Actions) + 17'(action) == at &&
                              32'(state) < States && 32'(action) < Actions))));
      Age_L :
      assert (!request__busy || doing_q != Checks || age_q == (checking ? walked_q + 1'b1 : '0));
      Walked_L : assert (checking || walked_q == '0 || fsm == '0);
      Write_L :
      assert (fsm != 3'd5 ||
              (16'(u_access.left) == bytes_q - 16'(taken_q) && 16'(taken_q) <= bytes_q &&
               12'(taken_q) == 12'(written_q) * 2 + 12'(due_q) * 2 + 12'(u_access.phase)));
      Writing_L :
      assert (u_access.writing == (fsm == 3'd5 ? due_q : fsm == 3'd4) && (fsm == 3'd5 || !due_q));
      Phase_L : assert (fsm inside {3'd3, 3'd5} || !u_access.phase);
      Begins_L : assert (fsm != 3'd2 || (taken_q == '0 && written_q == '0 && sent_q == '0));
      Word_L :
      assert (!(fsm == 3'd5 && (u_access.phase || due_q)) ||
              (word_q[15:8] == u_access.\value$27 [15:8] &&
               (u_access.phase || word_q[7:0] == u_access.\value$27 [7:0])));
      Clear_L :
      assert (fsm != 3'd4 || (u_access.\value$27 == '0 && written_q < 11'(Entries) &&
              u_access.last == (written_q == 11'(Entries - 1))));
      Have_L : assert (!values__valid || fsm == 3'd3);
      Read_L :
      assert (fsm != 3'd3 || (16'(u_access.left) <= bytes_q && !u_access.left[0] &&
              (u_access.left != '0 || values__valid || sent_q != '0) &&
              16'(sent_q) + 16'(u_access.left) + 16'(values__valid) * 2 ==
              bytes_q + 16'(u_access.phase) && (values__valid || !u_access.phase)));
      Wait_L :
      assert (fsm != 3'd3 || (u_access.\wait <= 2'd2 &&
              (u_access.\wait == 2'd2 || address_q[1] == {state, action}) &&
              (u_access.\wait != '0 || address_q[2] == {state, action}) &&
              (!u_access.phase || u_access.\wait != 2'd2) &&
              (values__valid || sent_q == '0 || u_access.\wait == '0)));
      Seen_L :
      assert (!(values__valid && is_seen) || (u_access.phase ?
              u_access.\value$27 [7:0] == seen[15:8] : u_access.\value$27 == seen));
      Stall_L :
      assert (stall_q <= (fsm == 3'd3 ? (values__valid ? 3'd3 : sent_q == '0 ?
                                         3'd2 - 3'(u_access.\wait ) : 3'd1) :
                          fsm == 3'd5 ? 3'd1 : fsm == 3'd0 ? 3'd2 : 3'd0));
      Done_L : assert (!(fsm == '0 && doing_q == Moves) || done);

      // --- The theorem --------------------------------------------------------------------------------
      Busy_A :
      assert ((!first_q || reset_q || request__busy) && (!request__busy || doing_q != Rests));
      Verdict_A : assert (doing_q != Checks || request__busy || request__verdict == due_verdict);
      Kept_A : assert (request__verdict == verdict_q || doing_q == Checks || reset_q);
      Size_A :
      assert (doing_q != Checks || request__busy || request__verdict != OK ||
              16'(request__data_bytes) == bytes_q);
      Ends_A : assert (doing_q != Checks || !request__busy || 17'(age_q) <= values + 17'd1);
      Written_A :
      assert (writes == (doing_q == Moves && request__busy && !first_q &&
                         (moves_in ? due_q : asked_q.kind == CLEAR)) &&
              (!writes || (rewards__write == (asked_q.kind == REWARDS) &&
                           write_table == !rewards__write)));
      Entry_A :
      assert (!write_table || (32'(state) < States && 32'(action) < Actions &&
              17'(state) * 17'(Actions) + 17'(action) == start + 17'(written_q)));
      Code_A : assert (!rewards__write || 17'(rewards__code) == start + 17'(written_q));
      Value_A :
      assert (!writes || (rewards__write ? rewards__value : value) ==
              (asked_q.kind == CLEAR ? '0 : word_q[Width-1:0]));
      Sent_A :
      assert (!values__valid || (doing_q == Moves && asked_q.kind == READ &&
                                 16'(sent_q) < bytes_q &&
              (!is_seen || values__payload == (sent_q[0] ? seen[15:8] : seen[7:0]))));
      Stays_A : assert (!offered_q || values__valid);
      Done_A : assert (doing_q != Moves || request__busy || done);
      Live_A : assert (stall_q <= 3'd3);
    end
    Loaded_C :
    cover (doing_q == Moves && asked_q.kind == LOAD && !request__busy && written_q == 11'd2 &&
           state == StateBits'(2));
    Rewarded_C : cover (rewards__write && rewards__code == '1);
    Read_C :
    cover (doing_q == Moves && asked_q.kind == READ && !request__busy && sent_q == 11'd4 &&
           seen_value[Width-1]);
    Refused_C :
    cover (doing_q == Checks && !request__busy && !base && request__verdict == OUT_OF_RANGE);
  end

endmodule
