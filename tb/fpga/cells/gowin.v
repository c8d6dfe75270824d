// SPDX-License-Identifier: Apache-2.0
// Cells of Gowin that yosys declares without behaviour, modelled only in the modes that the device uses (Gowin UG285,
// block RAM; UG287, DSP). A parameter that is missing here makes the build fail. So does a value refused below,
// because it instantiates a nonexistent module. Any other use of a port ends the simulation.

// Initial contents of a block RAM: the parameters, and their concatenation.
`define QS_CONTENTS \
  INIT_RAM_00 = 288'h0, INIT_RAM_01 = 288'h0, INIT_RAM_02 = 288'h0, INIT_RAM_03 = 288'h0, INIT_RAM_04 = \
  288'h0, INIT_RAM_05 = 288'h0, INIT_RAM_06 = 288'h0, INIT_RAM_07 = 288'h0, INIT_RAM_08 = 288'h0, INIT_RAM_09 \
  = 288'h0, INIT_RAM_0A = 288'h0, INIT_RAM_0B = 288'h0, INIT_RAM_0C = 288'h0, INIT_RAM_0D = 288'h0, \
  INIT_RAM_0E = 288'h0, INIT_RAM_0F = 288'h0, INIT_RAM_10 = 288'h0, INIT_RAM_11 = 288'h0, INIT_RAM_12 = \
  288'h0, INIT_RAM_13 = 288'h0, INIT_RAM_14 = 288'h0, INIT_RAM_15 = 288'h0, INIT_RAM_16 = 288'h0, INIT_RAM_17 \
  = 288'h0, INIT_RAM_18 = 288'h0, INIT_RAM_19 = 288'h0, INIT_RAM_1A = 288'h0, INIT_RAM_1B = 288'h0, \
  INIT_RAM_1C = 288'h0, INIT_RAM_1D = 288'h0, INIT_RAM_1E = 288'h0, INIT_RAM_1F = 288'h0, INIT_RAM_20 = \
  288'h0, INIT_RAM_21 = 288'h0, INIT_RAM_22 = 288'h0, INIT_RAM_23 = 288'h0, INIT_RAM_24 = 288'h0, INIT_RAM_25 \
  = 288'h0, INIT_RAM_26 = 288'h0, INIT_RAM_27 = 288'h0, INIT_RAM_28 = 288'h0, INIT_RAM_29 = 288'h0, \
  INIT_RAM_2A = 288'h0, INIT_RAM_2B = 288'h0, INIT_RAM_2C = 288'h0, INIT_RAM_2D = 288'h0, INIT_RAM_2E = \
  288'h0, INIT_RAM_2F = 288'h0, INIT_RAM_30 = 288'h0, INIT_RAM_31 = 288'h0, INIT_RAM_32 = 288'h0, INIT_RAM_33 \
  = 288'h0, INIT_RAM_34 = 288'h0, INIT_RAM_35 = 288'h0, INIT_RAM_36 = 288'h0, INIT_RAM_37 = 288'h0, \
  INIT_RAM_38 = 288'h0, INIT_RAM_39 = 288'h0, INIT_RAM_3A = 288'h0, INIT_RAM_3B = 288'h0, INIT_RAM_3C = \
  288'h0, INIT_RAM_3D = 288'h0, INIT_RAM_3E = 288'h0, INIT_RAM_3F = 288'h0

`define QS_ALL_CONTENTS \
  INIT_RAM_3F, INIT_RAM_3E, INIT_RAM_3D, INIT_RAM_3C, INIT_RAM_3B, INIT_RAM_3A, INIT_RAM_39, INIT_RAM_38, \
  INIT_RAM_37, INIT_RAM_36, INIT_RAM_35, INIT_RAM_34, INIT_RAM_33, INIT_RAM_32, INIT_RAM_31, INIT_RAM_30, \
  INIT_RAM_2F, INIT_RAM_2E, INIT_RAM_2D, INIT_RAM_2C, INIT_RAM_2B, INIT_RAM_2A, INIT_RAM_29, INIT_RAM_28, \
  INIT_RAM_27, INIT_RAM_26, INIT_RAM_25, INIT_RAM_24, INIT_RAM_23, INIT_RAM_22, INIT_RAM_21, INIT_RAM_20, \
  INIT_RAM_1F, INIT_RAM_1E, INIT_RAM_1D, INIT_RAM_1C, INIT_RAM_1B, INIT_RAM_1A, INIT_RAM_19, INIT_RAM_18, \
  INIT_RAM_17, INIT_RAM_16, INIT_RAM_15, INIT_RAM_14, INIT_RAM_13, INIT_RAM_12, INIT_RAM_11, INIT_RAM_10, \
  INIT_RAM_0F, INIT_RAM_0E, INIT_RAM_0D, INIT_RAM_0C, INIT_RAM_0B, INIT_RAM_0A, INIT_RAM_09, INIT_RAM_08, \
  INIT_RAM_07, INIT_RAM_06, INIT_RAM_05, INIT_RAM_04, INIT_RAM_03, INIT_RAM_02, INIT_RAM_01, INIT_RAM_00

module DPX9B #(
    parameter BIT_WIDTH_0 = 18, BIT_WIDTH_1 = 18,
    parameter READ_MODE0 = 1'b0, READ_MODE1 = 1'b0,
    parameter BLK_SEL_0 = 3'b000, BLK_SEL_1 = 3'b000,
    // These have no effect here: there is no reset, and the outputs of port A are not read during writes.
    parameter RESET_MODE = "SYNC",
    parameter WRITE_MODE0 = 2'b00, WRITE_MODE1 = 2'b00,
    parameter `QS_CONTENTS
) (
    input CLKA, CEA, OCEA, WREA, RESETA,
    input [2:0] BLKSELA,
    input [13:0] ADA,
    input [17:0] DIA,
    output [17:0] DOA,
    input CLKB, CEB, OCEB, WREB, RESETB,
    input [2:0] BLKSELB,
    input [13:0] ADB,
    input [17:0] DIB,
    output [17:0] DOB
);

  if (READ_MODE0 != 0) READ_MODE0_is_not_modelled refuse ();
  if (READ_MODE1 != 0) READ_MODE1_is_not_modelled refuse ();
  if ({`QS_ALL_CONTENTS} != 0) initial_contents_are_not_modelled refuse ();

  if (BIT_WIDTH_0 > 18) width_is_not_modelled refuse ();

  wire [35:0] read;
  assign DOA = 18'bx;
  assign DOB = read[17:0];

  qs_cell_block_ram #(
      .WIDTH_A(BIT_WIDTH_0),
      .WIDTH_B(BIT_WIDTH_1)
  ) u_ram (
      .clk_a    (CLKA),
      .enable_a (CEA && BLKSELA == BLK_SEL_0),
      .write_a  (WREA),
      .reset_a  (RESETA),
      .address_a(ADA),
      .data_a   ({18'b0, DIA}),
      .clk_b    (CLKB),
      .enable_b (CEB && BLKSELB == BLK_SEL_1),
      .write_b  (WREB),
      .reset_b  (RESETB),
      .address_b(ADB),
      .data_b   (read)
  );

endmodule

// DPX9B without the ninth bits, for words of at most 4 bits.
module DPB #(
    parameter BIT_WIDTH_0 = 16, BIT_WIDTH_1 = 16,
    parameter READ_MODE0 = 1'b0, READ_MODE1 = 1'b0,
    parameter BLK_SEL_0 = 3'b000, BLK_SEL_1 = 3'b000,
    // These have no effect here: there is no reset, and the outputs of port A are not read during writes.
    parameter RESET_MODE = "SYNC",
    parameter WRITE_MODE0 = 2'b00, WRITE_MODE1 = 2'b00,
    parameter `QS_CONTENTS
) (
    input CLKA, CEA, OCEA, WREA, RESETA,
    input [2:0] BLKSELA,
    input [13:0] ADA,
    input [15:0] DIA,
    output [15:0] DOA,
    input CLKB, CEB, OCEB, WREB, RESETB,
    input [2:0] BLKSELB,
    input [13:0] ADB,
    input [15:0] DIB,
    output [15:0] DOB
);

  if ({`QS_ALL_CONTENTS} != 0) initial_contents_are_not_modelled refuse ();
  if (BIT_WIDTH_0 > 4) width_is_not_modelled refuse ();

  wire [17:0] read_a, read_b;
  assign DOA = read_a[15:0];
  assign DOB = read_b[15:0];

  DPX9B #(
      .BIT_WIDTH_0(BIT_WIDTH_0),
      .BIT_WIDTH_1(BIT_WIDTH_1),
      .READ_MODE0 (READ_MODE0),
      .READ_MODE1 (READ_MODE1),
      .BLK_SEL_0  (BLK_SEL_0),
      .BLK_SEL_1  (BLK_SEL_1)
  ) u_ram (
      .CLKA(CLKA), .CEA(CEA), .OCEA(OCEA), .WREA(WREA), .RESETA(RESETA),
      .BLKSELA(BLKSELA), .ADA(ADA), .DIA({2'b0, DIA}), .DOA(read_a),
      .CLKB(CLKB), .CEB(CEB), .OCEB(OCEB), .WREB(WREB), .RESETB(RESETB),
      .BLKSELB(BLKSELB), .ADB(ADB), .DIB({2'b0, DIB}), .DOB(read_b)
  );

endmodule

// DPX9B for 36-bit words: one port writes, the other reads.
module SDPX9B #(
    parameter BIT_WIDTH_0 = 32, BIT_WIDTH_1 = 32,
    parameter READ_MODE = 1'b0,
    parameter BLK_SEL_0 = 3'b000, BLK_SEL_1 = 3'b000,
    parameter RESET_MODE = "SYNC",  // no effect here: there is no reset
    parameter `QS_CONTENTS
) (
    input CLKA, CEA, RESETA,
    input [2:0] BLKSELA,
    input [13:0] ADA,
    input [35:0] DI,
    input CLKB, CEB, OCE, RESETB,
    input [2:0] BLKSELB,
    input [13:0] ADB,
    output [35:0] DO
);

  if (READ_MODE != 0) READ_MODE_is_not_modelled refuse ();
  if ({`QS_ALL_CONTENTS} != 0) initial_contents_are_not_modelled refuse ();
  if (BIT_WIDTH_0 != 36) width_is_not_modelled refuse ();

  qs_cell_block_ram #(
      .WIDTH_A(BIT_WIDTH_0),
      .WIDTH_B(BIT_WIDTH_1)
  ) u_ram (
      .clk_a    (CLKA),
      .enable_a (CEA && BLKSELA == BLK_SEL_0),
      .write_a  (1'b1),
      .reset_a  (RESETA),
      .address_a(ADA),
      .data_a   (DI),
      .clk_b    (CLKB),
      .enable_b (CEB && BLKSELB == BLK_SEL_1),
      .write_b  (1'b0),
      .reset_b  (RESETB),
      .address_b(ADB),
      .data_b   (DO)
  );

endmodule

// A read-only block RAM with 18-bit words.
module SPX9 #(
    parameter BIT_WIDTH = 36,
    parameter READ_MODE = 1'b0,
    parameter BLK_SEL = 3'b000,
    // These have no effect here: there is no reset, and nothing is written.
    parameter RESET_MODE = "SYNC",
    parameter WRITE_MODE = 2'b00,
    parameter `QS_CONTENTS
) (
    input CLK, CE, OCE, RESET, WRE,
    input [2:0] BLKSEL,
    input [13:0] AD,
    input [35:0] DI,
    output [35:0] DO
);

  if (READ_MODE != 0) READ_MODE_is_not_modelled refuse ();
  if (BIT_WIDTH != 18) width_is_not_modelled refuse ();

  localparam [64*288-1:0] CONTENTS = {`QS_ALL_CONTENTS};

  reg [17:0] memory[0:1023];
  reg [17:0] read = 0;
  integer i;
  initial for (i = 0; i < 1024; i = i + 1) memory[i] = CONTENTS[18*i+:18];

  always @(posedge CLK) if (CE && BLKSEL == BLK_SEL) read <= memory[AD[13:4]];

  assign DO = {18'bx, read};

  always @(posedge CLK) if (WRE || RESET) $fatal(1, "%m: a write or reset is not modelled");

endmodule

// A multiplier without internal registers: the parameters that would add one are missing.
module MULT18X18 (
    input CLK, CE, RESET,
    input [17:0] A, B, SIA, SIB,
    input ASIGN, BSIGN, ASEL, BSEL,
    output [35:0] DOUT
);

  wire signed [37:0] product = $signed({ASIGN & A[17], A}) * $signed({BSIGN & B[17], B});

  assign DOUT = product[35:0];

  always @* if (ASEL || BSEL) $fatal(1, "%m: a source other than A and B is not modelled");

endmodule
