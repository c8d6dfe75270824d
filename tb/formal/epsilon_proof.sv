// SPDX-License-Identifier: Apache-2.0
// qs_epsilon follows the model's schedule for each agent, whatever the other agents do.
//
// Function    The agent is any of 16. The reference finishes each step before starting the next. It increments the
//             count at the end of a unit (a step or an episode). At the end of a period, it resets the count to 0 and
//             sets epsilon to max(end, epsilon - decrement - (shift ? epsilon >> shift : 0)). Each slot of the agent
//             reads the epsilon and count written by its previous slots or by a load.
// Assumed     The agent's settings, epsilon and count are loaded before it steps, and it does not step during a load,
//             because the device refuses loads with BUSY while agents step. Values are in the ranges of
//             docs/acting.md. Slots rotate (`slots`).

module epsilon_proof
  import qs_agents_pkg::*;
(
    input logic clk_i,
    input logic rst_i,

    input access_t access_i,
    input logic token_i,  // the slot of an access starts
    input logic row_stepped_i,
    input logic row_ended_i,
    input logic acts_i
);

  localparam int unsigned Slots = 16;
  localparam logic [EpsilonBits-1:0] ONE = 1 << 24;

  // --- Slots ------------------------------------------------------------------------------------------
  logic [AgentBits-1:0] slot_q = '0, chosen, stage;
  logic [Slots-1:0][AgentBits-1:0] agent_i;
  logic [11:1] token_q = '0;
  logic [11:0] token;
  always_ff @(posedge clk_i) begin
    slot_q  <= slot_q + 1'b1;
    chosen  <= chosen;
    token_q <= token[10:0];
  end
  for (genvar k = 0; k < Slots; k++) begin : gen_stage
    assign agent_i[k] = slot_q - AgentBits'(k);
  end
  assign stage = slot_q - chosen;
  assign token = {token_q, token_i};

  logic [EpsilonBits-1:0] request_epsilon_o;
  logic [EpisodeBits-1:0] row_count_o;
  qs_epsilon u_epsilon (
      .mix_agent_i    (agent_i[MixStage]),
      .fetch_agent_i  (agent_i[FetchStage]),
      .policy_agent_i (agent_i[PolicyStage]),
      .count_agent_i  (agent_i[CountStage]),
      .answer_agent_i (agent_i[AnswerStage]),
      .act_agent_i    (agent_i[ActStage]),
      .tree_agent_i   (agent_i[TreeStage]),
      .set_i          (access_i.set[3:1]),
      .set_agent_i    (access_i.agent),
      .data_i         (access_i.data),
      .load_epsilon_i (access_i.load[2]),
      .load_count_i   (access_i.load[3]),
      .advance_token_i(token[AdvanceStage]),
      .count_token_i  (token[CountStage]),
      .act_token_i    (token[ActStage]),
      .tree_token_i   (token[TreeStage]),
      .*
  );

  // --- The reference ----------------------------------------------------------------------------------
  logic by_episodes_q, unit_q = 1'b0, due_q = 1'b0;
  logic [EpsilonBits-1:0] end_q, decrement_q, epsilon_q, lowered;
  logic [3:0] shift_q;
  logic [EpisodeBits-1:0] last_q, count_q;
  logic [EpsilonBits-1:0] kept, kept_q;  // epsilon at a period's end, after the shift
  logic [EpsilonBits:0] left;
  logic [5:1] known_q = '0;  // settings 1 to 3, epsilon and count have been loaded
  logic fresh_q = 1'b0;  // the slot has read complete settings, still unchanged
  logic mine, steps;
  assign mine = access_i.agent == chosen;
  assign steps = stage == 4'd9 && row_stepped_i;

  assign kept = epsilon_q - (shift_q == '0 ? '0 : epsilon_q >> shift_q);
  assign left = {1'b0, kept_q} - {1'b0, decrement_q};
  assign lowered = left[EpsilonBits] || left[EpsilonBits-1:0] < end_q ? end_q :
      left[EpsilonBits-1:0];

  always_ff @(posedge clk_i) begin
    if (stage == 4'd3) fresh_q <= known_q == '1;
    if (mine && access_i.set[3:1] != '0) fresh_q <= 1'b0;
    if (mine && access_i.set[1]) begin
      {by_episodes_q, end_q} <= access_i.data[EpsilonBits:0];
      known_q[1] <= 1'b1;
    end
    if (mine && access_i.set[2]) begin
      {shift_q, decrement_q} <= access_i.data[EpsilonBits+3:0];
      known_q[2] <= 1'b1;
    end
    if (mine && access_i.set[3]) begin
      last_q <= access_i.data[EpisodeBits-1:0];
      known_q[3] <= 1'b1;
    end

    if (stage == 4'd9) kept_q <= kept;
    unit_q <= steps && (row_ended_i || !by_episodes_q);
    due_q  <= unit_q && acts_i && count_q == last_q;
    if (unit_q && acts_i) count_q <= count_q == last_q ? '0 : count_q + 1'b1;
    if (due_q) epsilon_q <= lowered;
    if (mine && token[10] && access_i.load[3]) begin
      count_q <= access_i.data[31-:EpisodeBits];
      known_q[5] <= 1'b1;
    end
    if (mine && token[11] && access_i.load[2]) begin
      epsilon_q  <= access_i.data[EpsilonBits-1:0];
      known_q[4] <= 1'b1;
    end
  end

  // --- Assumed ----------------------------------------------------------------------------------------
  access_t access_q;
  logic carries_q = 1'b0;
  logic [1:0] age_q = '0;  // clocks since power-up
  always_ff @(posedge clk_i) begin
    if (age_q != '1) age_q <= age_q + 1'b1;
    access_q  <= access_i;
    carries_q <= token[10:0] != '0;
  end
  always_comb begin
    assume (!carries_q || (access_i == access_q && !token_i));
    assume (!token_i || agent_i[0] == access_i.agent);
    assume ($onehot0({access_i.set, access_i.load}));
    assume (access_i.set == '0 || token == '0);
    assume (!steps || (fresh_q && !(mine && token[9])));
    assume (!(mine && access_i.set != '0) || (!steps && !unit_q && !due_q));
    assume (!(access_i.set[1] || access_i.load[2]) || access_i.data[EpsilonBits-1:0] <= ONE);
    assume (!access_i.set[2] ||
            (access_i.data[EpsilonBits-1:0] <= ONE && access_i.data[EpsilonBits+:4] <= 4'd12));
  end

  // --- For the induction: the slot in each stage ------------------------------------------------------
  logic loads;  // the agent's epsilon is being loaded
  assign loads = mine && access_i.load[2];

  // (1 - 2^-n) times a part of epsilon, times 2^12.
  function automatic logic [37:0] part(logic [EpsilonBits-1:0] value, int unsigned n);
    return (38'(value) << 12) - (n == 0 ? '0 : 38'(value) << (12 - n));
  endfunction

  for (genvar n = 0; n <= 12; n++) begin : gen_shift
    localparam logic [12:0] Keep = 13'd4096 - (n == 0 ? 13'd0 : 13'd4096 >> n);
    always_comb begin
      if (fresh_q && 32'(shift_q) == n) begin
        if (stage == 4'd5) Keep_L : assert (u_epsilon.request_keep_q == Keep);
        if (stage == 4'd6) Keep6_L : assert (u_epsilon.policy_keep_q == Keep);
        if (stage == 4'd7) begin
          Low_L : assert (38'(u_epsilon.count_low_q) == part(EpsilonBits'(epsilon_q[15:0]), n));
          High_L : assert (38'(u_epsilon.count_high_q) == part(EpsilonBits'(epsilon_q[24:16]), n));
        end
        if (stage == 4'd8) begin
          Low8_L : assert (38'(u_epsilon.answer_low_q) == part(EpsilonBits'(epsilon_q[15:0]), n));
          High8_L :
          assert (38'(u_epsilon.answer_high_q) == part(EpsilonBits'(epsilon_q[24:16]), n));
        end
        if (stage == 4'd9)
          Kept_L : assert (u_epsilon.row_kept_q == epsilon_q - (n == 0 ? '0 : epsilon_q >> n));
      end
    end
  end

  always_comb begin
    if (known_q[1]) begin
      End_L :
      assert (u_epsilon.u_end.mem[{1'b0, chosen}] == {by_episodes_q, end_q} && end_q <= ONE);
    end
    if (known_q[2]) begin
      Decrement_L : assert (u_epsilon.u_decrement.mem[chosen] == decrement_q && decrement_q <= ONE);
      Shift_L : assert (u_epsilon.u_shift.gen_memory.mem[chosen] == shift_q && shift_q <= 4'd12);
    end
    if (known_q[3]) Period_L : assert (u_epsilon.u_period.gen_memory.mem[chosen] == last_q);
    if (known_q[4]) Epsilon_L : assert (u_epsilon.u_epsilon.gen_memory.mem[chosen] == epsilon_q);
    if (known_q[5]) Count_L : assert (u_epsilon.u_count.gen_memory.mem[chosen] == count_q);

    Token_L : assert ($onehot0(token_q) && carries_q == (token_q != '0));
    Stage_L : assert (token_q == '0 || !mine || (stage != '0 && stage <= 4'd11 && token_q[stage]));
    Mine_L : assert (token_q == '0 || mine || stage == '0 || stage > 4'd11 || !token_q[stage]);
    Unit_L :
    assert ((!unit_q || (stage == 4'd10 && fresh_q)) && (!due_q || (stage == 4'd11 && fresh_q)));
    Fresh_L : assert (!fresh_q || known_q == '1);
    Age_L :
    assert ((age_q == '1 || (token_q[11:3] == '0 && known_q[5:4] == '0)) &&
            (age_q >= 2'd2 || !token_q[2]) && (age_q != '0 || !token_q[1]));
    KeptRange_L : assert (!fresh_q || !(stage inside {4'd10, 4'd11}) || kept_q <= ONE);

    // A loaded epsilon replaces the end value.
    if (loads && token_q != '0 && stage > 4'd2) begin
      Loaded_L : assert (u_epsilon.u_end.mem[{1'b1, chosen}] == access_i.data[EpsilonBits:0]);
      if (stage == 4'd8) Loaded8_L : assert (u_epsilon.u_end.ram_q == access_i.data[EpsilonBits:0]);
      if (stage == 4'd9) Loaded9_L : assert (u_epsilon.row_end == access_i.data[EpsilonBits-1:0]);
      if (stage == 4'd10)
        Loaded10_L : assert (u_epsilon.act_end_q == access_i.data[EpsilonBits-1:0]);
      if (stage == 4'd11)
        Loaded11_L :
        assert (u_epsilon.tree_end_q == access_i.data[EpsilonBits-1:0] && u_epsilon.tree_less_q);
    end
    if (fresh_q) begin
      case (stage)
        4'd4: Shift4_L : assert (u_epsilon.fetch_shift == shift_q);
        4'd5: Epsilon5_L : assert (request_epsilon_o == epsilon_q);
        4'd6: Parts_L : assert ({u_epsilon.policy_high_q, u_epsilon.policy_low_q} == epsilon_q);
        4'd7: Decrement7_L : assert (u_epsilon.u_decrement.ram_q == decrement_q);
        4'd8: begin
          Decrement8_L : assert (u_epsilon.answer_decrement == decrement_q);
          End8_L :
          assert ((loads && token_q != '0) || u_epsilon.u_end.ram_q == {by_episodes_q, end_q});
        end
        4'd9: begin
          Decrement9_L : assert (u_epsilon.row_decrement_q == decrement_q);
          End9_L :
          assert ((loads && token_q != '0) ||
                  {u_epsilon.row_by_episodes, u_epsilon.row_end} == {by_episodes_q, end_q});
          Kept9_L : assert (u_epsilon.row_kept_q == kept);
          Count9_L : assert (row_count_o == count_q && u_epsilon.row_last_count == last_q);
        end
        4'd10: begin
          Left_L : assert (u_epsilon.act_left_q == left);
          End10_L : assert ((loads && token_q != '0) || u_epsilon.act_end_q == end_q);
          Count10_L :
          assert (u_epsilon.act_count_q == count_q + 1'b1 &&
                  (u_epsilon.act_same_q == '1) == (count_q == last_q));
        end
        4'd11: begin
          Lowered_L : assert ((loads && token_q != '0) || u_epsilon.tree_epsilon == lowered);
        end
        default: ;
      endcase
    end
    if (stage == 4'd10 && age_q >= 2'd1) Unit10_L : assert (u_epsilon.act_unit_q == unit_q);
    if (stage == 4'd11 && age_q >= 2'd2) Due_L : assert (u_epsilon.tree_due_q == due_q);

    // --- The theorem ----------------------------------------------------------------------------------
    Range_A : assert (!known_q[4] || epsilon_q <= ONE);
    Epsilon_A : assert (!known_q[4] || stage != 4'd5 || request_epsilon_o == epsilon_q);
    Count_A : assert (!known_q[5] || stage != 4'd9 || row_count_o == count_q);

    Lowered_C :
    cover (due_q && shift_q == 4'd2 && last_q == 16'd1 && lowered > end_q && by_episodes_q);
    End_C : cover (due_q && lowered == end_q && epsilon_q != end_q);
  end

endmodule
