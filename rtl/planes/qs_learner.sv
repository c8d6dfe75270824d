// SPDX-License-Identifier: Apache-2.0
// A learner for microarchitecture: feature hash, planes, and an evaluation queue for delayed rewards.
//
// Function    A choose request gives one feature word per group; plane t of a group uses the row that the word hashes
//             to with constant t (qs_feature_hash). The answer also returns these rows, so that they can be inserted
//             into the queue with the action (qs_evaluation_queue). qs_planes learns from the entries that the queue
//             evicts. Golden model: PlanesConfig.rows_of, PlanesModel and EvaluationQueue in qstep.
// Timing      One choose request, one insert, and one demand or fill per clock, except during holds. An answer is
//             valid HashStages clocks later than in qs_planes.
// Handshake   As in qs_planes and qs_evaluation_queue. Choose and learn requests are ordered separately: a choice
//             includes the updates that reached qs_planes before it.
// Reset       Empties the pipeline and the queues. The tables are cleared during the next Rows * Actions clocks.
// Hazards     none of its own
// Invariants  none of its own
// Resources   docs/learner.md
// Reference   R. Bera et al., "Pythia: a customizable hardware prefetching framework using online reinforcement
//             learning", MICRO 2021.

module qs_learner
  import qs_planes_pkg::*;
#(
    parameter int unsigned Groups = 2,  // 1..16; 1 with SharedError
    parameter int unsigned Planes = 3,  // of each group; 1..16 in all
    parameter int unsigned Rows = 128,  // a power of two, 2..65536
    parameter int unsigned Actions = 15,  // 2..64
    parameter int unsigned Width = 16,  // 8..32
    parameter int unsigned CoeffFraction = 15,  // 15..24
    parameter bit SharedError = 0,
    parameter bit Floor = 0,
    parameter int signed Start = 0,  // a value of the format
    parameter logic [Planes-1:0][31:0] Constants = '0,
    parameter int unsigned Entries = 256,  // a power of two, 2..1024
    parameter int unsigned KeyBits = 20,  // 1..64
    localparam int unsigned Tables = Groups * Planes,
    localparam int unsigned RowBits = $clog2(Rows),
    localparam int unsigned ActionBits = $clog2(Actions),
    localparam int unsigned SumBits = Width + $clog2(Planes),
    localparam int unsigned CoeffBits = qs_pkg::CoeffBits
) (
    input logic clk_i,
    input logic rst_i,

    input logic [CoeffBits-1:0] alpha_i,
    input logic [CoeffBits-1:0] kappa_i,
    input logic [16:0] threshold_i,
    input logic [63:0] word_i,
    input logic [1:0][2:0][Width-1:0] rewards_i,
    input logic set_i,

    input  logic                        choose_valid_i,
    output logic                        choose_ready_o,
    input  logic [    Groups-1:0][63:0] choose_words_i,
    input  logic                        choose_explore_i,
    input  logic [ActionBits-1:0]       choose_action_i,

    output logic                                      answer_valid_o,
    input  logic                                      answer_ready_i,
    output logic        [ActionBits-1:0]              answer_action_o,
    output logic signed [   SumBits-1:0]              answer_value_o,
    output logic                                      answer_explored_o,
    output logic        [    Tables-1:0][RowBits-1:0] answer_rows_o,

    input  logic               demand_valid_i,
    output logic               demand_ready_o,
    input  logic [KeyBits-1:0] demand_key_i,

    input  logic               fill_valid_i,
    output logic               fill_ready_o,
    input  logic [KeyBits-1:0] fill_key_i,

    input  logic                               insert_valid_i,
    output logic                               insert_ready_o,
    input  logic [   KeyBits-1:0]              insert_key_i,
    input  logic [    Tables-1:0][RowBits-1:0] insert_rows_i,
    input  logic [ActionBits-1:0]              insert_action_i,
    input  logic                               insert_rewarded_i,
    input  logic [     Width-1:0]              insert_reward_i,

    output logic [31:0] unknown_o,
    output logic [31:0] queue_holds_o,
    output logic [31:0] holds_o
);

  typedef struct packed {
    logic [Tables-1:0][RowBits-1:0] rows;
    logic [ActionBits-1:0]          action;
  } payload_t;

  // --- Hash ---------------------------------------------------------------------------------------------
  logic [HashStages-1:0] hashing_q;
  logic [HashStages-1:0][ActionBits:0] explore_q;
  logic advance, hashed, choose_ready;
  logic [Tables-1:0][RowBits-1:0] rows;

  assign hashed = hashing_q[HashStages-1];
  assign advance = !hashed || choose_ready;
  assign choose_ready_o = advance;

  always_ff @(posedge clk_i) begin
    if (advance) begin
      hashing_q <= {hashing_q[HashStages-2:0], choose_valid_i};
      explore_q <= {explore_q[HashStages-2:0], {choose_explore_i, choose_action_i}};
    end
    if (rst_i) hashing_q <= '0;
  end

  for (genvar t = 0; t < Tables; t++) begin : gen_hash
    qs_feature_hash #(
        .RowBits (RowBits),
        .Constant(Constants[t%Planes])
    ) u_hash (
        .clk_i,
        .enable_i(advance),
        .word_i  (choose_words_i[t/Planes]),
        .row_o   (rows[t])
    );
  end

  // --- Learn --------------------------------------------------------------------------------------------
  logic learn_valid, learn_ready;
  payload_t learn, learn_next;
  logic [Width-1:0] learn_reward;

  qs_planes #(
      .Groups       (Groups),
      .Planes       (Planes),
      .Rows         (Rows),
      .Actions      (Actions),
      .Width        (Width),
      .CoeffFraction(CoeffFraction),
      .SharedError  (SharedError),
      .Floor        (Floor),
      .Start        (Start)
  ) u_planes (
      .choose_valid_i     (hashed),
      .choose_ready_o     (choose_ready),
      .choose_rows_i      (rows),
      .choose_explore_i   (explore_q[HashStages-1][ActionBits]),
      .choose_action_i    (explore_q[HashStages-1][ActionBits-1:0]),
      .learn_valid_i      (learn_valid),
      .learn_ready_o      (learn_ready),
      .learn_rows_i       (learn.rows),
      .learn_action_i     (learn.action),
      .learn_reward_i     (learn_reward),
      .learn_next_rows_i  (learn_next.rows),
      .learn_next_action_i(learn_next.action),
      .learn_terminated_i (1'b0),
      .*
  );

  // Rows of the choose requests with a pending answer.
  logic rows_room, rows_valid;
  qs_bus_fifo #(
      .Width(Tables * RowBits),
      .Depth(answers(SharedError, Groups, Planes, Actions))
  ) u_rows (
      .clk_i,
      .rst_i,
      .put_i  (hashed && choose_ready),
      .data_i (rows),
      .room_o (rows_room),
      .valid_o(rows_valid),
      .data_o (answer_rows_o),
      .take_i (answer_valid_o && answer_ready_i)
  );

  // --- Reward -------------------------------------------------------------------------------------------
  qs_evaluation_queue #(
      .Entries    (Entries),
      .KeyBits    (KeyBits),
      .PayloadBits($bits(payload_t)),
      .Width      (Width)
  ) u_queue (
      .insert_payload_i    ({insert_rows_i, insert_action_i}),
      .learn_valid_o       (learn_valid),
      .learn_ready_i       (learn_ready),
      .learn_payload_o     (learn),
      .learn_reward_o      (learn_reward),
      .learn_next_payload_o(learn_next),
      .holds_o             (queue_holds_o),
      .*
  );

  logic unused_bits;
  assign unused_bits = ^{rows_room, rows_valid};

endmodule
