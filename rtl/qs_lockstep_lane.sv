// SPDX-License-Identifier: Apache-2.0
// A lane of nine agents that act in a world and learn, with the control that all lanes share.
//
// Function    In one slot an agent makes one whole step of docs/acting.md: Q-learning, a world with one outcome and
//             one start state, four actions, values of 8 bits. A slot that makes no step reads the agent's
//             row again and keeps place and action, so that the value beside them is that of the table.
// Timing      One slot in every clock; docs/lockstep.md has the table of stages.
// Handshake   See access_t. value_o is in stage 9, of the slot's state and action; place_o in stage 1.
// Reset       none: control comes from outside, memories keep their contents.
// Hazards     none: an agent's row is read a clock after its last write.
// Invariants  none
// Resources   9 block RAMs, 2 multipliers and a single-port RAM of an iCE40 UP5K.
// Reference   Watkins and Dayan, "Q-learning", Machine Learning 8 (1992).

module qs_lockstep_lane
  import qs_lockstep_pkg::*;
#(
    parameter int unsigned Rounding = 0  // qs_pkg::rounding_e, not stochastic
) (
    input logic clk_i,

    input control_t  control_i,
    input settings_t settings_i,
    input access_t   access_i,

    output place_t              place_o,
    output choice_t             choice_o,  // stage 1
    output logic    [Width-1:0] value_o,
    output logic    [     15:0] bits_o,

    // Small counts: read from the cleared half if fresh_*_i is 1; what is written, in stages 5 and 13.
    input logic fresh_return_i,  // stage 3
    input logic fresh_counts_i,  // stage 11
    output logic signed [ReturnBits-1:0] return_o,
    output logic [1:0][CountBits-1:0] counts_o  // terminations, saturations
);

  // --- Stages 0 to 4: where the agent is, and what the world answers ---------------------------------
  (* ram_style = "block", no_rw_check *) place_t places[2**AgentBits];
  (* ram_style = "huge" *) outcome_t outcomes[1<<14];
  logic [StateBits-1:0] s2_state_q, s3_state_q, s4_state_q, s4_x_q;
  choice_t s2_choice_q, s3_choice_q, s4_choice_q, s5_choice_q;
  choice_t s9_choice_q, s10_choice_q;
  logic [8:6] explored_q;
  outcome_t s3_outcome_q;
  logic [13:0] s2_pair;

  // After a slot without a step the choice is the stored one.
  assign choice_o = control_i.moves[10] ? s10_choice_q : place_o.last;
  assign s2_pair  = 14'({s2_choice_q.action, s2_state_q});

  always_ff @(posedge clk_i) begin
    place_o <= places[control_i.agent[0]];
    if (!access_i.keep) places[control_i.agent[4]] <= '{s4_x_q, s4_state_q, s4_choice_q};

    s2_state_q  <= access_i.set ? access_i.state : place_o.state;
    s3_state_q  <= s2_state_q;
    s4_state_q  <= s3_state_q;
    s2_choice_q <= access_i.set ? access_i.choice : choice_o;
    s3_choice_q <= s2_choice_q;
    s4_choice_q <= s3_choice_q;
    s5_choice_q <= s4_choice_q;
    explored_q  <= {explored_q[7:6], s5_choice_q.explored};
  end

  always_ff @(posedge clk_i) begin
    if (access_i.set_world) outcomes[s2_pair] <= access_i.outcome;
    else s3_outcome_q <= outcomes[s2_pair];
  end

  logic signed [Width-1:0] s4_reward_q, s5_reward_q;
  logic [12:4] terminated_q;

  always_ff @(posedge clk_i) begin
    s4_x_q <= control_i.steps[3] ? s3_outcome_q.next_state : s3_state_q;
    s4_reward_q <= control_i.steps[3] ? s3_outcome_q.reward : '0;
    s5_reward_q <= s4_reward_q;
    terminated_q <= {terminated_q[11:4], control_i.steps[3] && s3_outcome_q.terminated};
  end

  // --- Stages 1 to 6: the draw ------------------------------------------------------------------------
  logic [AgentBits-1:0] s1_agent, s3_agent;
  logic [ActionBits-1:0] s5_random, s6_pick_q, s7_pick_q, s8_pick_q;
  logic s6_explores, s7_picks_q, s8_picks_q, s8_explores_q, s7_explores_q;

  assign s1_agent = access_i.holds ? access_i.agent : control_i.agent[1];
  assign s3_agent = access_i.holds ? access_i.agent : control_i.agent[3];

  qs_lockstep_draw u_draw (
      .clk_i,
      .s1_agent_i     (s1_agent),
      .s3_agent_i     (s3_agent),
      .s3_advance_i   (control_i.moves[3]),
      .turn_i         (access_i.turn),
      .bits_i         (access_i.bits),
      .not_threshold_i(settings_i.not_threshold),
      .bits_o,
      .s5_action_o    (s5_random),
      .s6_explores_o  (s6_explores)
  );

  // --- Stages 4 to 9: row of x, next action, its value, target ----------------------------------------
  (* no_rw_check *) logic [Actions-1:0][Width-1:0] table_q[1<<RowBits];
  logic [Actions-1:0][Width-1:0] s5_row_q;
  logic [Actions-1:0] s12_write_q;
  logic [RowBits-1:0] s12_row_q;
  logic [Width-1:0] s12_value_q;

  always_ff @(posedge clk_i) begin
    s5_row_q <= table_q[row_of(control_i.agent[4], s4_x_q)];
    for (int unsigned a = 0; a < Actions; a++) begin
      if (s12_write_q[a]) table_q[s12_row_q][a] <= a % 2 == 0 ? ~s12_value_q : s12_value_q;
    end
  end

  logic signed [Width-1:0] s8_maximum, s8_target;
  logic [Width-1:0] s8_picked, s9_value_q, s10_value_q, s11_value_q, s12_next_q;
  logic [ActionBits-1:0] s8_greedy;

  qs_lockstep_choice u_choice (
      .clk_i,
      .row_i    (s5_row_q),
      .pick_i   (s6_pick_q),
      .maximum_o(s8_maximum),
      .greedy_o (s8_greedy),
      .picked_o (s8_picked)
  );

  assign s8_target = terminated_q[8] ? '0 : s8_maximum;
  assign value_o   = s9_value_q;

  always_ff @(posedge clk_i) begin
    s6_pick_q <= control_i.moves[5] ? s5_random : s5_choice_q.action;
    s7_pick_q <= s6_pick_q;
    s8_pick_q <= s7_pick_q;
    s7_explores_q <= s6_explores;
    s8_explores_q <= s7_explores_q;
    s7_picks_q <= s6_explores || !control_i.moves[6];
    s8_picks_q <= s7_picks_q;
    s9_value_q <= s8_picks_q ? s8_picked : s8_maximum;
    s9_choice_q.action <= s8_picks_q ? s8_pick_q : s8_greedy;
    s9_choice_q.explored <= control_i.moves[8] ? s8_explores_q : explored_q[8];
    s10_choice_q <= s9_choice_q;
    s10_value_q <= s9_value_q;
    s11_value_q <= s10_value_q;
    s12_next_q <= s11_value_q;
  end

  // --- Stages 6 to 12: the update ---------------------------------------------------------------------
  localparam logic [qs_pkg::CoeffFraction-1:0] BIAS =
      Rounding == 32'(qs_pkg::RoundNearest) ? qs_pkg::HALF : '0;

  // Q[s, a] of the next step, which is in stages 4 to 7; as its complement while it goes to a carry chain.
  logic signed [Width-1:0] not_entry_q [13:15];
  logic signed [Width-1:0] s16_entry_q;
  logic signed [  Width:0] s6_delta_q;
  logic signed [31:0] s9_sum, s11_sum;
  logic [Width:0] s11_rounded;
  logic [1:0] s12_same_q;
  logic s12_saturated_q;
  logic [StateBits-1:0] s11_state_q;
  logic [ActionBits-1:0] s11_action_q;

  typedef qs_pkg::saturating#(.Width(Width)) saturating;

  assign s11_rounded = s11_sum[qs_pkg::CoeffFraction+:Width+1];

  qs_lockstep_mac u_step (
      .clk_i,
      .factor_i     (16'(s6_delta_q)),
      .coefficient_i(settings_i.alpha),
      .addend_i     (32'($signed({s16_entry_q, BIAS}))),
      .sum_o        (s9_sum)
  );

  qs_lockstep_mac u_next (
      .clk_i,
      .factor_i     (16'(s8_target)),
      .coefficient_i(settings_i.kappa),
      .addend_i     (s9_sum),
      .sum_o        (s11_sum)
  );

  // An agent that stays where it is and does the same again goes on with the value that is written now. The
  // compare has two parts, each two LUTs deep.
  always_ff @(posedge clk_i) begin
    s12_same_q[0] <= s2_state_q[3:0] == s11_state_q[3:0];
    s12_same_q[1] <= s2_state_q[4] == s11_state_q[4] && s2_choice_q.action == s11_action_q &&
        control_i.steps[11];
    not_entry_q[13] <= &s12_same_q ? ~s12_value_q : ~s12_next_q;
    for (int n = 14; n <= 15; n++) not_entry_q[n] <= not_entry_q[n-1];
    s16_entry_q <= ~not_entry_q[15];
    s6_delta_q  <= (Width + 1)'(s5_reward_q) - (Width + 1)'($signed(~not_entry_q[14]));
  end

  logic s2_set_value_q;

  always_ff @(posedge clk_i) begin
    s11_state_q <= access_i.set_value ? access_i.state : place_o.last_state;
    s11_action_q <= access_i.set_value ? access_i.choice.action : place_o.last.action;
    s2_set_value_q <= access_i.set_value;
    s12_row_q <= row_of(control_i.agent[2], s11_state_q);
    for (int unsigned a = 0; a < Actions; a++) begin
      s12_write_q[a] <= s11_action_q == ActionBits'(a) && (control_i.steps[11] || s2_set_value_q);
    end
    s12_value_q <= s2_set_value_q ? access_i.value : saturating::value(s11_rounded);
    s12_saturated_q <= control_i.steps[11] && saturating::overflows(s11_rounded);
  end

  // --- Small counts ------------------------------------------------------------------------------------
  (* ram_style = "block", no_rw_check *) logic [ReturnBits-1:0] returns[2**(AgentBits+1)];
  (* ram_style = "block", no_rw_check *) logic [2*CountBits-1:0] counts[2**(AgentBits+1)];
  logic [ReturnBits-1:0] s4_return_q;
  logic [1:0][CountBits-1:0] s12_counts_q;
  logic [AgentBits-1:0] s5_agent_q;

  initial for (int n = 0; n < 2 ** (AgentBits + 1); n++) {returns[n], counts[n]} = '0;

  always_ff @(posedge clk_i) begin
    s5_agent_q <= control_i.agent[4];
    s4_return_q <= returns[{fresh_return_i, control_i.agent[3]}];
    return_o <= s4_return_q + ReturnBits'(s4_reward_q);
    returns[{1'b0, s5_agent_q}] <= return_o;
    s12_counts_q <= counts[{fresh_counts_i, control_i.agent[2]}];
    counts_o[0] <= s12_counts_q[0] + CountBits'(terminated_q[12]);
    counts_o[1] <= s12_counts_q[1] + CountBits'(s12_saturated_q);
    counts[{1'b0, control_i.agent[4]}] <= counts_o;
  end

  logic unused_bits;
  assign unused_bits = ^{s11_sum[31:24], s11_sum[14:0], control_i};

endmodule
