// SPDX-License-Identifier: Apache-2.0
// The commands of a device with a lane answer each good frame once, and execute only requests that pass all checks.
//
// Function    The properties of commands_frames hold for each frame. Every byte of an APPLY goes to the record
//             decoder once, and every value of a REWARDS or LOAD goes to the table access once; no other bytes reach
//             them. APPLY is answered when the decoder is empty, with the decoder's verdict on the records. REWARDS,
//             LOAD and READ are checked first, with the arguments of the frame, and move values only if the verdict
//             is OK; READ moves them after its answer has started. CONFIGURE and NOISE change the lane's settings
//             only before the answer, and only if all values are in range. A refused request moves and sets nothing.
// Assumed     The assumptions of commands_frames. The record decoder (records_proof) is empty until it receives a
//             byte, and its verdict is stable while it is empty and receives none. The table access (access_proof) is
//             busy from the clock after a check or move, keeps the verdict of the last completed check, and accepts
//             all announced values. The device is quiet only if the access was idle in the previous clock.

module commands_lane_proof
  import commands_pkg::*;
(
    input logic clk,
    input logic rst,

    input logic bytes__valid,
    input logic [7:0] bytes__payload,
    input logic quiet,
    input logic line_break,
    input logic answers__ready,
    input logic records__bytes__ready,
    input logic records__busy,
    input logic records__partial,
    input logic records__illegal,
    input logic access__busy,
    input logic [2:0] access__verdict,
    input logic [10:0] access__data_bytes
);

  localparam logic [2:0] BAD_LENGTH = 3'd5;
  localparam logic [15:0] ONE = 16'd32768;  // alpha = 1
  localparam logic [7:0] CONFIGURE = 8'd2, NOISE = 8'd3, REWARDS = 8'd4, CLEAR = 8'd5, LOAD = 8'd6;
  localparam logic [7:0] READ = 8'd7, APPLY_CODED = 8'd8, APPLY_RAW = 8'd9, COUNTERS = 8'd11;

  typedef struct packed {
    logic [15:0] alpha;
    logic [15:0] kappa;
    logic [1:0]  rounding;
  } settings_t;

  logic [7:0] records__bytes__payload, access__values__payload;
  logic
      records__bytes__valid,
      records__start,
      records__coded,
      access__values__valid,
      access__check,
      access__move,
      counts,
      settings__noise_load;
  logic [1:0] access__task;
  logic [7:0] access__first_code, access__first_action;
  logic [15:0] access__first_state, access__count;
  logic [10:0] access__payload_bytes;
  logic [31:0] settings__noise_x, settings__noise_w;
  settings_t settings;
  commands_lane u_commands (
      .bytes__ready(),
      .answers__payload(),
      .answers__valid(),
      .session__epoch(),
      .session__expected(),
      .session__nonce(),
      .settings__alpha(settings.alpha),
      .settings__kappa(settings.kappa),
      .settings__rounding(settings.rounding),
      .count(counts),
      .divisor(),
      .asks_quiet(),
      .refused(),
      .busy(),
      .*
  );

  // --- The frame --------------------------------------------------------------------------------------
  logic past, takes, answers, answer_valid, starts, started, waits;
  logic [3:0] head, work_bound;
  logic [10:0] left;
  logic [7:0] kind;
  logic [MostArguments*8-1:0] arguments;
  answer_t answer;
  doing_e doing;
  needs_t needs;
  assign answer = u_frames.answer;
  assign answer_valid = u_frames.answer_valid;

  always_comb begin
    case (u_commands.fsm_state)
      3'd0: doing = Linger;
      3'd1: doing = Idle;
      default: doing = doing_e'(u_commands.fsm_state);
    endcase
  end

  // The fields of `needs`: {known, open, applies, size, least}
  always_comb begin
    needs = '0;
    case (kind)
      8'd1: needs = '{1'b1, 1'b0, 1'b0, 4'd4, 5'd0};
      CONFIGURE: needs = '{1'b1, 1'b0, 1'b0, 4'd5, 5'd0};
      NOISE: needs = '{1'b1, 1'b0, 1'b0, 4'd8, 5'd0};
      REWARDS: needs = '{1'b1, 1'b1, 1'b0, 4'd1, 5'd1};
      LOAD: needs = '{1'b1, 1'b1, 1'b0, 4'd3, 5'd4};
      READ: needs = '{1'b1, 1'b0, 1'b0, 4'd5, 5'd0};
      APPLY_CODED, APPLY_RAW: needs = '{1'b1, 1'b1, 1'b1, 4'd0, 5'd0};
      8'd12: needs = '{1'b1, 1'b0, 1'b0, 4'd2, 5'd0};
      CLEAR, 8'd10, COUNTERS: needs.known = 1'b1;
      default: ;
    endcase
  end

  commands_frames u_frames (
      .clk_i(clk),
      .rst_i(rst),
      .doing_i(doing),
      .needs_i(needs),
      .waits_i(waits),
      .work_bound_i(work_bound),
      .past_o(past),
      .takes_o(takes),
      .answers_o(answers),
      .starts_o(starts),
      .head_o(head),
      .left_o(left),
      .kind_o(kind),
      .started_o(started),
      .arguments_o(arguments)
  );

  // --- The record decoder and the table access --------------------------------------------------------
  logic applies, is_tables, moves_in, works, records_take;
  assign applies = kind inside {APPLY_CODED, APPLY_RAW};
  assign is_tables = kind inside {REWARDS, CLEAR, LOAD, READ};
  assign moves_in = kind inside {REWARDS, LOAD};
  assign works = doing == Work;
  assign records_take = records__bytes__valid && records__bytes__ready;
  assign waits = works && ((applies && (left != '0 ? !records__bytes__ready : records__busy)) ||
      (is_tables && access__busy));

  logic decoding_q, given_q, started_records_q, accessing_q, asked_q, checking_q;
  logic rests_q, reset_q;
  logic [1:0] state_q;
  logic [2:0] verdict_q;
  logic
      judged_q,
      moved_q,
      read_q;  // this request has been checked, has been moved, and, if a READ, answered
  logic [1:0] task_q, task_of_kind;
  logic [39:0] place_q;  // arguments of the task
  logic same_place;
  always_ff @(posedge clk) begin
    reset_q <= rst;
    decoding_q <= records__busy;
    given_q <= records_take;
    started_records_q <= records__start;
    state_q <= {records__partial, records__illegal};
    accessing_q <= access__busy;
    asked_q <= access__check || access__move;
    checking_q <= access__check || (checking_q && access__busy);
    verdict_q <= access__verdict;
    rests_q <= !access__busy && !access__check && !access__move && !(answers && kind == READ);
    judged_q <= !starts && (judged_q || access__check);
    moved_q <= !starts && (moved_q || access__move);
    read_q <= answers && kind == READ && answer.status == OK && !rst;
    if (starts && is_tables) begin
      place_q <= arguments[39:0];
      task_q  <= task_of_kind;
    end
  end
  assign task_of_kind = kind == REWARDS ? 2'd0 : kind == LOAD ? 2'd1 : kind == READ ? 2'd2 : 2'd3;
  always_comb begin
    case (task_q)
      2'd0: same_place = access__first_code == place_q[7:0];
      2'd1: same_place = {access__first_action, access__first_state} == place_q[23:0];
      2'd2: same_place = {access__count, access__first_action, access__first_state} == place_q;
      default: same_place = 1'b1;
    endcase
  end
  always_comb begin
    assume (!records__busy || (!reset_q && (decoding_q || given_q)));
    assume (decoding_q || given_q || started_records_q || reset_q ||
            {records__partial, records__illegal} == state_q);
    assume (access__busy || !asked_q || reset_q);
    assume (!access__busy || (!reset_q && (asked_q || accessing_q)));
    assume (access__busy || !accessing_q || !(works && moves_in && moved_q) || left == '0);
    assume (checking_q || reset_q || access__verdict == verdict_q);
    assume (!quiet || rests_q);
  end

  // --- Settings ---------------------------------------------------------------------------------------
  settings_t settings_q, asked;
  logic in_range, loaded_q;
  assign asked = '{arguments[15:0], arguments[31:16], arguments[33:32]};
  assign in_range = kind == NOISE ? arguments[31:0] != '0 :
      asked.alpha <= ONE && asked.kappa <= asked.alpha && arguments[39:32] <= 8'd2;
  always_ff @(posedge clk) begin
    settings_q <= rst ? '0 : settings;
    loaded_q   <= !starts && (loaded_q || settings__noise_load);
  end

  // --- For the induction ------------------------------------------------------------------------------
  logic [1:0] handler;
  logic compared, sets, goes_on;
  assign handler = u_commands.tables.fsm_state;
  assign compared = u_commands.settings.request__busy;
  assign sets = kind inside {CONFIGURE, NOISE};
  assign goes_on = doing inside {Work, Discard, Answer};
  always_comb begin
    work_bound = 4'd3;
    if (sets && !compared) work_bound = 4'd4;
    if (is_tables) begin
      case (handler)
        2'd0: work_bound = 4'd1;
        2'd1: work_bound = access__check ? 4'd3 : access__busy ? 4'd4 : 4'd0;
        2'd2: work_bound = access__move ? 4'd3 : 4'd4;
        default: work_bound = 4'd0;
      endcase
    end
  end

  // Clocks since power-up. Each cover is tried only in the clock in which it is reached if nothing has to wait.
  logic [6:0] clock_q = '0;
  always_ff @(posedge clk) clock_q <= clock_q + 1'b1;

  always_comb begin
    if (past) begin
      State_L : assert (u_commands.fsm_state <= 3'd4);
      Discarding_L : assert (u_commands.discarding == (doing == Discard));
      Running_L :
      assert (u_commands.apply.running ? works && applies : !works || !applies || left == '0);
      Discards_L : assert (doing != Discard || !started || !moves_in || access__verdict != OK);
      Passed_L : assert (doing != Discard || !started || !applies || left == '0);
      Empty_L : assert (!records__busy || (works && applies));
      Handler_L : assert (handler == '0 || (works && is_tables));
      Moving_L : assert (u_commands.tables.moving == (handler == 2'd3));
      Check_L : assert (!access__check || (handler == 2'd1 && !judged_q && !moved_q));
      Move_L : assert (!access__move || (handler == 2'd2 && !moved_q) || read_q);
      Judges_L :
      assert (handler == '0 || (task_q == 2'd3 ? kind == CLEAR && handler != 2'd1 && !judged_q :
              kind != CLEAR && judged_q == !access__check));
      Moves_L :
      assert (!started || !is_tables || (handler == 2'd2 ? moved_q == !access__move :
              handler == 2'd3 ? moved_q : handler == 2'd1 ? !moved_q : 1'b1));
      Read_L : assert (!(started && kind == READ) || (!moved_q && !(handler inside {2'd2, 2'd3})));
      Checking_L : assert (!checking_q || (handler == 2'd1 && !access__check) || reset_q);
      Verdict_L :
      assert (!(handler inside {2'd2, 2'd3}) || task_q == 2'd3 || access__verdict == OK);
      Rested_L :
      assert (!(u_frames.reader.state inside {Arguments, Offer}) || applies || handler != '0 ||
              (!access__busy && !access__check && !access__move));
      Free_L : assert (handler != '0 || !(access__busy || access__move) || task_q == 2'd2);
      Task_L :
      assert (!((started && is_tables) || access__check || access__move || access__busy) ||
              (access__task == task_q && same_place));
      TaskOf_L : assert (!(started && is_tables) || task_q == task_of_kind);
      Done_L :
      assert (!(goes_on && started && is_tables && handler == '0) ||
              (kind == CLEAR ? moved_q : judged_q &&
               moved_q == (kind != READ && access__verdict == OK)));
      Compared_L : assert (!compared || (works && sets));
      InRange_L :
      assert (!(goes_on && started && sets) || compared ||
              (u_commands.settings.request__status == OK) == in_range);

      Set_L :
      assert (!(doing inside {Discard, Answer} && started && sets) ||
              (kind == NOISE ? loaded_q == in_range : !in_range || settings == asked));

      // Bytes reach the right destination.
      Records_A :
      assert (records_take == (takes && head == 4'd9 && started && applies) &&
              (!records_take || records__bytes__payload == bytes__payload));
      Value_A :
      assert (access__values__valid == (takes && started && moves_in && judged_q &&
                                        access__verdict == OK) &&
              (!access__values__valid || (access__values__payload == bytes__payload && moved_q)));
      // APPLY.
      Begin_A : assert (records__start == (starts && applies) && (!starts || !records__busy));
      Coded_A : assert (!(started && applies) || records__coded == (kind == APPLY_CODED));
      Applied_A :
      assert (!(answer_valid && started && applies) ||
              (!records__busy &&
               answer.status == (records__illegal ? OUT_OF_RANGE : records__partial ? BAD_LENGTH :
                                 OK)));
      // REWARDS, CLEAR, LOAD, READ.
      Asked_A :
      assert (!(access__check || access__move || access__busy) ||
              (access__task == task_q && same_place));
      Apart_A : assert (!(access__check || access__move) || !access__busy);
      Check_A :
      assert (!access__check ||
              (started && is_tables && kind != CLEAR && !judged_q &&
               access__payload_bytes == left));
      Move_A :
      assert (!access__move || (!moved_q && (kind == READ ? read_q :
              started && is_tables && (kind == CLEAR || (judged_q && access__verdict == OK)))));
      Read_A : assert (!read_q || access__move);
      Judged_A :
      assert (!(answer_valid && started && is_tables) ||
              (!access__busy && answer.status == (kind == CLEAR ? OK : access__verdict) &&
               (answer.status != OK || moved_q == (kind != READ)) &&
               (kind != READ || answer.status != OK ||
                answer.data_bytes == 16'(access__data_bytes))));
      // CONFIGURE, NOISE, COUNTERS.
      Set_A :
      assert (!(answer_valid && started && sets) ||
              (answer.status == (in_range ? OK : OUT_OF_RANGE) &&
               (kind == NOISE ? loaded_q == in_range : !in_range || settings == asked)));
      Kept_A :
      assert (settings == settings_q ||
              (started && kind == CONFIGURE && in_range && settings == asked));
      Legal_A :
      assert (settings.alpha <= ONE && settings.kappa <= settings.alpha &&
              settings.rounding <= 2'd2);
      Noise_A :
      assert (!settings__noise_load || (started && kind == NOISE && in_range && !loaded_q &&
                              {settings__noise_w, settings__noise_x} == arguments[63:0]));
      Counts_A : assert (counts == (starts && kind == COUNTERS));
    end
    Applied_C : cover (clock_q == 7'd33 && answers && answer.status == OK && kind == APPLY_RAW);
    Set_C : cover (clock_q == 7'd38 && answers && answer.status == OK && kind == CONFIGURE);
    Loaded_C : cover (clock_q == 7'd42 && answers && answer.status == OK && kind == LOAD);
    Refused_C :
    cover (clock_q == 7'd41 && answers && started && answer.status == OUT_OF_RANGE && kind == READ);
  end

endmodule
