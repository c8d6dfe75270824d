// SPDX-License-Identifier: Apache-2.0
// A learner with several planes: executes choose and learn requests, and answers each choose request.
//
// Function    A plane is a table of Rows rows and Actions actions. A choose request gives one row per plane; its
//             answer is an action and its value (qs_planes_choice). A learn request updates each plane's entry by its
//             own error (qs_plane_update) or, with SharedError, all entries by the error of their sum
//             (qs_planes_increment). Requests take effect in order of acceptance; of two requests accepted in the same
//             clock, the choose request is first. Every answer and entry is the same as if the requests were executed
//             one at a time. Golden model: qstep.golden.planes.
// Timing      One choose and one learn request per clock, except during holds. An answer is valid answer_stage + 2
//             clocks after its request is accepted, unless earlier answers are pending. The ready outputs do not
//             depend on data; learn_ready_o depends on choose_valid_i.
// Handshake   A request or an answer is transferred when its valid and ready are both 1. While a choose request waits
//             for room for its answer, no learn request is accepted, to keep their order.
// Reset       Drops requests in flight and answers. During the next Rows * Actions clocks all entries are set to
//             Start and nothing is ready.
// Hazards     A choose request reads after all earlier results are written. Results still in flight are forwarded to
//             learn requests. A learn request is held if it needs the result of a request less than min_distance clocks
//             ahead, or if the choose request of the same clock reads a row that it writes. holds_o counts these clocks
//             and wraps.
// Invariants  CoefficientsInRange_A, ChosenInRange_A, LearntInRange_A
// Resources   Two multipliers per plane and one for the reward, or two in all with SharedError; three copies of each
//             table.
// Reference   R. Bera et al., "Pythia: a customizable hardware prefetching framework using online reinforcement
//             learning", MICRO 2021.

`include "qs_assert.svh"

module qs_planes
  import qs_planes_pkg::*;
#(
    parameter int unsigned Groups = 2,  // 1..16; 1 with SharedError
    parameter int unsigned Planes = 3,  // of each group; 1..16 in all
    parameter int unsigned Rows = 128,  // 2..65536
    parameter int unsigned Actions = 15,  // 2..64
    parameter int unsigned Width = 16,  // 8..32
    parameter int unsigned CoeffFraction = 15,  // 15..24
    parameter bit SharedError = 0,
    parameter bit Floor = 0,  // action 0 unless a value is above 0
    parameter int signed Start = 0,  // initial value of all entries, a value of the format
    localparam int unsigned Tables = Groups * Planes,
    localparam int unsigned RowBits = $clog2(Rows),
    localparam int unsigned ActionBits = $clog2(Actions),
    localparam int unsigned SumBits = Width + $clog2(Planes),
    localparam int unsigned CoeffBits = qs_pkg::CoeffBits
) (
    input logic clk_i,
    input logic rst_i,

    // Constant while requests are in flight.
    input logic [CoeffBits-1:0] alpha_i,  // up to 2^CoeffFraction
    input logic [CoeffBits-1:0] kappa_i,  // up to alpha_i
    input logic [16:0] threshold_i,  // a 16-bit draw below it explores; 0..65536
    input logic [63:0] word_i,  // generator word before its first draw; loaded on reset; not 0

    input logic choose_valid_i,
    output logic choose_ready_o,
    input logic [Tables-1:0][RowBits-1:0] choose_rows_i,
    input logic choose_explore_i,  // 1: explore with choose_action_i; 0: as drawn
    input logic [ActionBits-1:0] choose_action_i,

    output logic                         answer_valid_o,
    input  logic                         answer_ready_i,
    output logic        [ActionBits-1:0] answer_action_o,
    output logic signed [   SumBits-1:0] answer_value_o,
    output logic                         answer_explored_o,

    input  logic                               learn_valid_i,
    output logic                               learn_ready_o,
    input  logic [    Tables-1:0][RowBits-1:0] learn_rows_i,
    input  logic [ActionBits-1:0]              learn_action_i,
    input  logic [     Width-1:0]              learn_reward_i,
    input  logic [    Tables-1:0][RowBits-1:0] learn_next_rows_i,
    input  logic [ActionBits-1:0]              learn_next_action_i,
    input  logic                               learn_terminated_i,

    output logic [31:0] holds_o
);

  localparam int unsigned Write = write_stage(SharedError, Planes);
  localparam int unsigned Distance = min_distance(SharedError, Planes);
  localparam int unsigned Answer = answer_stage(SharedError, Groups, Planes, Actions);
  localparam int unsigned HoldBits = $clog2(Distance);
  localparam int unsigned Answers = 2 ** $clog2(
      Answer + 3
  );  // enough for one choose request per clock
  localparam int unsigned AccBits = Width + CoeffFraction + 1;
  localparam int unsigned IncrementBits = SumBits + 3;

  if (Groups < 1 || Planes < 1 || Tables > 16) begin : gen_bad_planes
    $fatal(1, "qs_planes: Groups * Planes is %0d * %0d, legal is 1..16", Groups, Planes);
  end
  if (Rows < 2 || Rows > 65536 || Rows != 2 ** RowBits) begin : gen_bad_rows
    $fatal(1, "qs_planes: Rows is %0d, legal is a power of two from 2 to 65536", Rows);
  end
  if (Actions < 2 || Actions > 64) begin : gen_bad_actions
    $fatal(1, "qs_planes: Actions is %0d, legal is 2..64", Actions);
  end
  if (Width < 8 || Width > 32) begin : gen_bad_width
    $fatal(1, "qs_planes: Width is %0d, legal is 8..32", Width);
  end
  if (CoeffFraction < 15 || CoeffFraction > 24) begin : gen_bad_fraction
    $fatal(1, "qs_planes: CoeffFraction is %0d, legal is 15..24", CoeffFraction);
  end
  if (SharedError && Groups != 1) begin : gen_bad_error
    $fatal(1, "qs_planes: Groups is %0d, with SharedError legal is 1", Groups);
  end
  if (64'(Start) >>> (Width - 1) != 0 && 64'(Start) >>> (Width - 1) != -1) begin : gen_bad_start
    $fatal(1, "qs_planes: Start is %0d, legal is a value of %0d bits", Start, Width);
  end

  typedef struct packed {
    logic [Tables-1:0][RowBits-1:0] rows;
    logic [ActionBits-1:0]          action;
    logic signed [Width-1:0]        reward;
    logic [Tables-1:0][RowBits-1:0] next_rows;
    logic [ActionBits-1:0]          next_action;
    logic                           terminated;
  } learn_t;

  typedef struct packed {
    logic [Tables-1:0][RowBits-1:0] rows;
    logic                           explore;
    logic [ActionBits-1:0]          action;
  } choose_t;

  // --- Acceptance: stage 0, its holds, and room for answers ----------------------------------------------
  learn_t learn, learn_q;
  choose_t choose_q;
  logic clearing_q, free, room, choose_accept, learn_accept, choose_valid_q, learn_valid_q, issue;
  logic [HoldBits-1:0] hold, hold_q;
  logic [31:0] holds_q;
  logic [$clog2(Answers):0] pending_q;  // choose requests with a pending answer
  logic [Tables-1:0][Distance-2:0] depends;
  logic [Distance-2:0] ahead_entry, ahead_next, waits;
  logic [Tables-1:0] collides;
  logic [Write+1:1] valid_q;
  logic [Write+1:1][ActionBits-1:0] action_q;
  logic [ActionBits-1:0] next_action_q;

  assign learn = '{
          rows: learn_rows_i,
          action: learn_action_i,
          reward: learn_reward_i,
          next_rows: learn_next_rows_i,
          next_action: learn_next_action_i,
          terminated: learn_terminated_i
      };
  assign issue = learn_valid_q && hold_q == '0;
  assign free = !clearing_q && (!learn_valid_q || hold_q == '0);
  assign room = !pending_q[$clog2(Answers)];
  assign choose_ready_o = free && room;
  assign learn_ready_o = free && (room || !choose_valid_i);
  assign holds_o = holds_q;
  assign choose_accept = choose_valid_i && choose_ready_o;
  assign learn_accept = learn_valid_i && learn_ready_o;

  // The request in stage k is k + 1 clocks ahead of a new request.
  for (genvar k = 0; k < Distance - 1; k++) begin : gen_ahead
    logic valid;
    logic [ActionBits-1:0] action;
    if (k == 0) begin : gen_request
      assign valid  = learn_valid_q;
      assign action = learn_q.action;
    end else begin : gen_stage
      assign valid  = valid_q[k];
      assign action = action_q[k];
    end
    assign ahead_entry[k] = valid && action == learn.action;
    assign ahead_next[k]  = valid && action == learn.next_action;
  end

  always_comb begin
    waits = '0;
    for (int unsigned t = 0; t < Tables; t++) waits |= depends[t];
    hold = HoldBits'(choose_accept && |collides);
    for (int unsigned k = Distance - 1; k > 0; k--) begin
      if (waits[k-1]) hold = HoldBits'(Distance - k);
    end
  end

  always_ff @(posedge clk_i) begin
    if (learn_accept) learn_q <= learn;
    if (choose_accept) choose_q <= '{choose_rows_i, choose_explore_i, choose_action_i};
    choose_valid_q <= choose_accept;
    if (free) learn_valid_q <= learn_accept;
    if (learn_accept) hold_q <= hold;
    else if (hold_q != '0) hold_q <= hold_q - 1'b1;
    pending_q <= pending_q + ($clog2(
        Answers
    ) + 1)'(choose_accept) - ($clog2(
        Answers
    ) + 1)'(answer_valid_o && answer_ready_i);
    holds_q <= holds_q + 32'(hold_q != '0);
    if (rst_i) begin
      {choose_valid_q, learn_valid_q} <= '0;
      hold_q <= '0;
      pending_q <= '0;
      holds_q <= '0;
    end
  end

  // --- Clear --------------------------------------------------------------------------------------------
  logic [RowBits-1:0] clear_row_q;
  logic [ActionBits-1:0] clear_action_q;

  always_ff @(posedge clk_i) begin
    if (clearing_q) begin
      clear_row_q <= clear_row_q + 1'b1;
      if (&clear_row_q) begin
        clear_action_q <= clear_action_q + 1'b1;
        if (clear_action_q == ActionBits'(Actions - 1)) clearing_q <= 1'b0;
      end
    end
    if (rst_i) begin
      clearing_q <= 1'b1;
      clear_row_q <= '0;
      clear_action_q <= '0;
    end
  end

  // --- Learn: stages of a request -----------------------------------------------------------------------
  logic signed [Width-1:0] reward_q;
  logic [CoeffBits-1:0] alpha_q, match_kappa_q, take_kappa_q, kappa_q;
  logic [3:0] match_entry, match_next;

  always_ff @(posedge clk_i) begin
    valid_q  <= {valid_q[Write:1], issue};
    action_q <= {action_q[Write:1], learn_q.action};
    if (clearing_q) action_q[Write] <= clear_action_q;
    next_action_q <= learn_q.next_action;
    reward_q <= learn_q.reward;
    alpha_q <= alpha_i;
    match_kappa_q <= learn_q.terminated ? '0 : kappa_i;
    take_kappa_q <= match_kappa_q;
    kappa_q <= take_kappa_q;
    if (clearing_q) valid_q[Write] <= 1'b1;
    if (rst_i) valid_q <= '0;
  end

  for (genvar j = 0; j < 4; j++) begin : gen_match
    localparam int unsigned Stage = MatchStage + (j == 0 ? 2 : Write - 3 + j);
    assign match_entry[j] = valid_q[Stage] && action_q[Stage] == action_q[MatchStage];
    assign match_next[j]  = valid_q[Stage] && action_q[Stage] == next_action_q;
  end

  // --- Choose: stages of a request ----------------------------------------------------------------------
  logic [Tables-1:0][RowBits-1:0] choose_rows;
  logic decide, explore, answer_put;
  logic [ActionBits-1:0] decide_action, explore_action;
  logic [Answer:1] choosing_q;  // bit k: a choose request is in stage k

  qs_delay #(
      .Width(Tables * RowBits),
      .Depth(Write)
  ) u_choose_rows (
      .clk_i,
      .data_i(choose_q.rows),
      .data_o(choose_rows)
  );

  qs_planes_explore #(
      .Actions(Actions)
  ) u_explore (
      .clk_i,
      .rst_i,
      .word_i,
      .threshold_i,
      .valid_i  (choose_valid_q),
      .explore_i(choose_q.explore),
      .action_i (choose_q.action),
      .explore_o(decide),
      .action_o (decide_action)
  );

  qs_delay #(
      .Width(1 + ActionBits),
      .Depth(Write + 2 - ExploreStages)
  ) u_decided (
      .clk_i,
      .data_i({decide, decide_action}),
      .data_o({explore, explore_action})
  );

  always_ff @(posedge clk_i) begin
    choosing_q <= {choosing_q[Answer-1:1], choose_valid_q};
    if (rst_i) choosing_q <= '0;
  end
  assign answer_put = choosing_q[Answer];

  // --- Planes -------------------------------------------------------------------------------------------
  logic [Tables-1:0][Actions-1:0][Width-1:0] rows;
  logic [Tables-1:0][Width-1:0] entries, nexts, values;
  logic [Tables-1:0] entries_newest, nexts_newest;

  for (genvar t = 0; t < Tables; t++) begin : gen_plane
    qs_plane #(
        .Rows    (Rows),
        .Actions (Actions),
        .Width   (Width),
        .Write   (Write),
        .Distance(Distance),
        .Newest  (!SharedError)
    ) u_plane (
        .clk_i,
        .new_choose_row_i(choose_rows_i[t]),
        .new_row_i       (learn.rows[t]),
        .new_next_row_i  (learn.next_rows[t]),
        .ahead_entry_i   (ahead_entry),
        .ahead_next_i    (ahead_next),
        .depends_o       (depends[t]),
        .collides_o      (collides[t]),
        .row_i           (learn_q.rows[t]),
        .action_i        (learn_q.action),
        .next_row_i      (learn_q.next_rows[t]),
        .next_action_i   (learn_q.next_action),
        .match_entry_i   (match_entry),
        .match_next_i    (match_next),
        .entry_o         (entries[t]),
        .entry_newest_o  (entries_newest[t]),
        .next_o          (nexts[t]),
        .next_newest_o   (nexts_newest[t]),
        .clear_i         (clearing_q),
        .clear_row_i     (clear_row_q),
        .write_i         (valid_q[Write]),
        .write_action_i  (action_q[Write]),
        .value_i         (values[t]),
        .choose_row_i    (choose_rows[t]),
        .choose_values_o (rows[t])
    );
  end

  // --- Update -------------------------------------------------------------------------------------------
  if (SharedError) begin : gen_shared
    logic signed [IncrementBits-1:0] increment;
    logic signed [Width-1:0] reward;

    qs_delay #(
        .Width(Width),
        .Depth(OperandStage - MatchStage)
    ) u_reward (
        .clk_i,
        .data_i(reward_q),
        .data_o(reward)
    );

    qs_planes_increment #(
        .Planes       (Tables),
        .Width        (Width),
        .CoeffFraction(CoeffFraction)
    ) u_increment (
        .clk_i,
        .entries_i  (entries),
        .nexts_i    (nexts),
        .reward_i   (reward),
        .alpha_i    (alpha_q),
        .kappa_i    (kappa_q),
        .increment_o(increment)
    );

    for (genvar t = 0; t < Tables; t++) begin : gen_sum
      logic [Width-1:0] entry;
      logic signed [IncrementBits:0] total;
      logic fits;

      qs_delay #(
          .Width(Width),
          .Depth(Write - 1 - OperandStage)
      ) u_entry (
          .clk_i,
          .data_i(entries[t]),
          .data_o(entry)
      );
      assign total = (IncrementBits + 1)'(increment) + (IncrementBits + 1)'($signed(entry));
      assign fits  = total[IncrementBits:Width-1] == '0 || &total[IncrementBits:Width-1];
      always_ff @(posedge clk_i) begin
        values[t] <= fits ? total[Width-1:0] :
            {total[IncrementBits], {(Width - 1) {!total[IncrementBits]}}};
        if (clearing_q) values[t] <= Width'(Start);
      end
    end

    logic unused_newest;
    assign unused_newest = ^{entries_newest, nexts_newest};
  end else begin : gen_own
    // The bias, and the 1 that turns a product's complement into its negative.
    localparam logic [AccBits-1:0] BIAS = (AccBits'(1) << (CoeffFraction - 1)) + 1'b1;
    logic signed [AccBits-1:0] product_q, reward_step_q;

    always_ff @(posedge clk_i) begin
      product_q <= AccBits'($signed({1'b0, alpha_q})) * AccBits'(reward_q);
      reward_step_q <= product_q + $signed(BIAS);
    end

    for (genvar t = 0; t < Tables; t++) begin : gen_update
      qs_plane_update #(
          .Width        (Width),
          .CoeffFraction(CoeffFraction),
          .Start        (Start)
      ) u_update (
          .clk_i,
          .clear_i       (clearing_q),
          .entry_i       (entries[t]),
          .entry_newest_i(entries_newest[t]),
          .next_i        (nexts[t]),
          .next_newest_i (nexts_newest[t]),
          .alpha_i       (alpha_q),
          .kappa_i       (kappa_q),
          .reward_i      (reward_step_q),
          .value_o       (values[t])
      );
    end
  end

  // --- Answers ------------------------------------------------------------------------------------------
  logic [ActionBits-1:0] action;
  logic signed [SumBits-1:0] value;
  logic explored, answer_room;

  qs_planes_choice #(
      .Groups (Groups),
      .Planes (Planes),
      .Actions(Actions),
      .Width  (Width),
      .Floor  (Floor)
  ) u_choice (
      .clk_i,
      .rst_i,
      .values_i        (rows),
      .explore_i       (explore),
      .explore_action_i(explore_action),
      .action_o        (action),
      .value_o         (value),
      .explored_o      (explored)
  );

  qs_bus_fifo #(
      .Width(ActionBits + SumBits + 1),
      .Depth(Answers)
  ) u_answers (
      .clk_i,
      .rst_i,
      .put_i  (answer_put),
      .data_i ({action, value, explored}),
      .room_o (answer_room),
      .valid_o(answer_valid_o),
      .data_o ({answer_action_o, answer_value_o, answer_explored_o}),
      .take_i (answer_valid_o && answer_ready_i)
  );

  logic unused_bits;
  assign unused_bits = ^{answer_room, choosing_q, valid_q, action_q};

  // --- Assertions ---------------------------------------------------------------------------------------
  `QS_ASSERT(CoefficientsInRange_A, 32'(alpha_i) <= 32'd1 << CoeffFraction && kappa_i <= alpha_i)
  `QS_ASSERT(ChosenInRange_A, !choose_accept || !choose_explore_i || 32'(choose_action_i) < Actions)
  `QS_ASSERT(LearntInRange_A,
             !learn_accept || (32'(learn.action) < Actions && 32'(learn.next_action) < Actions))

endmodule
