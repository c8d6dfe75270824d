// SPDX-License-Identifier: Apache-2.0
// Agents that share a table learn as if they acted one after another.
//
// Function    The proof follows one entry of the table in an arbitrary plane, and counts the turns due to write it
//             and the turns that have written it. A slot that acts reads its row in stage RowStage and its own entry
//             in stage entry_read_stage. By then, all older turns have written the values it reads, and no younger
//             turn has. Turns go to agents 0, 1, 2, 0, ..., each agent has at most one turn at a time, and a RUN of n
//             steps that is not stopped ends after n rounds. SARSA has the same stages as Q-learning.
// Assumed     A slot writes its state-action pair in stage write_stage, like qs_agent_write. Power-up is the only
//             reset. Runs start, and turns restart at agent 0, only when no turn is pending. A slot whose world is
//             late makes no step.

module order_proof
  import qs_agents_pkg::*;
#(
    parameter int unsigned Agents = 16,
    parameter int unsigned Algorithm = 0,
    parameter int unsigned Planes = 1,
    localparam int unsigned States = 4,
    localparam int unsigned Actions = 2,
    localparam int unsigned Slots = slots(Actions, Algorithm, Planes),
    localparam int unsigned Write = write_stage(Actions, Algorithm, Planes),
    localparam int unsigned Entry = entry_read_stage(Actions, Algorithm, Planes),
    localparam int unsigned PlaneBits = $clog2(Planes),
    localparam int unsigned RowBits = $clog2(States),
    localparam int unsigned StateBits = Planes * RowBits,
    localparam int unsigned ActionBits = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,

    input logic        run_i,
    input logic [47:0] run_steps_i,
    input logic        stop_i,
    input logic        restarts_i,

    input logic    [ StateBits-1:0] row_x_i,
    input logic    [ StateBits-1:0] row_state_i,
    input logic    [ActionBits-1:0] row_action_i,
    input result_t                  act_result_i
);

  logic [Slots-1:0][AgentBits-1:0] agent_i;
  logic [Slots-1:0] live_i;
  logic turn, clearing;
  qs_agent_slots #(
      .Agents(Agents),
      .Slots (Slots)
  ) u_slots (
      .agent_o(agent_i),
      .live_o(live_i),
      .turn_o(turn),
      .clearing_o(clearing),
      .*
  );

  logic acts_o, tree_more_o, left_o;
  logic [31:0] holds_o;
  qs_agent_order #(
      .States   (States),
      .Actions  (Actions),
      .Agents   (Agents),
      .Algorithm(Algorithm),
      .Planes   (Planes)
  ) u_order (
      .act_agent_i (agent_i[ActStage]),
      .act_live_i  (live_i[ActStage]),
      .tree_agent_i(agent_i[TreeStage]),
      .*
  );

  // --- The entry: pending and completed writes ----------------------------------------------------------
  logic past_q = 1'b0;
  logic [PlaneBits:0] chosen_plane;
  logic [RowBits-1:0] chosen_row;
  logic [ActionBits-1:0] chosen_action;
  logic row_row, row_pair, act_row_q, act_pair_q, act_over, act_writes;
  logic [Write+1:11] pending_q;  // last bit: the write is complete
  logic [4:0] due_q, written_q, act_read_q;
  logic [4:0] quiet_q;  // clocks since the last turn ended

  // The row of the chosen plane in a state word.
  function automatic logic [RowBits-1:0] row_of(logic [StateBits-1:0] state);
    return RowBits'(state >> (32'(chosen_plane) * RowBits));
  endfunction

  assign row_row = row_of(row_x_i) == chosen_row;
  assign row_pair = row_of(row_state_i) == chosen_row && row_action_i == chosen_action;
  assign act_over = acts_o &&
      ((act_result_i.step && !act_result_i.truncated) || act_result_i.finish);
  assign act_writes = act_over && act_pair_q;

  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    {chosen_plane, chosen_row, chosen_action} <= {chosen_plane, chosen_row, chosen_action};
    {act_row_q, act_pair_q} <= {row_row, row_pair};
    pending_q <= {pending_q[Write:11], act_writes};
    act_read_q <= written_q;  // the writes visible to a read in stage 9
    quiet_q <= act_over ? '0 : quiet_q + 5'(quiet_q != '1);
    due_q <= due_q + 5'(act_writes);
    written_q <= written_q + 5'(pending_q[Write]);
    if (rst_i) begin
      {pending_q, due_q, written_q, act_read_q} <= '0;
      quiet_q <= '1;
    end
  end

  function automatic logic [4:0] pending(int unsigned stage);  // writes of slots in later stages
    pending = '0;
    for (int unsigned k = 11; k <= Write; k++) pending += 5'(k > stage && pending_q[k]);
  endfunction

  for (genvar k = 11; k <= Write + 1; k++) begin : gen_pending
    always_comb begin
      if (past_q) begin
        if (k <= Write)
          Pair_L :
          assert (pending_q[k] == (u_order.writes_q[k] && row_of(
              u_order.state_q[k]
          ) == chosen_row && u_order.action_q[k] == chosen_action));
          else Wrote_L : assert (!pending_q[k] || u_order.writes_q[k]);
        Row_L : assert (!(pending_q[k] && act_row_q) || u_order.hits_q[k]);
        Entry_L :
        assert (!(pending_q[k] && act_pair_q) || k > u_order.EntryReach + 1 || u_order.hits_q[k]);
        Quiet_L : assert (!u_order.writes_q[k] || 32'(quiet_q) <= k - 11);
      end
    end
  end

  // --- A slot's own entry, which it reads in stage 9 or later -------------------------------------------
  logic own;
  logic [4:0] wanted, seen;
  if (Entry > 10) begin : gen_later
    logic [Entry:11] own_q;
    logic [Entry:11][4:0] wanted_q;

    always_ff @(posedge clk_i) begin
      own_q <= {own_q[Entry-1:11], acts_o && act_pair_q};
      wanted_q <= {wanted_q[Entry-1:11], due_q};
      if (rst_i) own_q <= '0;
    end

    for (genvar k = 11; k <= Entry; k++) begin : gen_stage
      always_comb begin
        if (past_q && own_q[k]) begin
          Wanted_L : assert (wanted_q[k] == written_q + pending(k));
          None_L : assert (pending_q[Write+k-Entry:k+1] == '0);
        end
      end
    end

    assign own = own_q[Entry];
    assign wanted = wanted_q[Entry];
    assign seen = written_q;
  end else begin : gen_now
    assign own = acts_o && act_pair_q;
    assign wanted = due_q;
    assign seen = Entry == 9 ? act_read_q : written_q;
  end

  // --- Turns --------------------------------------------------------------------------------------------
  logic [AgentBits-1:0] whose_q;
  logic [47:0] rounds_q, asked_q;
  logic round, ended_q, stopped_q, fresh_q;

  assign round = act_over && 32'(whose_q) == Agents - 1;

  always_ff @(posedge clk_i) begin
    if (act_over) whose_q <= 32'(whose_q) == Agents - 1 ? '0 : whose_q + 1'b1;
    if (restarts_i) whose_q <= '0;
    ended_q <= round;
    if (round) rounds_q <= rounds_q + 1'b1;
    stopped_q <= stopped_q || stop_i;
    fresh_q   <= run_i;
    if (run_i) begin
      {rounds_q, asked_q} <= {48'd0, run_steps_i};
      stopped_q <= 1'b0;
    end
    if (rst_i) begin
      {whose_q, rounds_q, asked_q}  <= '0;
      {ended_q, stopped_q, fresh_q} <= '0;
    end
  end

  always_comb begin
    assume (rst_i == !past_q);
    assume (32'(chosen_plane) < Planes);
    assume (!(run_i || restarts_i) || (u_order.turns_q == '0 && !left_o));
    assume (!act_result_i.late || !(act_result_i.step || act_result_i.finish));

    if (past_q) begin
      Due_L : assert (due_q == written_q + pending(10));
      Read_L : assert (written_q == act_read_q + 5'(pending_q[Write+1]));
      Place_L :
      assert (act_pair_q == (row_of(
          u_order.state_q[10]
      ) == chosen_row && u_order.action_q[10] == chosen_action));
      Whose_L : assert (whose_q == u_order.next_q && 32'(whose_q) < Agents);
      Stopped_L : assert (stopped_q || !u_order.stopping_q);
      Ended_L : assert (!ended_q || whose_q == '0);
      Left_L : assert (left_o == (u_order.turns_q != '0 && !fresh_q));
      Two_L : assert (u_order.two_q == (u_order.turns_q > 48'd1 && !fresh_q));
      Three_L :
      assert (u_order.three_q == (u_order.turns_q > (ended_q ? 48'd1 : 48'd2) && !fresh_q));
      Sum_L : assert (stopped_q || 49'(rounds_q) + 49'(u_order.turns_q) == 49'(asked_q));

      Row_A : assert (!(acts_o && act_row_q) || act_read_q == due_q);
      Entry_A : assert (!own || seen == wanted);
      Turn_A : assert (!act_over || (live_i[10] && agent_i[10] == whose_q));
      Once_A : assert (!u_order.mine || !u_order.waits || 32'(quiet_q) < Slots);
      NoMore_A : assert (stopped_q || rounds_q <= asked_q);
      End_A : assert (stopped_q || left_o || fresh_q || rounds_q == asked_q);

      Held_C : cover (u_order.mine && u_order.waits && act_row_q && act_read_q != due_q);
      Row_C : cover (acts_o && act_row_q && due_q == 5'd2);
      Entry_C : cover (own && wanted == 5'd2);
      Run_C : cover (!left_o && !fresh_q && !stopped_q && rounds_q == 48'd2);
    end
  end

endmodule
