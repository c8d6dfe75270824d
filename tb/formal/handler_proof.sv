// SPDX-License-Identifier: Apache-2.0
// The handler of agents carries out a request exactly as docs/link.md says, or changes nothing.
//
// Function    The reference checks each request and steps through its words independently. A refused request makes no
//             access, and neither starts nor stops a run. A STORE or FETCH of n words makes n accesses, one to each
//             requested word. A STORE writes the words of the payload, and the answer to a FETCH contains exactly the
//             words read. A RUN starts one run, and a STOP stops one. The verdict comes within two clocks. After
//             that, the handler waits only for a payload byte, for an access, or for the answer to be accepted.
// Assumed     The request reader meets the requirements of the handler's signature (qstep_rtl.handler): a request
//             starts only after the last one has been completed, and its type and arguments are held until the next
//             request. A STORE has a payload, since the reader refuses a STORE without one, and bytes arrive only
//             while some are left. Power-up is a reset.

module handler_proof (
    input logic clk,
    input logic rst,

    input logic start_i,
    input logic request__answered,
    input logic request__payload__valid,
    input logic [7:0] request__payload__payload,
    input logic agents__busy,
    input logic agents__done,
    input logic [31:0] agents__read,
    input logic agents__silent,
    input logic [3:0] agents__silent_agent,
    input logic data__ready,

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

  // The request, which is held until the next one starts.
  logic [4:0] type_q, request__type;
  logic [103:0] arguments_q, request__fields;
  logic [10:0] left_q, request__left;
  logic request__start;
  walk_t walk;
  logic [63:0] steps;
  assign request__start  = start_i;
  assign request__type   = request__start ? type_i : type_q;
  assign request__fields = request__start ? arguments_i : arguments_q;
  assign request__left   = request__start ? length_i : left_q;
  assign walk            = request__fields;
  assign steps           = request__fields[63:0];

  logic
      takes,
      request__payload__ready,
      agents__access,
      agents__write,
      agents__run,
      agents__stop,
      data__valid,
      request__busy,
      request__lingers;
  logic [2:0] agents__region, request__status;
  logic [7:0] agents__lane, data__payload;
  logic [10:0] request__data_bytes;
  logic [29:0] agents__index;
  logic [31:0] agents__word;
  logic [47:0] agents__steps;

  agents_handler u_handler (
      .request__spent(request__left == '0),
      .*
  );

  // --- The reference: the remaining work ----------------------------------------------------------------
  typedef enum logic [2:0] {
    Rests,
    Compares,
    Judges,
    Collects,  // bytes of a payload word
    Stores,
    Fetches,
    Sends      // bytes of an answer
  } doing_e;
  doing_e doing_q = Rests;

  logic job_q, unanswered_q;
  logic [2:0] verdict, verdict_q;
  logic [15:0] words_q;  // words left to access
  logic [7:0] column_q;
  logic [29:0] row_q;
  logic [1:0] bytes_q;
  logic [31:0] word_q;
  logic no_word;
  assign takes = request__payload__valid && request__payload__ready;

  assign no_word = walk.region > 8'd5 || walk.run == '0 ||
      (32'(walk.lane) >= Lanes && !(request__type == STORE && walk.lane == 8'd255));
  always_comb begin
    verdict = OK;
    if (request__type == RUN) begin
      if (job_q) verdict = BUSY;
      else if (steps == '0 || steps[63:48] != '0) verdict = OUT_OF_RANGE;
    end else begin
      if (request__type == STORE && 32'(request__left) != 4 * 32'(walk.count)) verdict = BAD_LENGTH;
      else if (job_q && !(request__type == FETCH && walk.region == 8'd2)) verdict = BUSY;
      else if (no_word) verdict = OUT_OF_RANGE;
      else if (request__type == FETCH && (walk.count == '0 || walk.count > MOST_WORDS))
        verdict = OUT_OF_RANGE;
    end
  end

  logic last_byte, accessed, new_row;
  assign last_byte = bytes_q == 2'd3;
  assign accessed  = agents__done && (doing_q == Stores || doing_q == Fetches);
  assign new_row   = 9'(column_q) + 9'd1 == 9'(walk.run);

  always_ff @(posedge clk) begin
    type_q <= request__type;
    arguments_q <= request__fields;
    left_q <= request__left - 11'(takes);
    job_q <= agents__busy;

    if (accessed) begin
      words_q  <= words_q - 1'b1;
      column_q <= new_row ? '0 : column_q + 1'b1;
      if (new_row) row_q <= row_q + walk.stride[29:0];
    end
    case (doing_q)
      Compares: doing_q <= Judges;
      Judges: begin
        verdict_q <= verdict;
        doing_q   <= request__type == STORE && verdict == OK ? Collects : Rests;
        words_q   <= walk.count;
        column_q  <= '0;
        row_q     <= walk.index[29:0];
        bytes_q   <= '0;
      end
      Collects:
      if (request__payload__valid) begin
        word_q  <= {request__payload__payload, word_q[31:8]};
        bytes_q <= bytes_q + 1'b1;
        if (last_byte) doing_q <= Stores;
      end
      Stores:   if (agents__done) doing_q <= words_q == 16'd1 ? Rests : Collects;
      Fetches:
      if (agents__done) begin
        word_q  <= agents__read;
        bytes_q <= '0;
        doing_q <= Sends;
      end
      Sends:
      if (data__ready) begin
        word_q  <= word_q >> 8;
        bytes_q <= bytes_q + 1'b1;
        if (last_byte) doing_q <= request__type == FETCH && words_q != '0 ? Fetches : Rests;
      end
      default: begin
        if (request__start) begin
          unanswered_q <= 1'b1;
          verdict_q <= OK;
          if (request__type inside {STORE, FETCH, RUN}) doing_q <= Compares;
        end
        if (request__answered) begin
          unanswered_q <= 1'b0;
          if (request__type == FETCH) doing_q <= Fetches;
          if (request__type == PROGRESS) begin
            word_q  <= agents__busy ? 32'd1 : agents__silent ? 32'({4'h8, agents__silent_agent}) :
                '0;
            bytes_q <= 2'd3;
            doing_q <= Sends;
          end
        end
      end
    endcase
    if (rst) begin
      doing_q <= Rests;
      unanswered_q <= 1'b0;
    end
  end

  // --- Assumed ------------------------------------------------------------------------------------------------
  logic past_q = 1'b0;
  always_ff @(posedge clk) past_q <= 1'b1;
  always_comb begin
    assume (past_q || rst);
    assume (!request__start || (doing_q == Rests && !request__answered && !unanswered_q));
    assume (!request__start || request__type inside {STORE, FETCH, RUN, STOP, PROGRESS});
    assume (!request__start || request__type != STORE || request__left != '0);
    assume (!request__answered || (doing_q == Rests && unanswered_q && request__status == OK));
    assume (!request__payload__valid || request__left != '0);
    assume (!agents__done || agents__access);
  end

  // --- The theorem ----------------------------------------------------------------------------------------------
  logic accesses, walks, promised;  // promised: the answer to a FETCH is pending
  assign walks = doing_q inside {Collects, Stores, Fetches} ||
      (doing_q == Sends && request__type == FETCH);
  assign promised = doing_q == Rests && unanswered_q && request__type == FETCH &&
      request__status == OK;
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
              (doing_q inside {Compares, Judges} && request__type inside {STORE, FETCH, RUN}) ||
              (doing_q inside {Collects, Stores} && request__type == STORE) ||
              (doing_q inside {Fetches, Sends} && request__type == FETCH) ||
              (doing_q == Sends && request__type == PROGRESS));
      Left_L :
      assert (!(doing_q inside {Collects, Stores}) ||
              32'(request__left) == 4 * 32'(words_q) - (doing_q == Stores ? 4 : 32'(bytes_q)));
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
              u_handler.left == (request__type == FETCH ? words_q + 16'(doing_q == Sends) : 16'd1));
      Count_L :
      assert (!(doing_q inside {Compares, Judges}) || request__type == RUN ||
              u_handler.left == walk.count);
      Walk_L :
      assert (!walks ||
              (u_handler.in_run == column_q && u_handler.row == row_q &&
               agents__index == row_q + 30'(column_q)));
      Begins_L :
      assert (!(doing_q inside {Compares, Judges} || promised) || request__type == RUN ||
              (u_handler.in_run == '0 && u_handler.row == walk.index[29:0] &&
               agents__index == walk.index[29:0]));
      Bytes_L : assert (!(doing_q inside {Collects, Stores, Sends}) || u_handler.\byte == bytes_q);
      Word_L :
      assert (!(doing_q inside {Collects, Stores}) ||
              (agents__word ^ word_q) >> (doing_q == Stores ? 6'd0 : 6'd32 - 6'(bytes_q) * 6'd8) ==
                  '0);
      Sent_L :
      assert (doing_q != Sends || (request__type == FETCH ? agents__word == word_q :
                                   agents__word[7:0] == word_q[7:0] && last_byte));
      Ready_A : assert (request__payload__ready == (doing_q == Collects));

      // An access, a run or a stop occurs if and only if it is requested.
      Access_A :
      assert (agents__access == accesses && (!agents__access ||
                                             agents__write == (request__type == STORE)));
      Place_A :
      assert (!agents__access || (agents__index == row_q + 30'(column_q) &&
                          agents__region == walk.region[2:0] && agents__lane == walk.lane));
      Stored_A : assert (!agents__access || !agents__write || agents__word == word_q);
      Run_A :
      assert (agents__run == (doing_q == Judges && request__type == RUN && verdict == OK) &&
              (!agents__run || agents__steps == steps[47:0]));
      Stop_A : assert (agents__stop == (request__start && request__type == STOP));
      Status_A :
      assert (doing_q inside {Judges, Fetches, Sends} || !unanswered_q ||
              request__status == verdict_q);
      Answer_A :
      assert (data__valid == (doing_q == Sends) && (!data__valid || data__payload == word_q[7:0]));
      Promised_A :
      assert (!(doing_q == Rests && unanswered_q && !request__start && request__status == OK) ||
              request__data_bytes == (request__type == FETCH ? 11'(4 * walk.count) :
                                      11'(request__type == PROGRESS)));
      Busy_A :
      assert (request__busy == (doing_q inside {Compares, Judges, Collects, Stores}) &&
              !request__lingers);
    end
    Fetched_C :
    cover (doing_q == Sends && request__type == FETCH && words_q == '0 &&
           row_q != walk.index[29:0]);
    Stored_C : cover (doing_q == Stores && words_q == 16'd1 && walk.count == 16'd2 && agents__done);
    Refused_C : cover (doing_q == Rests && unanswered_q && request__status == BAD_LENGTH);
    Run_C : cover (agents__run && agents__steps == '1);
  end

endmodule
