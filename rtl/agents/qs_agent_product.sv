// SPDX-License-Identifier: Apache-2.0
// A coefficient times a value, in 18-bit multipliers with internal registers.
//
// Function    product_o = coeff_i * value_i modulo 2^ProductBits, or 0 if clear_i is 1. A value of more than 18 bits
//             is split: each part has a multiplier, and the products are added.
// Timing      Three clocks from the registered operands; clear_i is sampled in the last one. One product per clock. A
//             multiplier has registers before, inside and after it; the third clock has at most one adder.
// Handshake   none
// Reset       none: data only.
// Hazards     none
// Invariants  none
// Resources   One multiplier, or two for a value of 19 to 35 bits
// Reference   none

module qs_agent_product #(
    parameter int unsigned ValueBits = 17,  // 9..37
    parameter int unsigned ProductBits = 33,  // bits above ValueBits + 16 repeat the sign
    localparam int unsigned CoeffBits = qs_pkg::CoeffBits
) (
    input logic clk_i,

    input  logic        [  CoeffBits-1:0] coeff_i,
    input  logic signed [  ValueBits-1:0] value_i,
    input  logic                          clear_i,
    output logic signed [ProductBits-1:0] product_o
);

  localparam int unsigned OperandBits = 18;

  if (ValueBits <= OperandBits) begin : gen_whole
    logic signed [ProductBits-1:0] inside_q, after_q;

    always_ff @(posedge clk_i) begin
      inside_q  <= ProductBits'($signed({1'b0, coeff_i})) * ProductBits'(value_i);
      after_q   <= inside_q;
      product_o <= clear_i ? '0 : after_q;
    end
  end else begin : gen_parts
    localparam int unsigned LowBits = OperandBits - 1;  // unsigned
    localparam int unsigned HighBits = ValueBits - LowBits;
    logic [LowBits+CoeffBits-1:0] low_inside_q, low_after_q;
    logic signed [HighBits+CoeffBits-1:0] high_inside_q, high_after_q;
    logic [HighBits+CoeffBits-1:0] high;

    always_ff @(posedge clk_i) begin
      low_inside_q <= (LowBits + CoeffBits)'(coeff_i) *
          (LowBits + CoeffBits)'(value_i[LowBits-1:0]);
      high_inside_q <= (HighBits + CoeffBits)'($signed(
          {1'b0, coeff_i}
      )) * (HighBits + CoeffBits)'($signed(
          value_i[ValueBits-1:LowBits]
      ));
      low_after_q <= low_inside_q;
      high_after_q <= high_inside_q;
      product_o <= clear_i ? '0 : ProductBits'($signed({high, low_after_q[LowBits-1:0]}));
    end

    assign high = high_after_q + (HighBits + CoeffBits)'(low_after_q[LowBits+:CoeffBits]);
  end

endmodule
