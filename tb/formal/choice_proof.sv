// SPDX-License-Identifier: Apache-2.0
// qs_agent_choice picks the given action or else the lowest greedy one, and computes the algorithm's target.
//
// Function    The reference applies the definitions of qstep.golden.agents to a delay line of rows: the next action,
//             its value in each table, and the target m. With several planes, a value is the exact sum of the planes'
//             values, computed by adder trees in the first stages.
// Assumed     A given action is in range; power-up is a reset.

module choice_proof
  import qs_agents_pkg::*;
#(
    parameter  int unsigned Actions    = 3,
    parameter  int unsigned Width      = 16,
    parameter  int unsigned Algorithm  = 0,
    parameter  int unsigned Planes     = 1,
    localparam int unsigned ActionBits = $clog2(Actions),
    localparam int unsigned Tables     = Algorithm == DoubleQLearning ? 2 : 1,
    localparam int unsigned SumStages  = sum_stages(Planes),
    localparam int unsigned SumBits    = Width + SumStages
) (
    input logic clk_i,
    input logic rst_i,

    input logic [       Tables-1:0][Planes-1:0][Actions-1:0][Width-1:0] rows_i,
    input logic                                                         pick_i,
    input logic [   ActionBits-1:0]                                     pick_action_i,
    input logic                                                         number_i,
    input logic [ThresholdBits-1:0]                                     threshold_i
);

  localparam int unsigned Select = select_stage(Actions, Algorithm, Planes) - TreeStage;
  localparam int unsigned Target = target_stage(Actions, Algorithm, Planes) - TreeStage;

  logic [Tables-1:0][Actions-1:0][SumBits-1:0] sums;
  logic pick, number;
  logic [ActionBits-1:0] pick_action;
  for (genvar t = 0; t < Tables; t++) begin : gen_sums
    for (genvar a = 0; a < Actions; a++) begin : gen_sum
      logic [Planes-1:0][Width-1:0] weights;
      for (genvar p = 0; p < Planes; p++) begin : gen_weight
        assign weights[p] = rows_i[t][p][a];
      end
      qs_sum_tree #(
          .Terms(Planes),
          .Width(Width)
      ) u_sum (
          .clk_i,
          .terms_i(weights),
          .sum_o  (sums[t][a])
      );
    end
  end
  qs_delay #(
      .Width(2 + ActionBits),
      .Depth(SumStages)
  ) u_pick (
      .clk_i,
      .data_i({pick_i, number_i, pick_action_i}),
      .data_o({pick, number, pick_action})
  );

  logic [ActionBits-1:0] action_o;
  logic [Tables-1:0][SumBits-1:0] values_o;
  logic signed [SumBits:0] target_o;
  qs_agent_choice #(
      .Actions  (Actions),
      .Width    (SumBits),
      .Algorithm(Algorithm)
  ) u_choice (
      .rows_i       (sums),
      .pick_i       (pick),
      .pick_action_i(pick_action),
      .number_i     (number),
      .*
  );

  // A row and its other inputs, in each stage.
  logic [Target:1] inside_q = '0, pick_q, number_q;
  logic [Target:1][Tables-1:0][Planes-1:0][Actions-1:0][Width-1:0] rows_q;
  logic [Target:1][ActionBits-1:0] pick_action_q;
  always_ff @(posedge clk_i) begin
    inside_q      <= (Target)'({inside_q, 1'b1});
    pick_q        <= (Target)'({pick_q, pick_i});
    number_q      <= (Target)'({number_q, number_i});
    rows_q        <= (Target * Tables * Planes * Actions * Width)'({rows_q, rows_i});
    pick_action_q <= (Target * ActionBits)'({pick_action_q, pick_action_i});
  end

  // The sums of the planes' rows.
  function automatic logic [Tables-1:0][Actions-1:0][SumBits-1:0] pooled(
      logic [Tables-1:0][Planes-1:0][Actions-1:0][Width-1:0] rows);
    pooled = '0;
    for (int unsigned t = 0; t < Tables; t++)
    for (int unsigned a = 0; a < Actions; a++)
    for (int unsigned p = 0; p < Planes; p++)
    pooled[t][a] = pooled[t][a] + SumBits'($signed(rows[t][p][a]));
  endfunction

  // The lowest action with the greatest entry of a row.
  function automatic logic [ActionBits-1:0] greedy(logic [Actions-1:0][SumBits:0] row);
    greedy = '0;
    for (int unsigned a = 1; a < Actions; a++)
    if ($signed(row[a]) > $signed(row[greedy])) greedy = ActionBits'(a);
  endfunction
  function automatic logic [SumBits:0] wide(logic [SumBits-1:0] value);
    return {value[SumBits-1], value};
  endfunction

  // The values from which the policy and the target are computed.
  function automatic logic [Actions-1:0][SumBits:0] policy(
      logic [Tables-1:0][Actions-1:0][SumBits-1:0] rows);
    for (int unsigned a = 0; a < Actions; a++)
    policy[a] = Tables > 1 ? wide(rows[0][a]) + wide(rows[Tables-1][a]) : wide(rows[0][a]);
  endfunction
  function automatic logic [Actions-1:0][SumBits:0] widened(logic [Actions-1:0][SumBits-1:0] row);
    for (int unsigned a = 0; a < Actions; a++) widened[a] = wide(row[a]);
  endfunction

  logic [Tables-1:0][Actions-1:0][SumBits-1:0] select_rows, rows;
  assign select_rows = pooled(rows_q[Select]);
  assign rows = pooled(rows_q[Target]);

  logic [ActionBits-1:0] select_action, target_action;
  assign select_action = pick_q[Select] ? pick_action_q[Select] : greedy(policy(select_rows));
  assign target_action = pick_q[Target] ? pick_action_q[Target] : greedy(policy(rows));

  logic [SumBits:0] target;

  if (Algorithm == QLearning) begin : gen_q_learning
    assign target = wide(rows[0][greedy(widened(rows[0]))]);
  end else if (Algorithm == Sarsa) begin : gen_sarsa
    assign target = wide(rows[0][target_action]);
  end else if (Algorithm == DoubleQLearning) begin : gen_double
    assign target = wide(rows[!number_q[Target]][greedy(widened(rows[number_q[Target]]))]);
  end else begin : gen_expected
    // maximum - ((share * (Actions * maximum - sum) + 2^15) >> 16)
    localparam int unsigned TotalBits = SumBits + ActionBits;
    localparam int unsigned ShareBits = DrawBits + ThresholdBits;
    localparam int unsigned Waits = SumStages + qs_pkg::tree_stages(
        Actions
    ) + (Actions > 2 ? 1 : 2);
    localparam int unsigned Share = (2 * 2 ** DrawBits + Actions) / (2 * Actions);
    logic [Target:Waits+1][ThresholdBits-1:0] threshold_q;
    always_ff @(posedge clk_i)
      threshold_q <= ((Target - Waits) * ThresholdBits)'({
        threshold_q, threshold_i
      });
    logic signed [SumBits-1:0] maximum;
    logic signed [TotalBits-1:0] sum;
    logic [TotalBits-1:0] below;
    logic [ShareBits-1:0] shares;
    logic [DrawBits+TotalBits-1:0] product;
    always_comb begin
      maximum = rows[0][greedy(widened(rows[0]))];
      sum = '0;
      for (int unsigned a = 0; a < Actions; a++) sum = sum + TotalBits'($signed(rows[0][a]));
      below   = TotalBits'(maximum) * $signed(TotalBits'(Actions)) - sum;
      shares  = threshold_q[Target] * ShareBits'(Share);
      product = shares[2*DrawBits-1:DrawBits] * below;
    end
    assign target = wide(
        maximum
    ) - (SumBits + 1)'((product + (DrawBits + TotalBits)'(1 << (DrawBits - 1))) >> DrawBits);
  end

  for (genvar t = 0; t < Tables; t++) begin : gen_table
    always_comb
      Values_A : assert (!inside_q[Select] || values_o[t] == select_rows[t][select_action]);
  end

  logic past_q = 1'b0;
  always_ff @(posedge clk_i) past_q <= 1'b1;

  always_comb begin
    assume (past_q || rst_i);
    assume (32'(pick_action_i) < Actions);
    assume (32'(threshold_i) <= 2 ** DrawBits);
    Action_A : assert (!inside_q[Select] || action_o == select_action);
    Target_A : assert (!inside_q[Target] || target_o == $signed(target));
    Negative_C : cover (inside_q[Target] && target_o < 0 && 32'(action_o) == Actions - 1);
  end

endmodule
