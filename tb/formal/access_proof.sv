// SPDX-License-Identifier: Apache-2.0
// The table access moves exactly the values that a REWARDS, LOAD, READ or CLEAR names, once each and in order.
//
// Function    The verdict of a check is what docs/link.md says of the request, computed at once and not by a walk. A LOAD
//             or REWARDS writes each of its values to its own entry, and nothing else; CLEAR writes 0 to every entry of
//             the table, once; a READ gives the bytes of the entries that it names, each of which holds what it holds
//             when it is read, and writes nothing. Once asked, the access is busy until all of this is done; it waits
//             only for a byte of a value or for room for one, and a check of n values takes n + 3 clocks.
// Assumed     What commands_lane_proof states of the commands: a check or a move begins while the access is at rest, its
//             arguments stay while it is busy, a move is that of the last check, which said OK, and it is given the bytes
//             that were announced, the first two clocks after it. The table gives an entry two clocks after its address.
//             Power-up is a reset; another may come at any time.

module access_proof #(
    parameter int unsigned States  = 12,
    parameter int unsigned Actions = 3,
    parameter int unsigned Width   = 13
) (
    input logic clk_i,
    input logic rst_i,

    input logic check_i,
    input logic move_i,
    input logic [1:0] task_i,
    input logic [7:0] first_code_i,
    input logic [15:0] first_state_i,
    input logic [7:0] first_action_i,
    input logic [15:0] count_i,
    input logic [10:0] payload_bytes_i,
    input logic value_valid_i,
    input logic [7:0] value_i,
    input logic values_ready_i,
    input logic [Width-1:0] table_value_i
);

  localparam int unsigned StateBits = $clog2(States);
  localparam int unsigned ActionBits = $clog2(Actions);
  localparam int unsigned Entries = States * Actions;
  localparam int unsigned MostValues = 1012;  // of an answer
  localparam logic [1:0] REWARDS = 2'd0, LOAD = 2'd1, READ = 2'd2, CLEAR = 2'd3;
  localparam logic [2:0] OK = 3'd0, BAD_LENGTH = 3'd5, OUT_OF_RANGE = 3'd6;

  typedef struct packed {
    logic [1:0]  kind;
    logic [7:0]  first_code;
    logic [15:0] first_state;
    logic [7:0]  first_action;
    logic [15:0] count;
  } asked_t;

  logic busy, writes_table, writes_rewards, values_valid;
  logic [ActionBits-1:0] action;
  logic [ StateBits-1:0] state;
  logic [7:0] code, value_out;
  logic [ 2:0] verdict;
  logic [10:0] data_bytes;
  logic [Width-1:0] value, reward;
  table_access u_access (
      .clk                     (clk_i),
      .rst                     (rst_i),
      .request__task           (task_i),
      .request__first_code     (first_code_i),
      .request__first_state    (first_state_i),
      .request__first_action   (first_action_i),
      .request__payload_bytes  (payload_bytes_i),
      .request__count          (count_i),
      .request__check          (check_i),
      .request__move           (move_i),
      .request__values__payload(value_i),
      .request__values__valid  (value_valid_i),
      .request__busy           (busy),
      .request__verdict        (verdict),
      .request__data_bytes     (data_bytes),
      .values__payload         (value_out),
      .values__valid           (values_valid),
      .values__ready           (values_ready_i),
      .state                   (state),
      .action                  (action),
      .value                   (value),
      .write_table             (writes_table),
      .table_value             (table_value_i),
      .rewards__write          (writes_rewards),
      .rewards__code           (code),
      .rewards__value          (reward)
  );

  // --- What was asked ---------------------------------------------------------------------------------
  typedef enum logic [1:0] {
    Rests,
    Checks,
    Moves
  } doing_e;
  doing_e doing_q = Rests;
  asked_t asked, asked_q, checked_q;
  logic [15:0] bytes_q;  // of all values
  logic past_q = 1'b0, first_q, reset_q, good_q;
  logic [10:0] age_q;
  assign asked = '{task_i, first_code_i, first_state_i, first_action_i, count_i};

  // Independently of the walk: what the request names, and the verdict.
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

  // --- What was done ----------------------------------------------------------------------------------
  logic moves_in, writes, due_q, done;
  logic [10:0] taken_q, written_q, sent_q, walked_q;
  logic [15:0] word_q;
  logic [2:0] verdict_q;
  logic offered_q;
  logic [2:0] stall_q;
  assign moves_in = asked_q.kind inside {REWARDS, LOAD};
  assign writes   = writes_table || writes_rewards;
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
  assign waits = doing_q == Checks || (moves_in && 16'(taken_q) != bytes_q && !value_valid_i) ||
      values_valid || writes || !busy;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    reset_q <= rst_i;
    first_q <= check_i || move_i;
    asked_q <= asked;
    verdict_q <= verdict;
    offered_q <= values_valid && !values_ready_i && !rst_i;
    age_q <= check_i || move_i ? '0 : age_q + 1'b1;
    stall_q <= waits || first_q || value_valid_i || rst_i ? '0 : stall_q + 1'b1;
    walked_q <= checking ? walked_q + 1'b1 : '0;
    if (check_i || move_i) begin
      doing_q <= check_i ? Checks : Moves;
      written_q <= '0;
      taken_q <= '0;
      sent_q <= '0;
      due_q <= 1'b0;
    end else begin
      if (!busy) doing_q <= Rests;
      if (writes) written_q <= written_q + 1'b1;
      if (values_valid && values_ready_i) sent_q <= sent_q + 1'b1;
      due_q <= value_valid_i && taken_q[0];
      if (value_valid_i) begin
        taken_q <= taken_q + 1'b1;
        word_q  <= {value_i, word_q[15:8]};
      end
    end
    if (check_i) begin
      bytes_q   <= task_i == READ ? 16'(count_i) << 1 : 16'(payload_bytes_i);
      checked_q <= asked;
      good_q    <= 1'b0;
    end else if (doing_q == Checks && !busy) begin
      good_q <= verdict == OK;
    end
    if (rst_i) begin
      doing_q <= Rests;
      good_q  <= 1'b0;
      due_q   <= 1'b0;
    end
  end

  // --- The table: one entry of it, which may be any ---------------------------------------------------
  logic [ActionBits-1:0] seen_action;
  logic [StateBits-1:0] seen_state;
  logic [Width-1:0] seen_value;
  logic [15:0] seen;
  logic [2:1][StateBits+ActionBits-1:0] address_q;
  logic is_seen;
  assign seen = 16'($signed(seen_value));
  assign is_seen = start + 17'(sent_q >> 1) == 17'(seen_state) * 17'(Actions) + 17'(seen_action);
  always_ff @(posedge clk_i) begin
    seen_action <= seen_action;
    seen_state  <= seen_state;
    seen_value  <= seen_value;
    address_q   <= {address_q[1], {state, action}};
  end

  always_comb begin
    assume (past_q || rst_i);
    assume (!(check_i && move_i));
    assume (!(check_i || move_i) || (!busy && (doing_q == Rests)));
    assume (!check_i || task_i != CLEAR);
    assume (!(busy || first_q) || asked == asked_q);
    assume (!move_i || task_i == CLEAR || (good_q && asked == checked_q));
    assume (!value_valid_i ||
            (doing_q == Moves && busy && !first_q && moves_in && 16'(taken_q) < bytes_q));
    assume (32'(seen_state) < States && 32'(seen_action) < Actions);
    assume (address_q[2] != {seen_state, seen_action} || table_value_i == seen_value);
  end

  // --- For the induction ------------------------------------------------------------------------------
  logic [16:0] at;  // values that the walk is ahead
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
      assert (fsm == 3'd0 ? doing_q == Rests || !busy :
              doing_q == (fsm inside {3'd1, 3'd6} ? Checks : Moves));
      Starts_L :
      assert ((fsm inside {3'd1, 3'd2}) == (first_q && !reset_q) &&
              u_access.\$signal$34 == (fsm inside {3'd1, 3'd2}));
      Kind_L :
      assert ((fsm != 3'd3 || asked_q.kind == READ) && (fsm != 3'd4 || asked_q.kind == CLEAR) &&
              (fsm != 3'd5 || moves_in) &&
              (doing_q != Checks || asked_q.kind != CLEAR));
      Good_L : assert (!good_q || (verdict == OK && judge(checked_q, bytes_q) == OK));
      Checked_L : assert (doing_q != Checks || (asked_q == checked_q && !good_q));
      Bytes_L :
      assert (!(doing_q == Checks || good_q) ||
              (data_bytes == bytes_q[10:0] && (checked_q.kind != READ || !bytes_q[0]) &&
               (checked_q.kind == READ ? bytes_q == checked_q.count << 1 : bytes_q < 16'd2048)));
      Moved_L :
      assert (doing_q != Moves || asked_q.kind == CLEAR || (good_q && asked_q == checked_q));
      Left_L :
      assert (!checking || (17'(data_bytes) >= 17'(walked_q) * 2 &&
              u_access.left == data_bytes - 11'(walked_q << 1)));
      Outside_L :
      assert (!checking || u_access.outside == (base || (walked_q != '0 && at > end_of)));
      Code_L :
      assert (asked_q.kind != REWARDS || !(fsm inside {3'd5, 3'd6}) ||
              {u_access.\$signal$35 , code} == 9'(at));
      Place_L :
      assert (asked_q.kind == REWARDS || !legal || !(fsm inside {3'd3, 3'd4, 3'd5, 3'd6}) ||
              (u_access.\$signal$36 == !in_table &&
               (!in_table || (17'(state) * 17'(Actions) + 17'(action) == at &&
                              32'(state) < States && 32'(action) < Actions))));
      Age_L : assert (!busy || doing_q != Checks || age_q == (checking ? walked_q + 1'b1 : '0));
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
      Have_L : assert (!values_valid || fsm == 3'd3);
      Read_L :
      assert (fsm != 3'd3 || (16'(u_access.left) <= bytes_q && !u_access.left[0] &&
              (u_access.left != '0 || values_valid || sent_q != '0) &&
              16'(sent_q) + 16'(u_access.left) + 16'(values_valid) * 2 ==
              bytes_q + 16'(u_access.phase) && (values_valid || !u_access.phase)));
      Wait_L :
      assert (fsm != 3'd3 || (u_access.\wait <= 2'd2 &&
              (u_access.\wait == 2'd2 || address_q[1] == {state, action}) &&
              (u_access.\wait != '0 || address_q[2] == {state, action}) &&
              (!u_access.phase || u_access.\wait != 2'd2) &&
              (values_valid || sent_q == '0 || u_access.\wait == '0)));
      Seen_L :
      assert (!(values_valid && is_seen) || (u_access.phase ?
              u_access.\value$27 [7:0] == seen[15:8] : u_access.\value$27 == seen));
      Stall_L :
      assert (stall_q <= (fsm == 3'd3 ? (values_valid ? 3'd3 : sent_q == '0 ?
                                         3'd2 - 3'(u_access.\wait ) : 3'd1) :
                          fsm == 3'd5 ? 3'd1 : fsm == 3'd0 ? 3'd2 : 3'd0));
      Done_L : assert (!(fsm == '0 && doing_q == Moves) || done);

      // --- The theorem --------------------------------------------------------------------------------
      Busy_A : assert ((!first_q || reset_q || busy) && (!busy || doing_q != Rests));
      Verdict_A : assert (doing_q != Checks || busy || verdict == due_verdict);
      Kept_A : assert (verdict == verdict_q || doing_q == Checks || reset_q);
      Size_A : assert (doing_q != Checks || busy || verdict != OK || 16'(data_bytes) == bytes_q);
      Ends_A : assert (doing_q != Checks || !busy || 17'(age_q) <= values + 17'd1);
      Written_A :
      assert (writes == (doing_q == Moves && busy && !first_q &&
                         (moves_in ? due_q : asked_q.kind == CLEAR)) &&
              (!writes || (writes_rewards == (asked_q.kind == REWARDS) &&
                           writes_table == !writes_rewards)));
      Entry_A :
      assert (!writes_table || (32'(state) < States && 32'(action) < Actions &&
              17'(state) * 17'(Actions) + 17'(action) == start + 17'(written_q)));
      Code_A : assert (!writes_rewards || 17'(code) == start + 17'(written_q));
      Value_A :
      assert (!writes || (writes_rewards ? reward : value) ==
              (asked_q.kind == CLEAR ? '0 : word_q[Width-1:0]));
      Sent_A :
      assert (!values_valid || (doing_q == Moves && asked_q.kind == READ && 16'(sent_q) < bytes_q &&
              (!is_seen || value_out == (sent_q[0] ? seen[15:8] : seen[7:0]))));
      Stays_A : assert (!offered_q || values_valid);
      Done_A : assert (doing_q != Moves || busy || done);
      Live_A : assert (stall_q <= 3'd3);
    end
    Loaded_C :
    cover (doing_q == Moves && asked_q.kind == LOAD && !busy && written_q == 11'd2 &&
           state == StateBits'(2));
    Rewarded_C : cover (writes_rewards && code == '1);
    Read_C :
    cover (doing_q == Moves && asked_q.kind == READ && !busy && sent_q == 11'd4 &&
           seen_value[Width-1]);
    Refused_C : cover (doing_q == Checks && !busy && !base && verdict == OUT_OF_RANGE);
  end

endmodule
