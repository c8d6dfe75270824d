// SPDX-License-Identifier: Apache-2.0
// The head of a farm's chain sends each request as one frame, with one leading zero for each lane to pass.
//
// Function    The reference follows the head's output bit by bit. An access to lane k is sent as k zeros, a one, and
//             the bits of the access, most significant bit first. An access to all lanes, a run or a stop has no
//             leading zeros and is marked for all lanes. Nothing else is sent. Each access takes one frame, and a
//             read takes a second frame to the same lane, which shifts out the word. The done signal is then 1 for
//             one clock. The word read consists of the last 32 bits received up to three clocks before nothing was
//             pending. Each run and each stop is sent. The head waits only until nothing is pending.
// Assumed     The inputs meet the requirements of the agents' signature and of the head's header: an access and all
//             its fields are held until it is done, and its lane exists. A run starts while the head is idle, and its
//             steps are held for three clocks. The chain is pending for two clocks after each bit. Power-up is a
//             reset; another reset may come at any time.

module head_proof #(
    parameter int unsigned Lanes = 5,
    parameter int unsigned IndexMask = 30'h03c7c7ff
) (
    input logic clk,
    input logic rst,

    input logic [7:0] agents__lane,
    input logic agents__access,
    input logic agents__write,
    input logic [2:0] agents__region,
    input logic [29:0] agents__index,
    input logic [31:0] agents__word,
    input logic agents__run,
    input logic [47:0] agents__steps,
    input logic agents__stop,
    input logic data_i,
    input logic pending_i,
    input logic busy_i
);

  localparam int unsigned IndexBits = $countones(IndexMask);
  localparam int unsigned FrameBits = 36 + IndexBits;
  localparam logic [7:0] ALL = 8'd255;

  typedef struct packed {
    logic all;
    logic valid;
    logic data;
  } down_t;

  logic agents__done, agents__busy;
  logic [31:0] agents__read;
  down_t down;
  chain_head u_head (
      .agents__silent(),
      .agents__silent_agent(),
      .reset(),
      .up({busy_i, pending_i, data_i}),
      .*
  );

  // --- The expected frames ----------------------------------------------------------------------------
  typedef enum logic [1:0] {
    Access,
    Ask,
    Run,
    Stop
  } what_e;
  typedef struct packed {
    logic told;
    logic fetch;
    logic done;
    logic send;
    logic address;
    logic begins;
    logic idle;
    logic waits;
    logic reset;
  } at_t;
  at_t at;
  assign at = u_head.at;

  logic past_q = 1'b0, reset_q, run_q, stop_q, access_now_q, to_all, job;
  logic serves_q = 1'b0, begins, begins_q, done_q;  // a request is in progress; a request starts
  what_e due_q;
  logic [1:0] run_age_q;
  logic [47:0] steps_q;
  what_e what_q;
  assign begins = run_q || stop_q || access_now_q;
  assign job = what_q inside {Run, Stop};
  assign to_all = job || agents__lane == ALL;

  logic [FrameBits-1:0] access, full;
  always_comb begin
    int unsigned place;
    access = '0;
    access[3:0] = {agents__region, agents__write};
    place = 4;
    for (int unsigned n = 0; n < 30; n++) begin
      if (IndexMask[n]) begin
        access[place] = agents__index[n];
        place++;
      end
    end
    access[FrameBits-1-:32] = agents__word;
    case (what_q)
      Access: full = access;
      Ask: full = FrameBits'(4'b1110) << (FrameBits - 32);
      Run: full = {steps_q, (FrameBits - 48)'(4'b1101)};
      default: full = FrameBits'(4'b1100);
    endcase
  end

  // The number of frame bits sent before this clock, and the number including this clock.
  logic [6:0] zeros, length, position_q, position;
  assign zeros = to_all ? '0 : 7'(agents__lane);
  assign length = what_q == Ask ? 7'd32 : 7'(FrameBits);
  assign position = position_q + 7'(down.valid);

  logic [35:0] came_q;
  logic [ 5:0] heard_q;
  logic [1:0] waited_q, sent_q;
  logic [1:0] frames_q;  // frames sent for this access
  always_ff @(posedge clk) begin
    past_q <= 1'b1;
    reset_q <= rst;
    run_q <= agents__run && !rst;
    run_age_q <= agents__run ? '0 : run_age_q + 2'(run_age_q != 2'd3);
    if (agents__run) steps_q <= agents__steps;
    stop_q <= !rst && (agents__stop || (stop_q && !(at.idle && !run_q)));
    access_now_q <= agents__access && !agents__done && !rst;
    if (at.idle) what_q <= run_q ? Run : stop_q ? Stop : Access;
    if (at.fetch) what_q <= Ask;
    position_q <= down.valid && !rst ? position_q + 1'b1 : '0;
    came_q <= {came_q[34:0], data_i};
    heard_q <= what_q != Ask || at.fetch ? '0 : heard_q + 6'(heard_q != 6'd35 && !at.done);
    serves_q <= !rst && (at.idle ? begins : serves_q && !at.told);
    begins_q <= at.idle && begins;
    due_q <= run_q ? Run : stop_q ? Stop : Access;
    done_q <= agents__done;
    waited_q <= !at.waits ? '0 : waited_q + 2'(waited_q != 2'd2);
    sent_q <= {sent_q[0], down.valid};
    frames_q <= !agents__access || agents__done ||
        rst ? '0 : frames_q + 2'((at.begins || at.fetch) && !job);
  end

  // --- Assumed ----------------------------------------------------------------------------------------
  logic held_q;
  logic [75:0] fields_q, fields;
  assign fields = 76'({agents__lane, agents__write, agents__region, agents__index, agents__word});
  always_ff @(posedge clk) begin
    held_q   <= agents__access && !agents__done && !rst;
    fields_q <= fields;
  end
  always_comb begin
    assume (past_q || rst);
    assume (!held_q || (agents__access && fields == fields_q));
    assume (!agents__access || 32'(agents__lane) < Lanes || (agents__lane == ALL && agents__write));
    assume (!agents__run || (at.idle && !agents__access && !access_now_q && !agents__stop &&
                             !stop_q && !run_q));
    assume (!run_q || (!agents__access && !agents__stop));
    assume (run_age_q == 2'd3 || agents__run || agents__steps == steps_q);
    assume (!(down.valid || sent_q[0]) || pending_i);
  end

  // --- For the induction ------------------------------------------------------------------------------
  logic moves;  // from the end of idle until all bits have been sent
  assign moves = at.begins || at.address || at.send || at.fetch;
  logic [ 6:0] body;  // bits after the first 1
  logic [34:0] heard_mask;
  logic [6:0] ends_at, place;
  assign body = position - zeros - 1'b1;
  assign ends_at = zeros + 1'b1 + length;
  assign place = position_q - zeros - 1'b1;
  assign heard_mask = ~(35'h7ffffffff << heard_q);

  // Clocks since power-up. Each cover is tried only in the clock in which it is reached if nothing has to wait.
  logic [6:0] clock_q = '0;
  always_ff @(posedge clk) clock_q <= clock_q + 1'b1;

  always_comb begin
    if (past_q) begin
      Hot_L : assert ($onehot(at));
      Run_L : assert (u_head.runs_now == run_q && (!run_q || at.idle));
      Stops_L : assert (u_head.stops == stop_q);
      Now_L : assert (u_head.access_now == access_now_q && (!access_now_q || held_q));
      RunAge_L :
      assert ((!run_q || run_age_q == 2'd0) &&
              (!(serves_q && what_q == Run && at.begins) || run_age_q == 2'd1) &&
              (!(serves_q && what_q == Run && at.address) || run_age_q == 2'd2));
      Serves_L : assert (serves_q ? !at.idle && !at.reset : !moves);
      Kind_L :
      assert (!serves_q || at.told || {u_head.accesses, u_head.asks, u_head.runs, u_head.halts} ==
              {what_q == Access, what_q == Ask, what_q == Run, what_q == Stop});
      Job_L : assert (at.idle || u_head.is_job == (job || !serves_q));
      Held_L : assert (!(serves_q && !job) || held_q);
      All_L : assert (!serves_q || at.begins || u_head.to_all == to_all);
      Reads_L :
      assert (at.idle || at.begins || u_head.reads == (serves_q && !job && !agents__write));
      Ask_L : assert (!(serves_q && what_q == Ask) || (!agents__write && !at.begins && !at.fetch));
      Fetch_L : assert (!at.fetch || (what_q == Access && !agents__write));
      Ahead_L :
      assert (!(serves_q && !job) ||
              (u_head.for_all == (agents__lane == ALL) &&
               u_head.ahead == 4'(agents__lane - 1'b1)));
      Address_L :
      assert (!at.address || (position <= zeros && down.valid == (position != '0) &&
              u_head.\before == 4'(zeros - 1'b1 - position) && u_head.left == length - 7'd2));
      Send_L :
      assert (!at.send || (down.valid && position > zeros && body < length &&
              u_head.left == length - 7'd2 - body && u_head.frame == full << body));
      Shifts_L :
      assert (at.send ? u_head.shifts : reset_q || (at.waits && serves_q && waited_q == '0) ||
              !u_head.shifts);
      Waits_L : assert (!at.waits || down.valid == (serves_q && waited_q == '0));
      Waited_L : assert (waited_q <= 2'd2 && (waited_q != 2'd1 || !serves_q || sent_q[0]));
      Behind_L : assert (!at.waits || position == (serves_q && waited_q != 2'd2 ? ends_at : '0));
      Rests_L : assert (at.address || at.send || at.waits || (!down.valid && position_q == '0));
      DoneAt_L : assert (agents__done == (at.told && serves_q && !job));
      Frames_L :
      assert (frames_q == (!serves_q || job || at.begins ? 2'd0 : what_q == Ask ? 2'd2 : 2'd1));
      Heard_L :
      assert (!(serves_q && what_q == Ask) || at.told ||
              ((u_head.heard ^ came_q[34:0]) & heard_mask) == '0);
      HeardBits_L :
      assert (!(serves_q && what_q == Ask) || at.told ||
              (at.address || at.send ? heard_q == (position > 7'd35 ? 6'd35 : 6'(position)) :
               at.done ? heard_q == 6'd35 : heard_q <= 6'd35 && heard_q >= 6'd33 + 6'(waited_q)));
      Told_L : assert (!(serves_q && what_q == Ask && at.told) || u_head.heard == came_q[35:1]);
      UnderWay_L : assert (!(serves_q && what_q == Run) || u_head.under_way);

      // --- The theorem --------------------------------------------------------------------------------
      Sent_A :
      assert (!down.valid || (serves_q && down.all == to_all && position <= ends_at &&
              down.data == (position_q < zeros ? 1'b0 : position_q == zeros ? 1'b1 :
                            full[7'(FrameBits)-1'b1-place])));
      Whole_A : assert (down.valid || position_q == '0 || position_q == ends_at);
      Begins_A : assert (at.begins == (begins_q && !reset_q) && (!at.begins || what_q == due_q));
      Done_A :
      assert (!agents__done || (agents__access && frames_q == (agents__write ? 2'd1 : 2'd2) &&
                                !down.valid && !done_q));
      Read_A : assert (!agents__done || agents__write || agents__read == came_q[35:4]);
      Busy_A : assert (!(run_q || (serves_q && what_q == Run)) || agents__busy);
    end
    All_C : cover (clock_q == 7'd73 && agents__done && agents__lane == ALL);
    Run_C : cover (clock_q == 7'd73 && at.done && serves_q && what_q == Run && steps_q == '1);
    Read_C :
    cover (clock_q == 7'd117 && agents__done && !agents__write && agents__read == 32'h12345678 &&
           agents__lane == 8'd3);
  end

endmodule
