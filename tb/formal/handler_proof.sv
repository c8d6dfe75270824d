// SPDX-License-Identifier: Apache-2.0
// The handler of agents carries out a request exactly as docs/link.md says, or changes nothing.
//
// Function    Judges each request and walks through its words independently. A refused request makes no access and begins
//             or ends no run. A STORE or FETCH of n words makes n accesses, each once, of the words that it names, with the
//             words of the payload; the answer has the words that were read, and no others. A RUN begins one run, a STOP
//             ends one. The verdict comes within two clocks, and from then on the handler waits only for a byte of the
//             payload, for an access, or for the answer to be taken.
// Assumed     What its signature requires of the reader of requests (qstep_rtl.handler): a request begins when nothing of
//             the last one is left to do, and its type and arguments stay until the next one does. A STORE has a
//             payload (the reader refuses others), and bytes come only as long as some are left. Power-up is a reset.

module handler_proof (
    input logic clk_i,
    input logic rst_i,

    input logic start_i,
    input logic answered_i,
    input logic byte_valid_i,
    input logic [7:0] byte_i,
    input logic busy_i,
    input logic done_i,
    input logic [31:0] read_i,
    input logic silent_i,
    input logic [3:0] silent_agent_i,
    input logic data_ready_i,

    input logic [  4:0] type_i,
    input logic [103:0] arguments_i,
    input logic [ 10:0] length_i
);

  localparam int unsigned Lanes = 2;
  localparam logic [15:0] MOST_WORDS = 16'd506;
  localparam logic [4:0] STORE = 5'd13, FETCH = 5'd14, RUN = 5'd15, STOP = 5'd16, PROGRESS = 5'd17;
  localparam logic [2:0] OK = 3'd0, BAD_LENGTH = 3'd5, OUT_OF_RANGE = 3'd6, BUSY = 3'd7;

  typedef struct packed {
    logic [7:0]  lane;
    logic [15:0] count;
    logic [31:0] stride;
    logic [7:0]  run;
    logic [31:0] index;
    logic [7:0]  region;
  } walk_t;

  // The request, which stays until the next one begins.
  logic [4:0] type_q, kind;
  logic [103:0] arguments_q, arguments;
  logic [10:0] left_q, left;
  logic starts;
  walk_t walk;
  logic [63:0] steps;
  assign starts    = start_i;
  assign kind      = starts ? type_i : type_q;
  assign arguments = starts ? arguments_i : arguments_q;
  assign left      = starts ? length_i : left_q;
  assign walk      = arguments;
  assign steps     = arguments[63:0];

  logic takes, byte_ready, access, write, run, stop, data_valid, handler_busy, lingers;
  logic [2:0] region, status;
  logic [7:0] lane, data;
  logic [10:0] data_bytes;
  logic [29:0] index;
  logic [31:0] word;
  logic [47:0] run_steps;

  agents_handler u_handler (
      .clk                      (clk_i),
      .rst                      (rst_i),
      .request__type            (kind),
      .request__fields          (arguments),
      .request__left            (left),
      .request__spent           (left == '0),
      .request__start           (starts),
      .request__payload__payload(byte_i),
      .request__payload__valid  (byte_valid_i),
      .request__payload__ready  (byte_ready),
      .request__busy            (handler_busy),
      .request__status          (status),
      .request__data_bytes      (data_bytes),
      .request__answered        (answered_i),
      .request__lingers         (lingers),
      .agents__lane             (lane),
      .agents__access           (access),
      .agents__write            (write),
      .agents__region           (region),
      .agents__index            (index),
      .agents__word             (word),
      .agents__done             (done_i),
      .agents__read             (read_i),
      .agents__run              (run),
      .agents__steps            (run_steps),
      .agents__stop             (stop),
      .agents__busy             (busy_i),
      .agents__silent           (silent_i),
      .agents__silent_agent     (silent_agent_i),
      .data__payload            (data),
      .data__valid              (data_valid),
      .data__ready              (data_ready_i)
  );

  // --- The reference: what is still to do ---------------------------------------------------------------
  typedef enum logic [2:0] {
    Rests,
    Compares,
    Judges,
    Collects,  // bytes of a word of the payload
    Stores,
    Fetches,
    Sends      // bytes of an answer
  } doing_e;
  doing_e doing_q = Rests;

  logic job_q, unanswered_q;
  logic [2:0] verdict, verdict_q;
  logic [15:0] words_q;  // left to access
  logic [7:0] column_q;
  logic [29:0] row_q;
  logic [1:0] bytes_q;
  logic [31:0] word_q;
  logic no_word;
  assign takes = byte_valid_i && byte_ready;

  assign no_word = walk.region > 8'd5 || walk.run == '0 ||
      (32'(walk.lane) >= Lanes && !(kind == STORE && walk.lane == 8'd255));
  always_comb begin
    verdict = OK;
    if (kind == RUN) begin
      if (job_q) verdict = BUSY;
      else if (steps == '0 || steps[63:48] != '0) verdict = OUT_OF_RANGE;
    end else begin
      if (kind == STORE && 32'(left) != 4 * 32'(walk.count)) verdict = BAD_LENGTH;
      else if (job_q && !(kind == FETCH && walk.region == 8'd2)) verdict = BUSY;
      else if (no_word) verdict = OUT_OF_RANGE;
      else if (kind == FETCH && (walk.count == '0 || walk.count > MOST_WORDS))
        verdict = OUT_OF_RANGE;
    end
  end

  logic last_byte, accessed, new_row;
  assign last_byte = bytes_q == 2'd3;
  assign accessed  = done_i && (doing_q == Stores || doing_q == Fetches);
  assign new_row   = 9'(column_q) + 9'd1 == 9'(walk.run);

  always_ff @(posedge clk_i) begin
    type_q <= kind;
    arguments_q <= arguments;
    left_q <= left - 11'(takes);
    job_q <= busy_i;

    if (accessed) begin
      words_q  <= words_q - 1'b1;
      column_q <= new_row ? '0 : column_q + 1'b1;
      if (new_row) row_q <= row_q + walk.stride[29:0];
    end
    case (doing_q)
      Compares: doing_q <= Judges;
      Judges: begin
        verdict_q <= verdict;
        doing_q   <= kind == STORE && verdict == OK ? Collects : Rests;
        words_q   <= walk.count;
        column_q  <= '0;
        row_q     <= walk.index[29:0];
        bytes_q   <= '0;
      end
      Collects:
      if (byte_valid_i) begin
        word_q  <= {byte_i, word_q[31:8]};
        bytes_q <= bytes_q + 1'b1;
        if (last_byte) doing_q <= Stores;
      end
      Stores:   if (done_i) doing_q <= words_q == 16'd1 ? Rests : Collects;
      Fetches:
      if (done_i) begin
        word_q  <= read_i;
        bytes_q <= '0;
        doing_q <= Sends;
      end
      Sends:
      if (data_ready_i) begin
        word_q  <= word_q >> 8;
        bytes_q <= bytes_q + 1'b1;
        if (last_byte) doing_q <= kind == FETCH && words_q != '0 ? Fetches : Rests;
      end
      default: begin
        if (starts) begin
          unanswered_q <= 1'b1;
          verdict_q <= OK;
          if (kind inside {STORE, FETCH, RUN}) doing_q <= Compares;
        end
        if (answered_i) begin
          unanswered_q <= 1'b0;
          if (kind == FETCH) doing_q <= Fetches;
          if (kind == PROGRESS) begin
            word_q  <= busy_i ? 32'd1 : silent_i ? 32'({4'h8, silent_agent_i}) : '0;
            bytes_q <= 2'd3;
            doing_q <= Sends;
          end
        end
      end
    endcase
    if (rst_i) begin
      doing_q <= Rests;
      unanswered_q <= 1'b0;
    end
  end

  // --- Assumed ------------------------------------------------------------------------------------------------
  logic past_q = 1'b0;
  always_ff @(posedge clk_i) past_q <= 1'b1;
  always_comb begin
    assume (past_q || rst_i);
    assume (!starts || (doing_q == Rests && !answered_i && !unanswered_q));
    assume (!starts || kind inside {STORE, FETCH, RUN, STOP, PROGRESS});
    assume (!starts || kind != STORE || left != '0);
    assume (!answered_i || (doing_q == Rests && unanswered_q && status == OK));
    assume (!byte_valid_i || left != '0);
    assume (!done_i || access);
  end

  // --- The theorem ----------------------------------------------------------------------------------------------
  logic accesses, walks, promised;  // promised: the answer to a FETCH is still to come
  assign walks = doing_q inside {Collects, Stores, Fetches} || (doing_q == Sends && kind == FETCH);
  assign promised = doing_q == Rests && unanswered_q && kind == FETCH && status == OK;
  assign accesses = doing_q == Stores || doing_q == Fetches;
  always_comb begin
    if (past_q) begin
      case (doing_q)
        Compares: State_L : assert (u_handler.fsm_state == 3'd0);
        Judges:   StateJ_L : assert (u_handler.fsm_state == 3'd1);
        Collects: StateC_L : assert (u_handler.fsm_state == 3'd2);
        Stores:   StateS_L : assert (u_handler.fsm_state == 3'd3);
        Fetches:  StateF_L : assert (u_handler.fsm_state == 3'd5);
        Sends:    StateA_L : assert (u_handler.fsm_state == 3'd6);
        default:  StateR_L : assert (doing_q == Rests && u_handler.fsm_state == 3'd4);
      endcase
      Kind_L :
      assert (doing_q == Rests ||
              (doing_q inside {Compares, Judges} && kind inside {STORE, FETCH, RUN}) ||
              (doing_q inside {Collects, Stores} && kind == STORE) ||
              (doing_q inside {Fetches, Sends} && kind == FETCH) ||
              (doing_q == Sends && kind == PROGRESS));
      Left_L :
      assert (!(doing_q inside {Collects, Stores}) ||
              32'(left) == 4 * 32'(words_q) - (doing_q == Stores ? 4 : 32'(bytes_q)));
      Column_L : assert (!walks || column_q < walk.run);
      Answered_L : assert (doing_q == Rests || unanswered_q == !(doing_q inside {Fetches, Sends}));
      Promise_L :
      assert (!(promised && verdict_q == OK) ||
              (words_q == walk.count && walk.run != '0 && column_q == '0 &&
               words_q inside {[16'd1 : MOST_WORDS]} &&
               row_q == walk.index[29:0] && u_handler.left == walk.count));
      Whole_L : assert (doing_q != Stores || bytes_q == '0);
      Words_L : assert (!(doing_q inside {Collects, Stores, Fetches}) || words_q != '0);
      Fetched_L :
      assert (!(doing_q inside {Fetches, Sends}) ||
              u_handler.left == (kind == FETCH ? words_q + 16'(doing_q == Sends) : 16'd1));
      Count_L :
      assert (!(doing_q inside {Compares, Judges}) || kind == RUN || u_handler.left == walk.count);
      Walk_L :
      assert (!walks ||
              (u_handler.in_run == column_q && u_handler.\$signal$39 == row_q &&
               index == row_q + 30'(column_q)));
      Begins_L :
      assert (!(doing_q inside {Compares, Judges} || promised) || kind == RUN ||
              (u_handler.in_run == '0 && u_handler.\$signal$39 == walk.index[29:0] &&
               index == walk.index[29:0]));
      Bytes_L : assert (!(doing_q inside {Collects, Stores, Sends}) || u_handler.\byte == bytes_q);
      Word_L :
      assert (!(doing_q inside {Collects, Stores}) ||
              (word ^ word_q) >> (doing_q == Stores ? 6'd0 : 6'd32 - 6'(bytes_q) * 6'd8) == '0);
      Sent_L :
      assert (doing_q != Sends || (kind == FETCH ? word == word_q :
                                   word[7:0] == word_q[7:0] && last_byte));
      Ready_A : assert (byte_ready == (doing_q == Collects));

      // An access, a run or a stop is made if and only if the request says so.
      Access_A : assert (access == accesses && (!access || write == (kind == STORE)));
      Place_A :
      assert (!access || (index == row_q + 30'(column_q) &&
                          region == walk.region[2:0] && lane == walk.lane));
      Stored_A : assert (!access || !write || word == word_q);
      Run_A :
      assert (run == (doing_q == Judges && kind == RUN && verdict == OK) &&
              (!run || run_steps == steps[47:0]));
      Stop_A : assert (stop == (starts && kind == STOP));
      Status_A :
      assert (doing_q inside {Judges, Fetches, Sends} || !unanswered_q || status == verdict_q);
      Answer_A : assert (data_valid == (doing_q == Sends) && (!data_valid || data == word_q[7:0]));
      Promised_A :
      assert (!(doing_q == Rests && unanswered_q && !starts && status == OK) ||
              data_bytes == (kind == FETCH ? 11'(4 * walk.count) : 11'(kind == PROGRESS)));
      Busy_A :
      assert (handler_busy == (doing_q inside {Compares, Judges, Collects, Stores}) && !lingers);
    end
    Fetched_C :
    cover (doing_q == Sends && kind == FETCH && words_q == '0 && row_q != walk.index[29:0]);
    Stored_C : cover (doing_q == Stores && words_q == 16'd1 && walk.count == 16'd2 && done_i);
    Refused_C : cover (doing_q == Rests && unanswered_q && status == BAD_LENGTH);
    Run_C : cover (run && run_steps == '1);
  end

endmodule
