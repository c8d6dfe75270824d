// SPDX-License-Identifier: Apache-2.0
// The choice: the sum of each group's rows, the maximum over the groups, and the action.
//
// Function    q[a] is the maximum over the groups of the sum of the group's values of action a. The action is
//             explore_action_i if explore_i is 1. Otherwise it is the lowest a with the largest q[a] or, with Floor,
//             0 if no q[a] is above 0. value_o is q of that action. Golden model: qstep.golden.planes.
// Timing      clog2(Planes) + clog2(Groups) + 1 + clog2(Actions) + 1 clocks; one choice per clock.
// Handshake   none
// Reset       none: data only.
// Hazards     none
// Invariants  none of its own
// Resources   Actions * (Groups * Planes - 1) adders or comparators, and a comparator tree.
// Reference   R. Bera et al., "Pythia: a customizable hardware prefetching framework using online reinforcement
//             learning", MICRO 2021, section 4.

module qs_planes_choice #(
    parameter  int unsigned Groups     = 2,                      // 1..16
    parameter  int unsigned Planes     = 3,                      // of each group, 1..16
    parameter  int unsigned Actions    = 15,                     // 2..64
    parameter  int unsigned Width      = 16,                     // 8..32
    parameter  bit          Floor      = 0,
    localparam int unsigned ActionBits = $clog2(Actions),
    localparam int unsigned SumBits    = Width + $clog2(Planes)
) (
    input logic clk_i,
    input logic rst_i,  // only gates an assertion of the tree

    input logic [Groups*Planes-1:0][Actions-1:0][Width-1:0] values_i,         // group by group
    input logic                                             explore_i,
    input logic [   ActionBits-1:0]                         explore_action_i,

    output logic        [ActionBits-1:0] action_o,
    output logic signed [   SumBits-1:0] value_o,
    output logic                         explored_o
);

  localparam int unsigned GroupStages = $clog2(Groups);
  localparam int unsigned PoolStages = $clog2(Planes) + GroupStages;
  localparam int unsigned TreeStages = qs_pkg::tree_stages(Actions);

  // --- Pool ---------------------------------------------------------------------------------------------
  logic [Actions-1:0][SumBits-1:0] pooled;

  for (genvar a = 0; a < Actions; a++) begin : gen_action
    for (genvar level = 0; level <= GroupStages; level++) begin : gen_level
      localparam int unsigned Nodes = (Groups + 2 ** level - 1) / 2 ** level;
      logic [Nodes-1:0][SumBits-1:0] greatest;
      for (genvar n = 0; n < Nodes; n++) begin : gen_node
        if (level == 0) begin : gen_sum
          logic [Planes-1:0][Width-1:0] terms;
          for (genvar t = 0; t < Planes; t++) begin : gen_plane
            assign terms[t] = values_i[n*Planes+t][a];
          end
          qs_sum_tree #(
              .Terms(Planes),
              .Width(Width)
          ) u_sum (
              .clk_i,
              .terms_i(terms),
              .sum_o  (greatest[n])
          );
        end else if ((2 * n + 1) * 2 ** (level - 1) < Groups) begin : gen_pair
          logic [SumBits-1:0] left, right;
          assign left  = gen_level[level-1].greatest[2*n];
          assign right = gen_level[level-1].greatest[2*n+1];
          always_ff @(posedge clk_i) greatest[n] <= $signed(left) < $signed(right) ? right : left;
        end else begin : gen_single
          always_ff @(posedge clk_i) greatest[n] <= gen_level[level-1].greatest[2*n];
        end
      end
    end
    assign pooled[a] = gen_level[GroupStages].greatest[0];
  end

  // --- Choose -------------------------------------------------------------------------------------------
  // All actions but the given one are masked, so the maximum is its value.
  logic explore, tree_explore;
  logic [ActionBits-1:0] explore_action, tree_action, greedy;
  logic signed [SumBits-1:0] greatest;
  logic [Actions-1:0] only;

  qs_delay #(
      .Width(1 + ActionBits),
      .Depth(PoolStages)
  ) u_explore (
      .clk_i,
      .data_i({explore_i, explore_action_i}),
      .data_o({explore, explore_action})
  );
  assign only = Actions'(1) << explore_action;

  qs_max_tree #(
      .Actions(Actions),
      .Width  (SumBits)
  ) u_tree (
      .clk_i,
      .rst_i,
      .valid_i ('1),
      .values_i(pooled),
      .mask_i  (explore ? ~only : '0),
      .value_o (greatest),
      .index_o (greedy)
  );

  qs_delay #(
      .Width(1 + ActionBits),
      .Depth(TreeStages)
  ) u_tree_explore (
      .clk_i,
      .data_i({explore, explore_action}),
      .data_o({tree_explore, tree_action})
  );

  if (Floor) begin : gen_floor
    logic signed [SumBits-1:0] first;
    qs_delay #(
        .Width(SumBits),
        .Depth(TreeStages)
    ) u_first (
        .clk_i,
        .data_i(pooled[0]),
        .data_o(first)
    );
    always_ff @(posedge clk_i) begin
      action_o <= tree_explore ? tree_action : greatest > 0 ? greedy : '0;
      value_o  <= tree_explore || greatest > 0 ? greatest : first;
    end
  end else begin : gen_greedy
    always_ff @(posedge clk_i) begin
      action_o <= tree_explore ? tree_action : greedy;
      value_o  <= greatest;
    end
  end

  always_ff @(posedge clk_i) explored_o <= tree_explore;

endmodule
