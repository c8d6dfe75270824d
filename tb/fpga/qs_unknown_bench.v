// SPDX-License-Identifier: Apache-2.0
// Four-state simulation of qstep_device that reports outputs that are unknown after reset.
//
// Registers and inputs start as unknown. Reset lasts one clock. From the next clock on, outputs are checked just
// before each rising edge: tx_data while tx_valid is 1, all others always. (Reading a buffer during a write may
// leave any value on tx_data before it is valid.)
//
// The device receives the bytes of stimulus.hex, one in every clock in which it accepts one; rx_data is unknown
// otherwise. Every byte sent by the device is accepted and printed. The simulation ends after Quiet clocks without a
// byte in either direction.

`timescale 1ns / 1ps

module qs_unknown_bench #(
    parameter Count = 1,
    parameter Quiet = 2000
);

  reg [7:0] stimulus[0:Count-1];
  integer taken = 0, still = 0, clocks = 0;

  reg clk = 0, rst = 1'bx, rx_valid = 1'bx, tx_ready = 1'bx;
  reg [7:0] rx_data = 8'bx;
  wire rx_ready, tx_valid;
  wire [7:0] tx_data;
  wire [15:0] divisor;

  qstep_device u_device (
      .clk     (clk),
      .rst     (rst),
      .build   (64'b0),
      .line_break(1'b0),
      .rx_data (rx_data),
      .rx_valid(rx_valid),
      .rx_ready(rx_ready),
      .tx_data (tx_data),
      .tx_valid(tx_valid),
      .tx_ready(tx_ready),
      .divisor (divisor)
  );

  task tick;
    begin
      #5 clk = 1;
      #5 clk = 0;
    end
  endtask

  initial begin
    $readmemh("stimulus.hex", stimulus);
    tick;
    rst = 1;
    rx_valid = 0;
    tx_ready = 1;
    tick;
    rst = 0;
    while (still < Quiet) begin
      rx_valid = taken < Count;
      rx_data = rx_valid ? stimulus[taken] : 8'bx;
      #4;
      if (^{rx_ready, tx_valid, divisor} === 1'bx || tx_valid && ^tx_data === 1'bx)
        $display("unknown in clock %0d: rx_ready %b tx_valid %b tx_data %b divisor %b", clocks,
                 rx_ready, tx_valid, tx_data, divisor);
      if (tx_valid === 1) $display("sent %h", tx_data);
      still = rx_valid || tx_valid === 1 ? 0 : still + 1;
      if (rx_valid && rx_ready === 1) taken = taken + 1;
      clocks = clocks + 1;
      #1 clk = 1;
      #5 clk = 0;
    end
    $finish;
  end

endmodule
