// SPDX-License-Identifier: Apache-2.0
// A session executes its own requests once each and in order, and executes none after a refusal.
//
// Function    The reference tracks the session's nonce, its number of executed requests, and its refusal, by the
//             rules of docs/link.md. These determine the block's verdict on each request.
// Assumed     The request reader uses the block as follows: four bytes of epoch, the number, three clocks to judge,
//             the execution of a HELLO, and one answer at any time. Power-up is a reset; another reset may come at
//             any time.

module session_proof (
    input logic        clk,
    input logic        rst,
    input logic        begins_i,
    input logic        ends_i,
    input logic [31:0] epoch_i,
    input logic [15:0] seq_i,
    input logic        is_hello_i,
    input logic        repeatable_i,
    input logic [31:0] nonce_i,
    input logic [ 2:0] status
);

  localparam logic [2:0] Ok = 3'd0, Duplicate = 3'd1, Gap = 3'd2, Stale = 3'd3;

  // Phase of the current request: 0 none, 1 to 4 epoch, 5 number, 9 execution of a HELLO, 12 answer.
  logic [3:0] phase_q = '0;
  logic [31:0] epoch_q, nonce_q;
  logic [15:0] seq_q;
  logic is_hello_q, repeatable_q, finish, greet;
  assign finish = phase_q == 4'd12 && ends_i;
  assign greet  = phase_q == 4'd9 && is_hello_q;

  always_ff @(posedge clk) begin
    if (phase_q == 0) begin
      epoch_q <= epoch_i;
      seq_q <= seq_i;
      {is_hello_q, repeatable_q, nonce_q} <= {is_hello_i, repeatable_i, nonce_i};
      if (begins_i) phase_q <= 4'd1;
    end else if (phase_q != 4'd12) begin
      phase_q <= phase_q + 1'b1;
    end else if (ends_i) begin
      phase_q <= '0;
    end
    if (rst) phase_q <= '0;
  end

  logic [31:0] epoch;
  logic [15:0] expected;
  logic [ 2:0] verdict;
  session u_session (
      .compare(phase_q >= 4'd1 && phase_q <= 4'd4),
      .position(2'(phase_q - 4'd1)),
      .\byte (8'(epoch_q >> 8 * 2'(phase_q - 4'd1))),
      .judge(phase_q == 4'd5),
      .seq(seq_q),
      .is_hello(is_hello_q),
      .repeatable(repeatable_q),
      .greet_nonce(nonce_q),
      .*
  );

  // The session as docs/link.md defines it.
  logic open_q, greeted_q;
  logic [31:0] session_nonce_q;
  logic [15:0] next_q;
  logic [2:0] refused_q;
  logic past_q = 1'b0;
  logic mine, in_turn, carries_out;
  assign mine = open_q && epoch_q == epoch;
  assign in_turn = seq_q == next_q;
  assign carries_out = !is_hello_q && mine && refused_q == Ok && in_turn;

  always_ff @(posedge clk) begin
    past_q <= 1'b1;
    greeted_q <= greet && !rst && !(open_q && nonce_q == session_nonce_q);
    if (greeted_q) begin
      open_q <= 1'b1;
      session_nonce_q <= nonce_q;
      next_q <= '0;
      refused_q <= Ok;
    end
    if (finish && carries_out) next_q <= next_q + 1'b1;
    if (finish && !is_hello_q && mine && refused_q == Ok && status > Stale) refused_q <= status;
    if (rst) begin
      open_q <= 1'b0;
      greeted_q <= 1'b0;
      next_q <= '0;
      refused_q <= Ok;
    end
  end

  always_comb begin
    assume (past_q || rst);
    if (past_q) begin
      Phase_L : assert (phase_q <= 4'd12 && (refused_q == Ok || refused_q > Stale));
      Open_L : assert (u_session.open_ == open_q);
      Expected_A : assert (expected == next_q);
      Refused_L : assert (u_session.halted == refused_q);
      Nonce_L : assert (!open_q || (epoch ^ 32'(u_session.count)) == session_nonce_q);
      if (phase_q >= 4'd8 && !is_hello_q) begin
        Judged_L : assert (u_session.fresh == in_turn && !u_session.judged);
        Stale_A : assert ((verdict == Stale) == !mine);
        Refusal_A : assert (!mine || refused_q == Ok || verdict == refused_q);
        Once_A :
        assert (verdict != Ok || (mine && refused_q == Ok &&
                                  (in_turn || (repeatable_q && seq_q == next_q - 1'b1))));
        InTurn_A : assert (!carries_out || verdict == Ok);
        Duplicate_A :
        assert (verdict != Duplicate || (mine && !in_turn && 16'(seq_q - next_q) >= 16'h8000));
      end
      Carried_C : cover (finish && carries_out && next_q == 16'd1);
      Again_C : cover (finish && verdict == Duplicate);
      Refused_C : cover (finish && mine && refused_q > Stale && in_turn && verdict == refused_q);
    end
  end

endmodule
