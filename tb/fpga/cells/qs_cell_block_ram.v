// SPDX-License-Identifier: Apache-2.0
// What the block RAMs of ECP5 and Gowin have in common, as far as the device uses it: port A writes, port B
// reads, both 9, 18 or 36 bits wide, no output register, all contents 0 at configuration.
//
// Addresses count bits, of which 8 make a byte of 9: a word of 9 bits is at address[13:3], one of 18 bits at
// address[13:4], one of 36 bits at address[13:5]. The low bits of address_a enable the bytes of a wider word.
//
// A word that is read in the clock in which it is written may be the old or the new one, so here it
// is unknown; a two-state simulator gets the complement of the old one.

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

  localparam LANES = WIDTH_A / 9;

  if (WIDTH_A != 9 && WIDTH_A != 18 && WIDTH_A != 36) width_is_not_modelled refuse ();
  if (WIDTH_B != WIDTH_A) different_widths_are_not_modelled refuse ();

  wire [10:0] word_a = address_a[13:3] / LANES;
  wire [10:0] word_b = address_b[13:3] / LANES;

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

  if (LANES < 4) assign data_b[35:9*LANES] = 'bx;

  always @(posedge clk_a) if (reset_a) $fatal(1, "%m: reset of port A is not modelled");
  always @(posedge clk_b) if (reset_b) $fatal(1, "%m: reset of port B is not modelled");
  always @(posedge clk_b) if (enable_b && write_b) $fatal(1, "%m: port B as writer is not modelled");

endmodule
