// SPDX-License-Identifier: Apache-2.0
// What the block RAMs of ECP5 and Gowin have in common, as far as the device uses it: port A writes, port B
// reads, both 9 or both 18 bits wide, no output register, all contents 0 at configuration.
//
// Addresses count bits, of which 16 make a word: a word of 9 bits is at address[13:3], one of 18 bits at
// address[13:4], and then address_a[1:0] enables its bytes of 9 bits.
//
// A word that is read in the clock in which it is written is neither the old nor the new one for certain, so here
// it is unknown; a simulator of two states gets the complement of the old one.

module qs_cell_block_ram #(
    parameter WIDTH_A = 18,
    parameter WIDTH_B = 18
) (
    input             clk_a,
    input             enable_a,
    input             write_a,
    input             reset_a,
    input      [13:0] address_a,
    input      [17:0] data_a,
    input             clk_b,
    input             enable_b,
    input             write_b,
    input             reset_b,
    input      [13:0] address_b,
    output     [17:0] data_b
);

  localparam LANES = WIDTH_A / 9;

  if (WIDTH_A != 9 && WIDTH_A != 18) width_is_not_modelled refuse ();
  if (WIDTH_B != WIDTH_A) different_widths_are_not_modelled refuse ();

  wire [10:0] word_a = LANES == 2 ? address_a[13:4] : address_a[13:3];
  wire [10:0] word_b = LANES == 2 ? address_b[13:4] : address_b[13:3];

  for (genvar lane = 0; lane < LANES; lane = lane + 1) begin : g_lane
    reg [8:0] memory[0:2048/LANES-1];
    reg [8:0] read = 9'b0;
    integer i;
    initial for (i = 0; i < 2048 / LANES; i = i + 1) memory[i] = 9'b0;

    wire write = enable_a && write_a && (LANES == 1 || address_a[lane]);

    always @(posedge clk_a) if (write) memory[word_a] <= data_a[9*lane+:9];

    always @(posedge clk_b)
      if (enable_b) begin
        if (write && word_a == word_b)
`ifdef VERILATOR
          read <= ~memory[word_b];
`else
          read <= 9'bx;
`endif
        else read <= memory[word_b];
      end

    assign data_b[9*lane+:9] = read;
  end

  if (LANES == 1) assign data_b[17:9] = 9'bx;

  always @(posedge clk_a) if (reset_a) $fatal(1, "%m: reset of port A is not modelled");
  always @(posedge clk_b) if (reset_b) $fatal(1, "%m: reset of port B is not modelled");
  always @(posedge clk_b) if (enable_b && write_b) $fatal(1, "%m: port B as writer is not modelled");

endmodule
