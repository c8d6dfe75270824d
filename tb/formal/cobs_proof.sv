// SPDX-License-Identifier: Apache-2.0
// The link's COBS decoder reverses every legal encoding of every frame, and reports truncated frames.
//
// Function    The reference sender encodes freely: blocks of any length, full blocks not followed by a zero, and any
//             number of delimiters between frames. One clock later, the decoder outputs the sender's bytes.
// Assumed     Power-up is a reset; another reset may come at any time, and restarts sender and decoder.

module cobs_proof (
    input logic       clk_i,
    input logic       rst_i,
    input logic       sends_i,
    input logic       delimits_i,
    input logic [7:0] byte_i
);

  // Bytes left in the block, and whether the block ends in a zero if another block follows.
  logic [7:0] left_q = '0, line;
  logic zero_q = 1'b0, inside_q = 1'b0, past_q = 1'b0;
  logic valid_q = 1'b0, end_q = 1'b0, broken_q = 1'b0;
  logic [7:0] data_q;
  assign line = delimits_i ? '0 : byte_i;

  logic valid, ends, broken;
  logic [7:0] data;
  cobs_decoder u_decoder (
      .clk      (clk_i),
      .rst      (rst_i),
      .in_valid (sends_i),
      .in_data  (line),
      .valid    (valid),
      .data     (data),
      .\end     (ends),
      .broken   (broken)
  );

  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    {valid_q, end_q} <= '0;
    if (sends_i && delimits_i) begin
      {left_q, zero_q, inside_q} <= '0;
      {end_q, broken_q} <= {inside_q, left_q != 0};
    end else if (sends_i && left_q == 0) begin
      {left_q, zero_q, inside_q} <= {byte_i - 8'd1, byte_i != 8'd255, 1'b1};
      {valid_q, data_q} <= {zero_q, 8'd0};
    end else if (sends_i) begin
      left_q <= left_q - 1'b1;
      {valid_q, data_q} <= {1'b1, byte_i};
    end
    if (rst_i) begin
      {left_q, zero_q, inside_q} <= '0;
      {valid_q, end_q} <= '0;
    end
  end

  always_comb begin
    assume (past_q || rst_i);
    assume (byte_i != 0);
    if (past_q) begin
      Block_L : assert (u_decoder.left == left_q && u_decoder.at_code == (left_q == 0));
      Zero_L : assert (u_decoder.pending_zero == zero_q && u_decoder.\inside == inside_q);
      Byte_A : assert (valid == valid_q && (!valid || data == data_q));
      End_A : assert (ends == end_q && (!ends || broken == broken_q));
      OneOf_A : assert (!(valid && ends));
      Zero_C : cover (valid && data == 0 && left_q == 8'd253);
      Cut_C : cover (ends && broken);
    end
  end

endmodule
