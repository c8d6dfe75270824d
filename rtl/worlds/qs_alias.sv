// SPDX-License-Identifier: Apache-2.0
// A memory of alias tables: a draw selects one of the two items of a word.
//
// Function    Word read_i is {split, second, first}, highest bit first. The upper log2(Slots) bits of draw_i are part
//             of read_i. The remaining bits select the item: chosen_o is first if they are less than split, else
//             second. With one slot, a word consists of first only, which is always chosen.
// Timing      Three clocks from read_i to chosen_o: the memory, its output register, and the choice.
// Handshake   write_i writes bits 32 * column_i + 31 to 32 * column_i of word address_i.
// Reset       none: words are undefined until written.
// Hazards     A read in the same clock as a write is undefined.
// Invariants  none
// Resources   Words of 2 * DataWidth + 17 bits, or of DataWidth bits with one slot, in block RAM.
// Reference   A. J. Walker, "An efficient method for generating discrete random variables", ACM TOMS 3 (1977).

module qs_alias #(
    parameter  int unsigned Words     = 128,                      // 2 or more
    parameter  int unsigned Slots     = 1,                        // a power of two, 1..65536
    parameter  int unsigned DataWidth = 22,                       // 1..49
    localparam int unsigned DrawBits  = qs_agents_pkg::DrawBits,
    localparam int unsigned Bits      = $clog2(Words)
) (
    input logic clk_i,

    input logic            write_i,
    input logic [Bits-1:0] address_i,
    input logic [     1:0] column_i,
    input logic [    31:0] data_i,

    input  logic [     Bits-1:0] read_i,
    input  logic [ DrawBits-1:0] draw_i,
    output logic [DataWidth-1:0] chosen_o
);

  localparam int unsigned SplitBits = DrawBits + 1;
  localparam int unsigned WordBits = Slots > 1 ? 2 * DataWidth + SplitBits : DataWidth;
  localparam int unsigned Columns = (WordBits + 31) / 32;

  logic [WordBits-1:0] word;

  for (genvar c = 0; c < Columns; c++) begin : gen_column
    localparam int unsigned Width = WordBits - 32 * c < 32 ? WordBits - 32 * c : 32;
    qs_ram #(
        .Words(Words),
        .Width(Width)
    ) u_ram (
        .clk_i,
        .write_i      (write_i && 32'(column_i) == c),
        .write_index_i(address_i),
        .write_data_i (data_i[Width-1:0]),
        .read_index_i (read_i),
        .data_o       (word[32*c+:Width])
    );
  end

  if (Slots > 1) begin : gen_choice
    localparam int unsigned RestBits = DrawBits - $clog2(Slots);
    logic [SplitBits-1:0] rest;
    if (RestBits > 0) begin : gen_rest
      logic [RestBits-1:0] line;
      qs_delay #(
          .Width(RestBits),
          .Depth(2)
      ) u_rest (
          .clk_i,
          .data_i(draw_i[RestBits-1:0]),
          .data_o(line)
      );
      assign rest = SplitBits'(line);
    end else begin : gen_no_rest
      assign rest = '0;
    end
    always_ff @(posedge clk_i)
      chosen_o <= rest < word[WordBits-1-:SplitBits] ? word[0+:DataWidth] :
          word[DataWidth+:DataWidth];
  end else begin : gen_no_choice
    always_ff @(posedge clk_i) chosen_o <= word;
  end

  logic unused_bits;
  assign unused_bits = ^{data_i, draw_i};

endmodule
