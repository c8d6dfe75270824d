// SPDX-License-Identifier: Apache-2.0
// In a RUN of n steps, every agent makes exactly n: the steps granted by qs_agent_budget add up to n.
//
// Function    For each agent, from its first turn in a run on, its steps made, its credit and the steps not yet
//             granted add up to n in every clock. So the agent makes at most n steps. It stops when no steps are left
//             to grant and its credit is 0; by then, it has made n steps.
// Assumed     An agent makes a step only in its slot, and only if its last slot reported more steps. Power-up is the
//             only reset. Slots is 16, and there are so few agents that each reaches stage 11 before its rotation
//             ends.

module budget_proof
  import qs_agents_pkg::*;
#(
    parameter int unsigned Agents = 4
) (
    input logic clk_i,
    input logic rst_i,

    input logic        run_i,
    input logic [47:0] run_steps_i,
    input logic        row_stepped_i
);

  localparam int unsigned Slots = 16;

  logic [Slots-1:0][AgentBits-1:0] agent_i;
  logic [Slots-1:0] live_i;
  logic turn_i, clearing;
  qs_agent_slots #(
      .Agents(Agents),
      .Slots (Slots)
  ) u_slots (
      .agent_o(agent_i),
      .live_o(live_i),
      .turn_o(turn_i),
      .clearing_o(clearing),
      .*
  );

  logic begins_o, tree_more_o, left_o;
  qs_agent_budget #(
      .Agents(Agents)
  ) u_budget (
      .answer_agent_i(agent_i[AnswerStage]),
      .act_agent_i   (agent_i[ActStage]),
      .act_live_i    (live_i[ActStage]),
      .*
  );

  // The run: n, and the number of blocks of 32 steps that are left to grant.
  logic [47:0] steps_q;
  logic [42:0] left_q, rotated, pass;
  logic past_q = 1'b0;
  logic [4:0] age_q = '0;
  logic [3:0] slot;
  logic grants, settled;
  assign slot = u_slots.slot_q;
  assign grants = turn_i && u_budget.grants && !run_i;
  assign settled = age_q == 5'd16;

  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    if (!settled) age_q <= age_q + 1'b1;
    if (grants) left_q <= left_q - 1'b1;
    if (run_i) {steps_q, left_q} <= {run_steps_i, run_steps_i[47:5]};
    if (rst_i) begin
      steps_q <= '0;
      left_q  <= '0;
    end
  end

  // A pass rotates the register once; the bits below `place_q` are done.
  assign pass = 43'(u_budget.borrow_q) << u_budget.place_q;
  assign rotated = (u_budget.remaining_q << u_budget.place_q) |
      (u_budget.remaining_q >> (6'd43 - u_budget.place_q));

  logic [Agents-1:0] more_q = '0, steps;
  logic [Agents-1:0][5:0] at_hand_q;
  logic [Agents-1:0] begun_q = '0;

  for (genvar a = 0; a < Agents; a++) begin : gen_agent
    logic [47:0] made_q;
    logic s9, s10, s11, passed, granted;
    assign s9 = slot == 4'(a + 9);
    assign s10 = slot == 4'(a + 10);
    assign s11 = slot == 4'(a + 11);
    assign passed = slot > 4'(a + 9);
    assign granted = u_budget.grants_q && !passed;
    assign steps[a] = s9 && more_q[a] && settled;

    always_ff @(posedge clk_i) begin
      if (s9 && settled) begin
        made_q <= begins_o ? '0 : made_q + 48'(row_stepped_i);
        at_hand_q[a] <= begins_o ? {1'b0, u_budget.first_q} :
            (at_hand_q[a] - 6'(row_stepped_i)) | {u_budget.grants_q, 5'd0};
        begun_q[a] <= begun_q[a] || begins_o;
      end
      if (s11) more_q[a] <= tree_more_o && begun_q[a];
    end

    always_comb begin
      if (settled && begun_q[a]) begin
        if (s9) Read_L : assert (u_budget.row_budget == at_hand_q[a]);
        if (s10)
          Kept_L :
          assert (u_budget.act_budget_q == at_hand_q[a]);
          else Memory_L : assert (u_budget.u_budget.gen_memory.mem[a] == at_hand_q[a]);
        if (s11)
          More_L :
          assert (tree_more_o == (at_hand_q[a] != 0));
          else if (!s10) Flag_L : assert (more_q[a] == (at_hand_q[a] != 0));
        if (s11) Low_L : assert (u_budget.tree_low_q == !at_hand_q[a][5]);
        if (slot > 4'(a + 11)) AllLow_L : assert (!u_budget.low_q || !at_hand_q[a][5]);
        if (granted) Room_L : assert (!at_hand_q[a][5] && !begins_o);
        if (!u_budget.asked_q && !(begins_o && !passed)) begin
          Sum_L :
          assert (50'(steps_q) == 50'(made_q) + 50'(at_hand_q[a]) + 50'({left_q, 5'd0}) +
                  50'({granted, 5'd0}));
          End_A : assert (left_o || at_hand_q[a] != 0 || made_q == steps_q);
          NoMore_A : assert (made_q <= steps_q);
        end
        Run_C :
        cover (!left_o && !u_budget.asked_q && !begins_o && made_q == steps_q && made_q == 2);
      end
      if (!begun_q[a]) None_L : assert (!more_q[a]);
    end
  end

  for (genvar k = 0; k < Slots; k++) begin : gen_stage
    always_comb begin
      if (32'(age_q) >= k) begin
        Rotation_L :
        assert (live_i[k] == (32'(4'(slot - 4'(k))) < Agents) && agent_i[k] == 4'(slot - 4'(k)));
      end
    end
  end

  always_comb begin
    assume (rst_i == !past_q);
    assume (!row_stepped_i || steps != '0);
    Settled_L : assert (settled || (begun_q == '0 && age_q == 5'(slot)));
    Turn_L : assert (turn_i == (slot == 4'd15));
    Granted_C : cover (begun_q != 0 && u_budget.grants_q && left_q != 0);
    if (past_q) begin
      First_L : assert (u_budget.first_q == steps_q[4:0]);
      Place_L : assert (!u_budget.passes_q || u_budget.place_q < 43);
      Left_L :
      assert (left_q == (u_budget.passes_q ? rotated - pass : left_o ? u_budget.remaining_q : '0));
      IsLeft_L : assert (u_budget.passes_q ? left_o : left_o == (left_q != 0));
      Fresh_L : assert (!(u_budget.asked_q || begins_o) || left_q == steps_q[47:5]);
      OneOf_L : assert (!u_budget.grants_q || !begins_o);
      Some_L :
      assert (!u_budget.passes_q ||
              u_budget.some_q == ((u_budget.remaining_q >> (6'd43 - u_budget.place_q)) != 0));
      Borrow_L :
      assert (!u_budget.passes_q || !u_budget.borrow_q ||
              (u_budget.remaining_q << u_budget.place_q) != 0);
      Pass_L : assert (!u_budget.grants_q || (u_budget.passes_q && u_budget.place_q <= 6'(slot)));
    end
  end

endmodule
