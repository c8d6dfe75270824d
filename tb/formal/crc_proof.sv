// SPDX-License-Identifier: Apache-2.0
// The link's CRC is the same as a bitwise CRC-32, and `matches` is 1 after a frame followed by its own CRC.
//
// Assumed     Power-up is a reset.

module crc_proof (
    input logic       clk,
    input logic       rst,
    input logic       start,
    input logic       enable,
    input logic       shift,
    input logic [7:0] data_i
);

  localparam logic [31:0] Residue = 32'hDEBB20E3;

  logic [7:0] crc;
  logic match;
  crc32 u_crc (
      .data(data_i),
      .\matches (match),
      .*
  );

  function automatic logic [31:0] after(logic [31:0] register, logic [7:0] data);
    after = register ^ 32'(data);
    for (int unsigned bit_number = 0; bit_number < 8; bit_number++) begin
      after = after[0] ? (after >> 1) ^ 32'hEDB88320 : after >> 1;
    end
  endfunction

  // The number of CRC bytes so far, low byte first; own_q is the CRC before them.
  logic [31:0] register_q, own_q;
  logic [2:0] own_bytes_q = '0;
  logic past_q = 1'b0;
  logic continues;
  assign continues = own_bytes_q != 0 && own_bytes_q < 4 && data_i == 8'(own_q >> 8 * own_bytes_q);
  always_ff @(posedge clk) begin
    past_q <= 1'b1;
    own_bytes_q <= '0;
    if (start) begin
      register_q <= '1;
    end else if (enable) begin
      register_q <= after(register_q, data_i);
      if (own_bytes_q == 0 && data_i == ~register_q[7:0]) begin
        own_q <= ~register_q;
        own_bytes_q <= 3'd1;
      end else if (continues) begin
        own_bytes_q <= own_bytes_q + 1'b1;
      end
    end else if (shift) begin
      register_q <= register_q >> 8;
    end
    if (rst) begin
      register_q  <= '1;
      own_bytes_q <= '0;
    end
  end

  always_comb begin
    assume (past_q || rst);
    if (past_q) begin
      Register_L : assert (u_crc.register == register_q);
      Crc_A : assert (crc == ~register_q[7:0]);
      Matches_A : assert (match == (register_q == Residue));
      Own_A : assert (rst || own_bytes_q != 4 || match);
      Own_C : cover (own_bytes_q == 4);
    end
  end

endmodule
