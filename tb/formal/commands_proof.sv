// SPDX-License-Identifier: Apache-2.0
// Each good frame gets exactly one answer, after its last byte; only a request that passed its checks is carried out.
//
// Function    Follows frames by their headers alone. No byte of the next frame is taken before the answer has begun, and none
//             of this one is left. The answer has the type and the number of the request. A request is handed to its
//             handler at most once, and only with its whole header and arguments and the status OK; nothing else starts
//             a run, a stop, a write or a count, and an answer with the status OK is to a request that was handed over.
//             Whenever nothing else has to come first (a byte, silence on the line, an access, room for an answer), something
//             happens within eight clocks.
// Assumed     A frame is no longer than the link allows. The device is quiet only when all words of an answer were sent a
//             clock before. Power-up is a reset; another may come at any time.

module commands_proof (
    input logic clk_i,
    input logic rst_i,

    input logic byte_valid_i,
    input logic [7:0] byte_i,
    input logic quiet_i,
    input logic line_break_i,
    input logic answer_ready_i,
    input logic data_ready_i,
    input logic busy_i,
    input logic done_i,
    input logic [31:0] read_i,
    input logic silent_i,
    input logic [3:0] silent_agent_i
);

  localparam logic [2:0] OK = 3'd0;
  localparam logic [10:0] LONGEST = 11'd2035;

  typedef struct packed {
    logic [15:0] data_bytes;
    logic [2:0]  status;
    logic [15:0] seq;
    logic [7:0]  kind;
  } answer_t;

  logic byte_ready, answer_valid, data_valid, asks_quiet, counts, refused, busy;
  logic access, write, run, stop;
  answer_t answer;
  commands u_commands (
      .clk                 (clk_i),
      .rst                 (rst_i),
      .bytes__payload      (byte_i),
      .bytes__valid        (byte_valid_i),
      .bytes__ready        (byte_ready),
      .answers__payload    (answer),
      .answers__valid      (answer_valid),
      .answers__ready      (answer_ready_i),
      .session__epoch      (),
      .session__expected   (),
      .session__nonce      (),
      .agents__lane        (),
      .agents__access      (access),
      .agents__write       (write),
      .agents__region      (),
      .agents__index       (),
      .agents__word        (),
      .agents__done        (done_i),
      .agents__read        (read_i),
      .agents__run         (run),
      .agents__steps       (),
      .agents__stop        (stop),
      .agents__busy        (busy_i),
      .agents__silent      (silent_i),
      .agents__silent_agent(silent_agent_i),
      .data__payload       (),
      .data__valid         (data_valid),
      .data__ready         (data_ready_i),
      .count               (counts),
      .divisor             (),
      .line_break          (line_break_i),
      .quiet               (quiet_i),
      .asks_quiet          (asks_quiet),
      .refused             (refused),
      .busy                (busy)
  );

  // --- The frame: bytes of its header that were taken, and bytes of its payload that are left -------------
  logic [ 3:0] head_q = '0;
  logic [10:0] left_q;
  logic [ 7:0] kind_q;
  logic [15:0] seq_q;
  logic takes, whole, answers, starts, started_q;
  assign takes   = byte_valid_i && byte_ready;
  assign whole   = head_q == 4'd9 && left_q == '0;
  assign answers = answer_valid && answer_ready_i;
  assign starts  = u_commands.current__start;

  always_ff @(posedge clk_i) begin
    if (takes && head_q != 4'd9) begin
      head_q <= head_q + 1'b1;
      case (head_q)
        4'd0: kind_q <= byte_i;
        4'd1: seq_q[7:0] <= byte_i;
        4'd2: seq_q[15:8] <= byte_i;
        4'd7: left_q[7:0] <= byte_i;
        4'd8: left_q[10:8] <= byte_i[2:0];
        default: ;
      endcase
    end else if (takes) begin
      left_q <= left_q - 1'b1;
    end
    started_q <= starts || (started_q && !answers);
    if (answers) head_q <= '0;
    if (rst_i) begin
      head_q <= '0;
      started_q <= 1'b0;
    end
  end

  // Clocks in which nothing happened although nothing else had to come first.
  logic waits;
  logic [3:0] stall_q = '0;
  assign waits = (byte_ready && !byte_valid_i) || (asks_quiet && !quiet_i) || answer_valid ||
      (access && !done_i) || (data_valid && !data_ready_i);
  always_ff @(posedge clk_i) begin
    stall_q <= takes || waits || rst_i ? '0 : stall_q + 1'b1;
  end

  // Words of an answer are still to be sent.
  logic sends, sent_q;
  assign sends = u_commands.agents.fsm_state == 3'd5 || u_commands.agents.fsm_state == 3'd6;

  logic past_q = 1'b0;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    sent_q <= !sends && !(u_commands.agents.request__answered);
  end
  always_comb begin
    assume (past_q || rst_i);
    assume (!takes || head_q != 4'd8 || 16'({byte_i, left_q[7:0]}) <= 16'(LONGEST));
    assume (!quiet_i || sent_q);
    assume (!done_i || access);
  end

  // --- What the arguments of each request are, for the induction ---------------------------------------------
  logic known;
  logic [3:0] size;
  always_comb begin
    known = 1'b1;
    size  = '0;
    case (kind_q)
      8'd1: size = 4'd4;
      8'd12: size = 4'd2;
      8'd13, 8'd14: size = 4'd13;
      8'd15: size = 4'd8;
      8'd10, 8'd11, 8'd16, 8'd17: ;
      default: known = 1'b0;
    endcase
  end

  typedef enum logic [2:0] {
    Offer,
    Judge,
    Decide,
    Header,
    Arguments
  } reader_e;
  typedef enum logic [2:0] {
    Idle,
    Linger,
    Discard,
    Work,
    Answer
  } commands_e;
  logic [2:0] reader, doing, handler, status;
  logic [3:0] index;
  logic mine, settled;
  assign reader = u_commands.reader.fsm_state;
  assign doing = u_commands.fsm_state;
  assign handler = u_commands.agents.fsm_state;
  assign status = u_commands.reader.\status$17 ;
  assign index = u_commands.reader.index;
  assign mine = u_commands.reader.\$signal$27 ;
  assign settled = reader != Header || index == 4'd8 || (index == 4'd7 && !u_commands.reader.judge);

  logic [1:0] rate;
  logic [3:0] bound;
  assign rate = u_commands.rate.fsm_state;
  always_comb begin
    bound = 4'd7;
    case (doing)
      Idle:
      case (reader)
        Header:  bound = 4'd3;
        Judge:   bound = 4'd0;
        Decide:  bound = 4'd1;
        default: bound = 4'd2;
      endcase
      Work: bound = handler == 3'd0 ? 4'd3 : handler == 3'd1 ? 4'd4 : handler == 3'd3 ? 4'd0 : 4'd5;
      Discard: bound = 4'd6;
      Linger: bound = rate == 2'd1 ? 4'd0 : rate == 2'd2 ? 4'd1 : 4'd2;
      default: ;
    endcase
  end

  always_comb begin
    if (past_q) begin
      Reader_L : assert (reader <= Arguments && doing <= Answer && handler <= 3'd6);
      Header_L :
      assert ((reader == Header) == (u_commands.reader.\$signal$31 ) &&
              (reader != Header || (mine && !u_commands.reader.passing && index == head_q &&
                                    head_q < 4'd9 && doing == Idle)));
      Linger_L :
      assert (doing == Linger ? head_q == '0 && reader == Offer :
              reader == Header || head_q == 4'd9);
      Left_L :
      assert (reader == Header || doing == Linger || (u_commands.reader.left == left_q &&
              u_commands.reader.spent == (left_q == '0)));
      LeftHeader_L :
      assert (reader != Header || ((head_q < 4'd8 || u_commands.reader.left[7:0] == left_q[7:0])));
      Kind_L :
      assert ((head_q == '0 && doing != Linger) || u_commands.reader.\$signal$16 == kind_q);
      Seq_L :
      assert ((head_q < 4'd2 || u_commands.reader.seq[7:0] == seq_q[7:0]) &&
              (head_q < 4'd3 || u_commands.reader.seq == seq_q));
      Needs_L :
      assert (!settled || doing == Linger || (u_commands.reader.\$signal$45 == known &&
              u_commands.reader.has_arguments == (size != '0) &&
              (size == '0 || u_commands.reader.last_argument == size - 4'd1)));
      Mine_L : assert (mine == (reader == Header || reader == Arguments));
      Passing_L :
      assert (doing == Linger ? !u_commands.reader.passing :
              u_commands.reader.passing == (reader == Offer && left_q != '0));
      Fits_L :
      assert (reader != Decide ||
              u_commands.reader.\$signal$51 == (known &&
              (kind_q == 8'd13 ? left_q >= 11'd16 : left_q == 11'(size))));
      Start_L :
      assert (!(reader inside {Judge, Decide}) ||
              (index == '0 && (size == '0 || u_commands.reader.at_last == (size == 4'd1))));
      Arguments_L :
      assert (reader != Arguments || (status == OK && index < size && left_q >= 11'(size - index) &&
              u_commands.reader.at_last == (index + 4'd1 == size) &&
              (kind_q == 8'd13 ? left_q >= 11'(size - index) + 11'd3 :
               left_q == 11'(size - index))));
      Offer_L : assert (doing == Idle || doing == Linger || (reader == Offer && head_q == 4'd9));
      Spent_L :
      assert (reader != Offer || doing == Linger || status != OK ||
              (doing != Idle && kind_q == 8'd13) ||
              (kind_q == 8'd13 ? left_q >= 11'd3 : left_q == '0));
      OK_L : assert (reader != Offer || doing == Linger || status != OK || known);
      Started_L :
      assert (started_q == (doing == Work || (doing == Discard && status == OK) ||
                            (doing == Answer && status == OK)));
      Answer_L : assert (doing != Answer || left_q == '0);
      Work_L : assert (doing != Work || status == OK);
      Discarding_L : assert (u_commands.discarding == (doing == Discard));
      Handler_L : assert (handler inside {3'd4, 3'd5, 3'd6} || doing == Work);
      Handled_L : assert (!(handler inside {3'd2, 3'd3}) || kind_q == 8'd13);
      HandledKind_L :
      assert (!(handler inside {3'd0, 3'd1}) || kind_q inside {8'd13, 8'd14, 8'd15});
      Collects_L :
      assert (handler != 3'd2 || (left_q != '0 && 2'(left_q) == 2'(-u_commands.agents.\byte )));
      Collecting_L : assert (u_commands.agents.request__payload__ready == (handler == 3'd2));
      Stores_L : assert (handler != 3'd3 || (left_q[1:0] == '0 && u_commands.agents.\byte == '0));
      Judged_L :
      assert (handler != 3'd1 || kind_q != 8'd13 || u_commands.agents.is_cut || left_q[1:0] == '0);
      Nonempty_L : assert (!(handler inside {3'd0, 3'd1}) || kind_q != 8'd13 || left_q >= 11'd3);
      NoApply_L : assert (!u_commands.reader.is_apply);
      Rate_L :
      assert (rate <= 2'd2 &&
              (doing == Linger ? u_commands.rate.waiting == (rate != '0) : rate == '0));
      LingerKind_L : assert (doing != Linger || handler == 3'd4);
      Bound_L : assert (stall_q <= bound);
      Sends_L : assert (!sends || reader inside {Header, Judge, Decide});

      // --- The theorem ---------------------------------------------------------------------------------------
      Reads_A : assert (!byte_ready || head_q != 4'd9 || left_q != '0);
      Answer_A : assert (!answer_valid || (whole && answer.kind == kind_q && answer.seq == seq_q));
      Once_A : assert (!starts || (head_q == 4'd9 && !started_q && status == OK && known));
      CarriedOut_A : assert (!answer_valid || answer.status != OK || started_q);
      Refused_A : assert (!answer_valid || status == OK || answer.status == status);
      Nothing_A : assert (!(run || stop || counts || (access && write)) || started_q || starts);
      Live_A : assert (stall_q < 4'd8);
    end
    Refused_C : cover (answers && answer.status == 3'd5);
    Stored_C : cover (answers && answer.status == OK && kind_q == 8'd13);
    Run_C : cover (run);
  end

endmodule
