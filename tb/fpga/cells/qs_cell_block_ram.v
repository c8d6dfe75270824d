// SPDX-License-Identifier: Apache-2.0
// Common model of the block RAMs of ECP5 and Gowin, limited to the device's use of them: port A writes and port B
// reads, both with the same width (1, 2, 4, 9, 18 or 36 bits), without output register, and initialised to 0.
//
// Addresses are bit addresses in which a 9-bit byte counts as 8 bits: a 1-bit word is at address[13:0], a 9-bit
// word at address[13:3], a 36-bit word at address[13:5]. In words of several bytes, the low bits of address_a
// enable the bytes.
//
// A word read in the clock in which it is written may be the old or the new one, so the model returns unknown
// bits. In a two-state simulator, it returns the complement of the old word.

module qs_cell_block_ram #(
    parameter WIDTH_A = 18,
    parameter WIDTH_B = 18
) (
    input             clk_a,
    input             enable_a,
    input             write_a,
    input             reset_a,
    input      [13:0] address_a,
    input      [35:0] data_a,
    input             clk_b,
    input             enable_b,
    input             write_b,
    input             reset_b,
    input      [13:0] address_b,
    output     [35:0] data_b
);

  localparam LANES = WIDTH_A > 9 ? WIDTH_A / 9 : 1;
  localparam BITS = WIDTH_A / LANES;  // in a byte lane
  localparam LOW = $clog2(WIDTH_A - WIDTH_A / 9);  // address bits below the word address
  localparam WORDS = 1 << (14 - LOW);

  if (WIDTH_A != 1 && WIDTH_A != 2 && WIDTH_A != 4 && WIDTH_A != 9 && WIDTH_A != 18 && WIDTH_A != 36)
    width_is_not_modelled refuse ();
  if (WIDTH_B != WIDTH_A) different_widths_are_not_modelled refuse ();

  wire [13-LOW:0] word_a = address_a[13:LOW];
  wire [13-LOW:0] word_b = address_b[13:LOW];

  for (genvar lane = 0; lane < LANES; lane = lane + 1) begin : g_lane
    reg [BITS-1:0] memory[0:WORDS-1];
    reg [BITS-1:0] read = 0;
    integer i;
    initial for (i = 0; i < WORDS; i = i + 1) memory[i] = 0;

    wire write = enable_a && write_a && (LANES == 1 || address_a[lane]);

    always @(posedge clk_a) if (write) memory[word_a] <= data_a[9*lane+:BITS];

    always @(posedge clk_b)
      if (enable_b) begin
        if (write && word_a == word_b)
`ifdef VERILATOR
          read <= ~memory[word_b];
`else
          read <= {BITS{1'bx}};
`endif
        else read <= memory[word_b];
      end

    assign data_b[9*lane+:BITS] = read;
  end

  if (WIDTH_B < 36) assign data_b[35:WIDTH_B] = {36 - WIDTH_B{1'bx}};

  always @(posedge clk_a) if (reset_a) $fatal(1, "%m: reset of port A is not modelled");
  always @(posedge clk_b) if (reset_b) $fatal(1, "%m: reset of port B is not modelled");
  always @(posedge clk_b) if (enable_b && write_b) $fatal(1, "%m: port B as writer is not modelled");

endmodule
