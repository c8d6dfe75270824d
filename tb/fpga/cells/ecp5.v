// SPDX-License-Identifier: Apache-2.0
// Cells of ECP5 that yosys declares without behaviour, modelled only in the modes that the device uses (Lattice
// FPGA-TN-02204, memory; FPGA-TN-02205, DSP). A parameter that is missing here makes the build fail. So does a value
// refused below, because it instantiates a nonexistent module. Any other use of a port ends the simulation.

// Without this, yosys' model file would include pads and flip-flop aliases, which no netlist here uses.
`define NO_INCLUDES

module DP16KD #(
    parameter DATA_WIDTH_A = 18, DATA_WIDTH_B = 18,
    parameter REGMODE_A = "NOREG", REGMODE_B = "NOREG",
    parameter CSDECODE_A = "0b000", CSDECODE_B = "0b000",
    parameter CLKAMUX = "CLKA", CLKBMUX = "CLKB",
    parameter GSR = "ENABLED",
    // These have no effect here: there is no reset, and the outputs of port A are not read during writes.
    parameter RESETMODE = "SYNC", ASYNC_RESET_RELEASE = "SYNC",
    parameter WRITEMODE_A = "NORMAL", WRITEMODE_B = "NORMAL",
    parameter INITVAL_00 = 320'h0, INITVAL_01 = 320'h0, INITVAL_02 = 320'h0, INITVAL_03 = 320'h0,
              INITVAL_04 = 320'h0, INITVAL_05 = 320'h0, INITVAL_06 = 320'h0, INITVAL_07 = 320'h0,
              INITVAL_08 = 320'h0, INITVAL_09 = 320'h0, INITVAL_0A = 320'h0, INITVAL_0B = 320'h0,
              INITVAL_0C = 320'h0, INITVAL_0D = 320'h0, INITVAL_0E = 320'h0, INITVAL_0F = 320'h0,
              INITVAL_10 = 320'h0, INITVAL_11 = 320'h0, INITVAL_12 = 320'h0, INITVAL_13 = 320'h0,
              INITVAL_14 = 320'h0, INITVAL_15 = 320'h0, INITVAL_16 = 320'h0, INITVAL_17 = 320'h0,
              INITVAL_18 = 320'h0, INITVAL_19 = 320'h0, INITVAL_1A = 320'h0, INITVAL_1B = 320'h0,
              INITVAL_1C = 320'h0, INITVAL_1D = 320'h0, INITVAL_1E = 320'h0, INITVAL_1F = 320'h0,
              INITVAL_20 = 320'h0, INITVAL_21 = 320'h0, INITVAL_22 = 320'h0, INITVAL_23 = 320'h0,
              INITVAL_24 = 320'h0, INITVAL_25 = 320'h0, INITVAL_26 = 320'h0, INITVAL_27 = 320'h0,
              INITVAL_28 = 320'h0, INITVAL_29 = 320'h0, INITVAL_2A = 320'h0, INITVAL_2B = 320'h0,
              INITVAL_2C = 320'h0, INITVAL_2D = 320'h0, INITVAL_2E = 320'h0, INITVAL_2F = 320'h0,
              INITVAL_30 = 320'h0, INITVAL_31 = 320'h0, INITVAL_32 = 320'h0, INITVAL_33 = 320'h0,
              INITVAL_34 = 320'h0, INITVAL_35 = 320'h0, INITVAL_36 = 320'h0, INITVAL_37 = 320'h0,
              INITVAL_38 = 320'h0, INITVAL_39 = 320'h0, INITVAL_3A = 320'h0, INITVAL_3B = 320'h0,
              INITVAL_3C = 320'h0, INITVAL_3D = 320'h0, INITVAL_3E = 320'h0, INITVAL_3F = 320'h0
) (
    input CLKA, CEA, OCEA, WEA, RSTA, CSA2, CSA1, CSA0,
    input ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0,
    input DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5,
          DIA4, DIA3, DIA2, DIA1, DIA0,
    output DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5,
           DOA4, DOA3, DOA2, DOA1, DOA0,
    input CLKB, CEB, OCEB, WEB, RSTB, CSB2, CSB1, CSB0,
    input ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0,
    input DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5,
          DIB4, DIB3, DIB2, DIB1, DIB0,
    output DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5,
           DOB4, DOB3, DOB2, DOB1, DOB0
);

  // A memory with initial contents is only read, through port A. Its 18-bit words are 20 bits apart in the parameters.
  localparam [20479:0] CONTENTS = {INITVAL_3F, INITVAL_3E, INITVAL_3D, INITVAL_3C, INITVAL_3B, INITVAL_3A, INITVAL_39,
      INITVAL_38, INITVAL_37, INITVAL_36, INITVAL_35, INITVAL_34, INITVAL_33, INITVAL_32,
      INITVAL_31, INITVAL_30, INITVAL_2F, INITVAL_2E, INITVAL_2D, INITVAL_2C, INITVAL_2B,
      INITVAL_2A, INITVAL_29, INITVAL_28, INITVAL_27, INITVAL_26, INITVAL_25, INITVAL_24,
      INITVAL_23, INITVAL_22, INITVAL_21, INITVAL_20, INITVAL_1F, INITVAL_1E, INITVAL_1D,
      INITVAL_1C, INITVAL_1B, INITVAL_1A, INITVAL_19, INITVAL_18, INITVAL_17, INITVAL_16,
      INITVAL_15, INITVAL_14, INITVAL_13, INITVAL_12, INITVAL_11, INITVAL_10, INITVAL_0F,
      INITVAL_0E, INITVAL_0D, INITVAL_0C, INITVAL_0B, INITVAL_0A, INITVAL_09, INITVAL_08,
      INITVAL_07, INITVAL_06, INITVAL_05, INITVAL_04, INITVAL_03, INITVAL_02, INITVAL_01, INITVAL_00};
  if (REGMODE_A != "NOREG" && (REGMODE_A != "OUTREG" || (DATA_WIDTH_B != 36 && CONTENTS === 20480'b0)))
    REGMODE_A_is_not_modelled refuse ();
  if (REGMODE_B != "NOREG" && REGMODE_B != "OUTREG") REGMODE_B_is_not_modelled refuse ();
  if (CSDECODE_A != "0b000") CSDECODE_A_is_not_modelled refuse ();
  if (CSDECODE_B != "0b000") CSDECODE_B_is_not_modelled refuse ();
  if (CLKAMUX != "CLKA") CLKAMUX_is_not_modelled refuse ();
  if (CLKBMUX != "CLKB") CLKBMUX_is_not_modelled refuse ();
  if (GSR == "ENABLED") GSR_is_not_modelled refuse ();
  localparam HAS_CONTENTS = CONTENTS !== 20480'b0;
  if (HAS_CONTENTS && DATA_WIDTH_A != 18)
    initial_contents_are_not_modelled refuse ();

  wire [35:0] read;

  qs_cell_block_ram #(
      .WIDTH_A(DATA_WIDTH_A),
      .WIDTH_B(DATA_WIDTH_B)
  ) u_ram (
      .clk_a    (CLKA),
      .enable_a (CEA && {CSA2, CSA1, CSA0} == 3'b0),
      .write_a  (WEA),
      .reset_a  (RSTA),
      .address_a({ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1,
                  ADA0}),
      .data_a   ({DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6,
                  DIB5, DIB4, DIB3, DIB2, DIB1, DIB0,
                  DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6,
                  DIA5, DIA4, DIA3, DIA2, DIA1, DIA0}),
      .clk_b    (CLKB),
      .enable_b (CEB && {CSB2, CSB1, CSB0} == 3'b0),
      .write_b  (WEB),
      .reset_b  (RSTB),
      .address_b({ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1,
                  ADB0}),
      .data_b   (read)
  );

  reg [17:0] found_q = 18'b0, constant_q = 18'b0;
  wire [9:0] word_a = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4};
  always @(posedge CLKA) if (HAS_CONTENTS && CEA) begin
    found_q <= CONTENTS[20*word_a+:18];
    constant_q <= found_q;
    if (WEA) $fatal(1, "%m: a write to a memory with contents is not modelled");
  end

  // A 36-bit word is output through both ports, its low half through port A.
  reg [35:0] read_q = 36'b0;
  always @(posedge CLKB) read_q <= read;
  wire [17:0] low = REGMODE_A == "OUTREG" ? read_q[17:0] : read[17:0];
  wire [35:0] word_b = REGMODE_B == "OUTREG" ? read_q : read;
  assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3,
          DOA2, DOA1, DOA0} = HAS_CONTENTS ? (REGMODE_A == "OUTREG" ? constant_q : found_q) :
      DATA_WIDTH_B == 36 ? low : 18'bx;
  assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3,
          DOB2, DOB1, DOB0} = DATA_WIDTH_B == 36 ? word_b[35:18] : word_b[17:0];

  always @(posedge CLKB) begin
    if (REGMODE_B == "OUTREG" && !(CEB && OCEB)) $fatal(1, "%m: an enabled output register is not modelled");
    if (REGMODE_A == "OUTREG" && !(CEA && OCEA)) $fatal(1, "%m: an enabled output register is not modelled");
  end

endmodule

// The model supports no internal registers, only the result register, or all of them, always without reset. It has no
// parameters for other registers or clocks.
module MULT18X18D #(
    parameter REG_INPUTA_CLK = "NONE", REG_INPUTA_CE = "CE0", REG_INPUTA_RST = "RST0",
    parameter REG_INPUTB_CLK = "NONE", REG_INPUTB_CE = "CE0", REG_INPUTB_RST = "RST0",
    parameter REG_PIPELINE_CLK = "NONE", REG_PIPELINE_CE = "CE0", REG_PIPELINE_RST = "RST0",
    parameter REG_OUTPUT_CLK = "NONE", REG_OUTPUT_CE = "CE0", REG_OUTPUT_RST = "RST0",
    parameter GSR = "ENABLED"
) (
    input CLK0, CE0, RST0,
    input A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0,
    input B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0,
    input C17, C16, C15, C14, C13, C12, C11, C10, C9, C8, C7, C6, C5, C4, C3, C2, C1, C0,
    input SIGNEDA, SIGNEDB, SOURCEA, SOURCEB,
    output P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18,
           P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0
);

  if (REG_OUTPUT_CLK != "NONE" && REG_OUTPUT_CLK != "CLK0") REG_OUTPUT_CLK_is_not_modelled refuse ();
  if (REG_INPUTA_CLK != "NONE" && REG_INPUTA_CLK != REG_OUTPUT_CLK) REG_INPUTA_CLK_is_not_modelled refuse ();
  if (REG_INPUTB_CLK != REG_INPUTA_CLK) REG_INPUTB_CLK_is_not_modelled refuse ();
  if (REG_PIPELINE_CLK != REG_INPUTA_CLK) REG_PIPELINE_CLK_is_not_modelled refuse ();
  if (REG_INPUTA_CE != "CE0" || REG_INPUTB_CE != "CE0" || REG_PIPELINE_CE != "CE0" || REG_OUTPUT_CE != "CE0")
    enable_is_not_modelled refuse ();
  if (REG_INPUTA_RST != "RST0" || REG_INPUTB_RST != "RST0" || REG_PIPELINE_RST != "RST0" || REG_OUTPUT_RST != "RST0")
    reset_is_not_modelled refuse ();
  if (REG_OUTPUT_CLK != "NONE" && GSR == "ENABLED") GSR_is_not_modelled refuse ();

  wire [17:0] a = {A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0};
  wire [17:0] b = {B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0};
  reg [17:0] a_q = 18'b0, b_q = 18'b0;
  wire [17:0] first = REG_INPUTA_CLK == "CLK0" ? a_q : a;
  wire [17:0] second = REG_INPUTA_CLK == "CLK0" ? b_q : b;
  wire signed [37:0] product = $signed({SIGNEDA & first[17], first}) * $signed({SIGNEDB & second[17], second});
  reg [35:0] middle_q = 36'b0, product_q = 36'b0;

  always @(posedge CLK0) if (CE0) begin
    a_q <= a;
    b_q <= b;
    middle_q <= product[35:0];
    product_q <= REG_PIPELINE_CLK == "CLK0" ? middle_q : product[35:0];
  end

  assign {P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18,
          P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0} =
      REG_OUTPUT_CLK == "CLK0" ? product_q : product[35:0];

  always @* if (SOURCEA || SOURCEB) $fatal(1, "%m: a source other than A and B is not modelled");
  always @(posedge CLK0) if (RST0) $fatal(1, "%m: a reset is not modelled");

endmodule
