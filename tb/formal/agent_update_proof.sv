// SPDX-License-Identifier: Apache-2.0
// qs_agent_update computes its formula on the operands of a slot, which arrive over four clocks.
//
// Function    2^f * entry + alpha * (reward - entry) + kappa * target + bias, rounded down to the format and
//             saturated; keep omits the alpha term, and zero omits the target. With several planes, the increment is
//             computed from the sum of their entries and added to the entry of each plane.
// Assumed     With one plane, nothing is assumed; in use, alpha is at most 1 and kappa is at most alpha, so the sum
//             does not overflow. With several planes, it is assumed that alpha is at most 1, that kappa is at most
//             alpha, and that the target is within the range of a sum, so no sum overflows.

module agent_update_proof #(
    parameter  int unsigned Width         = 16,
    parameter  int unsigned CoeffFraction = 15,
    parameter  int unsigned Planes        = 1,
    localparam int unsigned SumBits       = Width + $clog2(Planes)
) (
    input logic clk_i,
    input logic rst_i,

    input logic signed [        Width-1:0]            entry_reward_i,
    input logic signed [      SumBits-1:0]            entry_value_i,
    input logic                                       entry_keep_i,
    input logic        [             15:0]            alpha_coeff_i,
    input logic signed [        SumBits:0]            target_value_i,
    input logic        [             15:0]            target_kappa_i,
    input logic                                       again_zero_i,
    input logic signed [        Width-1:0]            again_value_i,
    input logic        [CoeffFraction-1:0]            again_bias_i,
    input logic        [       Planes-1:0][Width-1:0] increment_weights_i
);

  // With several planes, the exact sum of the increment and a weight.
  localparam int unsigned AccBits = SumBits + CoeffFraction + (Planes > 1 ? 4 : 1);
  localparam int unsigned Done = Planes > 1 ? 10 : 8;

  logic [Planes-1:0][Width-1:0] value_o;
  logic saturated_o;
  qs_agent_update #(
      .Width        (Width),
      .CoeffFraction(CoeffFraction),
      .Planes       (Planes)
  ) u_update (
      .*
  );

  // A slot's operands in each stage; with several planes, the entries arrive later.
  logic [Done:1] inside_q = '0, keep_q;
  logic [Done:1][Width-1:0] reward_q;
  logic [Done:1][SumBits-1:0] entry_q;
  logic [Done:3][15:0] alpha_q;
  logic [Done:4][15:0] kappa_q;
  logic [Done:4][SumBits:0] target_q;
  logic [Done:6] zero_q;
  logic [Done:6][Width-1:0] kept_q;
  logic [Done:6][CoeffFraction-1:0] bias_q;
  logic [Planes-1:0][Width-1:0] weights_q, clip_weights_q, entries;
  always_ff @(posedge clk_i) begin
    inside_q  <= {inside_q[Done-1:1], 1'b1};
    keep_q    <= {keep_q[Done-1:1], entry_keep_i};
    reward_q  <= {reward_q[Done-1:1], entry_reward_i};
    entry_q   <= {entry_q[Done-1:1], entry_value_i};
    alpha_q   <= {alpha_q[Done-1:3], alpha_coeff_i};
    kappa_q   <= {kappa_q[Done-1:4], target_kappa_i};
    target_q  <= {target_q[Done-1:4], target_value_i};
    zero_q    <= {zero_q[Done-1:6], again_zero_i};
    kept_q    <= {kept_q[Done-1:6], again_value_i};
    bias_q    <= {bias_q[Done-1:6], again_bias_i};
    weights_q <= increment_weights_i;
    clip_weights_q <= weights_q;
  end
  assign entries = Planes > 1 ? clip_weights_q : kept_q[Done];

  function automatic logic signed [AccBits-1:0] product(logic [15:0] coefficient,
                                                        logic signed [SumBits:0] value);
    return AccBits'($signed({1'b0, coefficient})) * AccBits'(value);
  endfunction

  logic signed [  SumBits:0] delta;
  logic signed [AccBits-1:0] step;
  assign delta = keep_q[Done] ? '0 : (SumBits + 1)'($signed(
      reward_q[Done]
  )) - (SumBits + 1)'($signed(
      entry_q[Done]
  ));
  assign step = product(
      alpha_q[Done], delta
  ) + (zero_q[Done] ? '0 : product(
      kappa_q[Done], $signed(target_q[Done])
  )) + AccBits'(bias_q[Done]);

  localparam int unsigned RoundedBits = AccBits - CoeffFraction;
  logic [Planes-1:0] saturated;
  for (genvar t = 0; t < Planes; t++) begin : gen_plane
    logic signed [RoundedBits-1:0] rounded;
    assign rounded = RoundedBits'((step + AccBits'($signed(
        {entries[t], CoeffFraction'(0)}
    ))) >>> CoeffFraction);
    assign saturated[t] = rounded != RoundedBits'($signed(rounded[Width-1:0]));
    always_comb begin
      if (inside_q[Done]) begin
        Value_A :
        assert (value_o[t] == (saturated[t] ?
            {rounded[RoundedBits-1], {(Width - 1) {!rounded[RoundedBits-1]}}} :
            rounded[Width-1:0]));
      end
    end
  end

  if (Planes > 1) begin : gen_sum
    always_comb begin
      assume (32'(alpha_coeff_i) <= 32'd1 << CoeffFraction);
      assume (target_value_i[SumBits] == target_value_i[SumBits-1]);
    end
    always_comb assume (!inside_q[3] || target_kappa_i <= alpha_q[3]);
  end

  always_comb begin
    if (inside_q[Done]) begin
      Saturated_A : assert (saturated_o == (saturated != '0));
      Both_C : cover (saturated[0] && $signed(value_o[0]) < 0 && !zero_q[Done] && !keep_q[Done]);
    end
  end

endmodule
