// SPDX-License-Identifier: Apache-2.0
// Top-level testbench module with the whole device. One word contains the state of the device's byte streams at the
// last rising edge.
//
// Function    rx_i is {valid, data}; seen_o is {edge:8, tx_data:8, 0:3, reset, tx_ready, tx_valid, rx_ready,
//             rx_valid, rx_data:8}. The edge number lets a reader of every clock detect a missed one.
// Timing      seen_o: one clock. Drive and read at the falling edge.
// Reference   docs/link.md

module qs_device_bench (
    input logic clk_i,
    input logic rst_i,

    input  logic [ 8:0] rx_i,
    input  logic        tx_ready_i,
    output logic [15:0] divisor_o,
    output logic [31:0] seen_o
);

  logic rx_ready, tx_valid;
  logic [7:0] tx_data;

  qstep_device u_device (
      .clk       (clk_i),
      .rst       (rst_i),
      .rx_valid  (rx_i[8]),
      .rx_data   (rx_i[7:0]),
      .tx_ready  (tx_ready_i),
      .divisor   (divisor_o),
      .line_break(1'b0),
      .build     (64'hEFCD_AB89_6745_2301),
      .*
  );

  initial seen_o = '0;
  always_ff @(posedge clk_i) begin
    seen_o <= {
      seen_o[31:24] + 8'd1, tx_data, 3'b0, rst_i, tx_ready_i, tx_valid, rx_ready, rx_i[8], rx_i[7:0]
    };
  end

endmodule
