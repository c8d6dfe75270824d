// SPDX-License-Identifier: Apache-2.0
// Properties of every frame, whatever its request; shared by commands_proof and commands_lane_proof.
//
// Function    The properties follow frames by their headers alone. By the time the answer starts, every byte of its
//             frame has been consumed, and no byte of the next frame has. The answer has the type and number of the
//             request. A request is passed to its handler at most once, and only with its complete header, with the
//             arguments of the frame, and with status OK. Only such a request is answered with status OK. Refused
//             requests are counted. The line's rate changes only after a BAUD answered with OK, or after a break.
//             Unless the commands wait for a byte, for silence on the line, for the device (waits_i), or for space
//             for an answer, they make progress within eight clocks. The module reads signals of its sibling instance
//             `u_commands`.
// Assumed     A frame does not exceed the link's maximum length. Power-up is a reset; another reset may come at any
//             time.

module commands_frames
  import commands_pkg::*;
#(
    parameter logic [15:0] Divisor = 16'd16  // of the configured rate
) (
    input logic clk_i,
    input logic rst_i,

    input doing_e doing_i,  // current phase of the commands
    input needs_t needs_i,  // format of requests of type kind_o
    input logic waits_i,  // the commands wait for the device
    input logic [3:0] work_bound_i,  // maximum clocks without progress during Work

    output logic past_o,
    output logic takes_o,
    output logic answers_o,
    output logic starts_o,  // a request is passed to its handler
    output logic [3:0] head_o,  // bytes of its header consumed so far
    output logic [10:0] left_o,  // bytes of its payload left
    output logic [7:0] kind_o,
    output logic started_o,  // the request was passed to its handler
    output logic [MostArguments*8-1:0] arguments_o
);

  localparam logic [15:0] LONGEST = 16'd2035;
  localparam logic [7:0] BAUD = 8'd12;
  localparam logic [15:0] LEAST_DIVISOR = 16'd8;

  // --- What the commands do ---------------------------------------------------------------------------
  logic byte_valid, byte_ready, quiet, asks_quiet, answer_valid, starts;
  logic [7:0] byte_in;
  answer_t answer;
  assign byte_valid = u_commands.bytes__valid;
  assign byte_ready = u_commands.bytes__ready;
  assign byte_in = u_commands.bytes__payload;
  assign quiet = u_commands.quiet;
  assign asks_quiet = u_commands.asks_quiet;
  assign answer_valid = u_commands.answers__valid;
  assign answer = u_commands.answers__payload;
  assign starts = u_commands.current__start;

  reader_t reader;
  assign reader = '{
          state: u_commands.reader.fsm_state,
          index: u_commands.reader.index,
          mine: u_commands.reader.mine,
          heading: u_commands.reader.heading,
          passing: u_commands.reader.passing,
          spent: u_commands.reader.spent,
          left: u_commands.reader.left,
          kind: u_commands.reader.kind,
          seq: u_commands.reader.seq,
          status: u_commands.reader.\status$17 ,
          judge: u_commands.reader.judge,
          known: u_commands.reader.known,
          fits: u_commands.reader.length_fits,
          is_apply: u_commands.reader.is_apply,
          has_arguments: u_commands.reader.has_arguments,
          last_argument: 4'(u_commands.reader.last_argument),
          at_last: u_commands.reader.at_last,
          fields: 104'(u_commands.reader.fields)
      };
  logic [1:0] rate;
  logic rate_waits;
  assign rate = u_commands.rate.fsm_state;
  assign rate_waits = u_commands.rate.waiting;

  // --- The frame --------------------------------------------------------------------------------------
  logic [3:0] head_q = '0;
  logic [10:0] left_q;
  logic [7:0] kind_q;
  logic [15:0] seq_q;
  logic [MostArguments-1:0][7:0] arguments_q;
  logic [3:0] argument_q;  // index of the next argument
  logic takes, whole, answers, started_q, refused_q;
  assign takes   = byte_valid && byte_ready;
  assign whole   = head_q == 4'd9 && left_q == '0;
  assign answers = answer_valid && u_commands.answers__ready;

  always_ff @(posedge clk_i) begin
    if (takes && head_q != 4'd9) begin
      head_q <= head_q + 1'b1;
      case (head_q)
        4'd0: kind_q <= byte_in;
        4'd1: seq_q[7:0] <= byte_in;
        4'd2: seq_q[15:8] <= byte_in;
        4'd7: left_q[7:0] <= byte_in;
        4'd8: left_q[10:8] <= byte_in[2:0];
        default: ;
      endcase
      argument_q <= '0;
    end else if (takes) begin
      left_q <= left_q - 1'b1;
      if (argument_q < needs_i.size) begin
        arguments_q[argument_q] <= byte_in;
        argument_q <= argument_q + 1'b1;
      end
    end
    started_q <= starts || (started_q && !answers);
    refused_q <= answers && answer.status != OK && answer.status != DUPLICATE && !rst_i;
    if (answers) head_q <= '0;
    if (rst_i) begin
      head_q <= '0;
      started_q <= 1'b0;
    end
  end

  // Clocks without progress although the commands waited for nothing.
  logic waits, past_q = 1'b0;
  logic [3:0] stall_q = '0, bound;
  assign waits = (byte_ready && !byte_valid) || answer_valid || waits_i ||
      (asks_quiet && !quiet && !(needs_i.applies && reader.state == Decide));
  always_ff @(posedge clk_i) begin
    past_q  <= 1'b1;
    stall_q <= takes || waits || rst_i ? '0 : stall_q + 1'b1;
  end

  // The expected rate of the line: a BAUD takes effect once its answer has been sent.
  logic [15:0] divisor_q, asked;
  logic [1:0] retune_q;
  logic good_rate;
  assign asked = arguments_q[1:0];
  assign good_rate = asked >= LEAST_DIVISOR;
  always_ff @(posedge clk_i) begin
    case (retune_q)
      2'd0:    if (answers && kind_q == BAUD && answer.status == OK) retune_q <= 2'd1;
      2'd1:    retune_q <= 2'd2;
      default: if (quiet) retune_q <= 2'd0;
    endcase
    if (retune_q == 2'd2 && quiet) divisor_q <= asked;
    if (u_commands.line_break) divisor_q <= Divisor;
    if (rst_i) begin
      divisor_q <= Divisor;
      retune_q  <= '0;
    end
  end

  assign past_o = past_q;
  assign takes_o = takes;
  assign answers_o = answers;
  assign starts_o = starts;
  assign head_o = head_q;
  assign left_o = left_q;
  assign kind_o = kind_q;
  assign started_o = started_q;
  assign arguments_o = arguments_q;

  always_comb begin
    assume (past_q || rst_i);
    assume (!takes || head_q != 4'd8 || 16'({byte_in, left_q[7:0]}) <= LONGEST);
  end

  // --- For the induction ------------------------------------------------------------------------------
  doing_e doing;
  logic settled;
  logic [3:0] size;
  assign doing = doing_i;
  assign size = needs_i.size;
  assign settled = reader.state != Header || reader.index == 4'd8 ||
      (reader.index == 4'd7 && !reader.judge);

  always_comb begin
    bound = 4'd7;
    case (doing)
      Idle:
      case (reader.state)
        Header:  bound = 4'd3;
        Judge:   bound = 4'd0;
        Decide:  bound = 4'd1;
        default: bound = 4'd2;
      endcase
      Work: bound = work_bound_i;
      Discard: bound = 4'd6;
      Linger: bound = rate == 2'd1 ? 4'd0 : rate == 2'd2 ? 4'd1 : 4'd2;
      default: ;
    endcase
  end

  // Minimum number of payload bytes after the arguments.
  logic [10:0] values;
  assign values = 11'(needs_i.least) - 11'(size);

  // Masks of the arguments that are correct in the handler's fields, already received, and expected for the type,
  // respectively.
  logic [MostArguments-1:0] same, given, whole_arguments;
  always_comb begin
    for (int unsigned n = 0; n < MostArguments; n++) begin
      same[n] = reader.fields[8*n+:8] == arguments_q[n];
      given[n] = 4'(n) < argument_q;
      whole_arguments[n] = 4'(n) < size;
    end
  end

  always_comb begin
    if (past_q) begin
      Reader_L : assert (reader.state <= Arguments && doing <= Answer);
      Header_L :
      assert ((reader.state == Header) == reader.heading &&
              (reader.state != Header ||
               (reader.mine && !reader.passing && reader.index == head_q && head_q < 4'd9 &&
                doing == Idle)));
      Linger_L :
      assert (doing == Linger ? head_q == '0 && reader.state == Offer :
              reader.state == Header || head_q == 4'd9);
      Left_L :
      assert (reader.state == Header || doing == Linger ||
              (reader.left == left_q && reader.spent == (left_q == '0)));
      LeftHeader_L :
      assert (reader.state != Header || head_q < 4'd8 || reader.left[7:0] == left_q[7:0]);
      Kind_L : assert ((head_q == '0 && doing != Linger) || reader.kind == kind_q);
      Seq_L :
      assert ((head_q < 4'd2 || reader.seq[7:0] == seq_q[7:0]) &&
              (head_q < 4'd3 || reader.seq == seq_q));
      Needs_L :
      assert (!settled || doing == Linger ||
              (reader.known == needs_i.known && reader.is_apply == needs_i.applies &&
               reader.has_arguments == (size != '0) &&
               (size == '0 || reader.last_argument == size - 4'd1)));
      Mine_L : assert (reader.mine == (reader.state inside {Header, Arguments}));
      Passing_L :
      assert (doing == Linger ? !reader.passing :
              reader.passing == (reader.state == Offer && left_q != '0));
      Fits_L :
      assert (reader.state != Decide || reader.fits == (needs_i.known &&
              (needs_i.open ? left_q >= 11'(needs_i.least) : left_q == 11'(size))));
      Start_L :
      assert (!(reader.state inside {Judge, Decide}) ||
              (reader.index == '0 && argument_q == '0 &&
               (size == '0 || reader.at_last == (size == 4'd1))));
      Arguments_L :
      assert (reader.state != Arguments ||
              (reader.status == OK && reader.index < size && argument_q == reader.index &&
               reader.at_last == (reader.index + 4'd1 == size) &&
               (needs_i.open ? left_q >= 11'(size - reader.index) + values :
                left_q == 11'(size - reader.index))));
      Fields_L :
      assert (reader.status != OK || (reader.state == Offer ? (same | ~whole_arguments) == '1 :
              reader.state != Arguments || (same | ~given) == '1));
      All_L :
      assert (reader.state != Offer || reader.status != OK || argument_q == size ||
              doing == Linger);
      Offer_L : assert (doing inside {Idle, Linger} || (reader.state == Offer && head_q == 4'd9));
      Spent_L :
      assert (reader.state != Offer || doing == Linger || reader.status != OK ||
              (needs_i.open ? doing != Idle || left_q >= values : left_q == '0));
      OK_L :
      assert (reader.state != Offer || doing == Linger || reader.status != OK || needs_i.known);
      Started_L :
      assert (started_q == (doing == Work || (doing == Discard && reader.status == OK) ||
                            (doing == Answer && reader.status == OK)));
      Answer_L : assert (doing != Answer || left_q == '0);
      Work_L : assert (doing != Work || reader.status == OK);
      Rate_L :
      assert (rate == retune_q && retune_q <= 2'd2 &&
              (doing == Linger ? rate_waits == (retune_q != '0) : retune_q == '0));
      Waiting_L :
      assert (!(doing inside {Work, Discard, Answer}) || !started_q || kind_q != BAUD ||
              rate_waits == good_rate);
      Retune_L : assert (retune_q == '0 || (good_rate && asked == reader.fields[15:0]));
      Bound_L : assert (stall_q <= bound);

      // --- The theorem --------------------------------------------------------------------------------
      Reads_A : assert (!byte_ready || head_q != 4'd9 || left_q != '0);
      Answer_A : assert (!answer_valid || (whole && answer.kind == kind_q && answer.seq == seq_q));
      Once_A :
      assert (!starts || (head_q == 4'd9 && !started_q && reader.status == OK && needs_i.known));
      Given_A : assert (!(starts || started_q) || (same | ~whole_arguments) == '1);
      CarriedOut_A : assert (!answer_valid || answer.status != OK || started_q);
      Refused_A : assert (!answer_valid || reader.status == OK || answer.status == reader.status);
      Counted_A : assert (u_commands.refused == refused_q);
      Rated_A :
      assert (!answer_valid || kind_q != BAUD || !started_q ||
              answer.status == (good_rate ? OK : OUT_OF_RANGE));
      Divisor_A : assert (u_commands.divisor == divisor_q && divisor_q >= LEAST_DIVISOR);
      Live_A : assert (stall_q < 4'd8);
    end
  end

endmodule
