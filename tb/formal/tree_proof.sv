// SPDX-License-Identifier: Apache-2.0
// qs_max_tree returns the greatest unmasked value, and the lowest action that attains it.
//
// Function    Rows enter at any time. The result is the maximum of the unmasked entries of its row, and no lower
//             action has the same value.
// Assumed     Power-up is a reset.

module tree_proof #(
    parameter  int unsigned Actions    = 5,
    parameter  int unsigned Width      = 16,
    localparam int unsigned ActionBits = $clog2(Actions),
    localparam int unsigned Stages     = qs_pkg::tree_stages(Actions)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                          enters_i,
    input logic [Actions-1:0][Width-1:0] values_i,
    input logic [Actions-1:0]            mask_i
);

  localparam logic [Width-1:0] LEAST = {1'b1, {(Width - 1) {1'b0}}};

  logic [Stages-1:0] valid_i;
  logic [Stages:1] inside_q = '0;
  logic [Stages:1][Actions-1:0][Width-1:0] row_q;
  logic signed [Width-1:0] value_o;
  logic [ActionBits-1:0] index_o;
  assign valid_i = {inside_q[Stages-1:1], enters_i};

  qs_max_tree #(
      .Actions(Actions),
      .Width  (Width)
  ) u_tree (
      .*
  );

  always_ff @(posedge clk_i) begin
    inside_q <= {inside_q[Stages-1:1], enters_i};
    row_q[Stages:2] <= row_q[Stages-1:1];
    for (int unsigned a = 0; a < Actions; a++) row_q[1][a] <= mask_i[a] ? LEAST : values_i[a];
  end

  for (genvar a = 0; a < Actions; a++) begin : gen_action
    always_comb begin
      if (inside_q[Stages]) begin
        NoLess_A : assert (value_o >= $signed(row_q[Stages][a]));
        Attained_A : assert (a != 32'(index_o) || value_o == $signed(row_q[Stages][a]));
        Lowest_A : assert (a >= 32'(index_o) || value_o != $signed(row_q[Stages][a]));
      end
    end
  end

  logic past_q = 1'b0;
  always_ff @(posedge clk_i) past_q <= 1'b1;
  always_comb assume (past_q || rst_i);

  always_comb begin
    Index_A : assert (!inside_q[Stages] || 32'(index_o) < Actions);
    Full_C : cover (inside_q == '1 && 32'(index_o) == Actions - 1 && value_o < 0);
  end

endmodule
