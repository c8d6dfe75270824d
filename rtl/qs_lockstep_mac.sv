// SPDX-License-Identifier: Apache-2.0
// A multiplier with all its registers, and the sum behind it: one SB_MAC16 of an iCE40 UP5K.
//
// Function    sum_o = factor_i * coefficient_i + addend_i, of 32 bits. The chip's cell is instantiated, because
//             yosys leaves two registers and the adder outside.
// Timing      Factor and coefficient in stage 0, addend_i in stage 1, sum_o in stage 3: a register before the
//             product, one in it, one behind the sum. The vendor allows 50 MHz without the one in the
//             product, and gives no figure with it (iCE40 UltraPlus data sheet, "sysDSP Timing").
// Handshake   none
// Reset       none: data only.
// Hazards     none
// Invariants  none
// Resources   one SB_MAC16
// Reference   Lattice, "DSP Function Usage Guide for iCE40 Devices" (FPGA-TN-02007).

// Simulated devices leave checks out by defining SYNTHESIS.
`ifdef SYNTHESIS
`ifndef VERILATOR
`define QS_SB_MAC16
`endif
`endif

`ifdef QS_SB_MAC16
// verilog_lint: waive-start parameter-name-style
// verilog_lint: waive-start module-filename
(* blackbox *)
module SB_MAC16 #(
    parameter bit A_SIGNED = 0,
    parameter bit A_REG = 0,
    parameter bit B_REG = 0,
    parameter bit C_REG = 0,
    parameter bit D_REG = 0,
    parameter bit TOP_8x8_MULT_REG = 0,
    parameter bit BOT_8x8_MULT_REG = 0,
    parameter bit PIPELINE_16x16_MULT_REG1 = 0,
    parameter bit [1:0] TOPADDSUB_LOWERINPUT = 0,
    parameter bit TOPADDSUB_UPPERINPUT = 0,
    parameter bit [1:0] TOPADDSUB_CARRYSELECT = 0,
    parameter bit [1:0] BOTADDSUB_LOWERINPUT = 0,
    parameter bit BOTADDSUB_UPPERINPUT = 0,
    parameter bit [1:0] TOPOUTPUT_SELECT = 0,
    parameter bit [1:0] BOTOUTPUT_SELECT = 0
) (
    input logic CLK,
    CE,
    input logic [15:0] A,
    B,
    C,
    D,
    input logic AHOLD,
    BHOLD,
    CHOLD,
    DHOLD,
    IRSTTOP,
    IRSTBOT,
    ORSTTOP,
    ORSTBOT,
    input logic OLOADTOP,
    OLOADBOT,
    ADDSUBTOP,
    ADDSUBBOT,
    OHOLDTOP,
    OHOLDBOT,
    CI,
    ACCUMCI,
    SIGNEXTIN,
    output logic [31:0] O,
    output logic CO,
    ACCUMCO,
    SIGNEXTOUT
);
endmodule
// verilog_lint: waive-stop parameter-name-style
// verilog_lint: waive-stop module-filename
`endif

module qs_lockstep_mac (
    input  logic               clk_i,
    input  logic signed [15:0] factor_i,
    input  logic        [15:0] coefficient_i,
    input  logic signed [31:0] addend_i,
    output logic signed [31:0] sum_o
);

`ifdef QS_SB_MAC16
  SB_MAC16 #(
      .A_SIGNED                (1'b1),
      .A_REG                   (1'b1),
      .B_REG                   (1'b1),
      .C_REG                   (1'b1),
      .D_REG                   (1'b1),
      .TOP_8x8_MULT_REG        (1'b1),
      .BOT_8x8_MULT_REG        (1'b1),
      .PIPELINE_16x16_MULT_REG1(1'b1),
      .TOPADDSUB_LOWERINPUT    (2'b10),
      .TOPADDSUB_UPPERINPUT    (1'b1),
      .TOPADDSUB_CARRYSELECT   (2'b11),
      .BOTADDSUB_LOWERINPUT    (2'b10),
      .BOTADDSUB_UPPERINPUT    (1'b1),
      .TOPOUTPUT_SELECT        (2'b01),
      .BOTOUTPUT_SELECT        (2'b01)
  ) u_mac (
      .CLK       (clk_i),
      .CE        (1'b1),
      .A         (factor_i),
      .B         (coefficient_i),
      .C         (addend_i[31:16]),
      .D         (addend_i[15:0]),
      .AHOLD     (1'b0),
      .BHOLD     (1'b0),
      .CHOLD     (1'b0),
      .DHOLD     (1'b0),
      .IRSTTOP   (1'b0),
      .IRSTBOT   (1'b0),
      .ORSTTOP   (1'b0),
      .ORSTBOT   (1'b0),
      .OLOADTOP  (1'b0),
      .OLOADBOT  (1'b0),
      .ADDSUBTOP (1'b0),
      .ADDSUBBOT (1'b0),
      .OHOLDTOP  (1'b0),
      .OHOLDBOT  (1'b0),
      .CI        (1'b0),
      .ACCUMCI   (1'b0),
      .SIGNEXTIN (1'b0),
      .O         (sum_o),
      .CO        (),
      .ACCUMCO   (),
      .SIGNEXTOUT()
  );
`else
  logic signed [15:0] factor_q;
  logic        [15:0] coefficient_q;
  logic signed [31:0] addend_q, product_q;
  always_ff @(posedge clk_i) begin
    factor_q <= factor_i;
    coefficient_q <= coefficient_i;
    addend_q <= addend_i;
    product_q <= 32'(factor_q) * $signed({16'b0, coefficient_q});
    sum_o <= product_q + addend_q;
  end
`endif

endmodule
