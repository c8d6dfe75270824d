// Minimal devices with the ports of the real ones, for testing the code around them.

// Echoes every byte one clock later; its assertion fails on 0xEE.
module echo_device (
  input wire clk, input wire rst,
  input wire rx_valid, output wire rx_ready, input wire [7:0] rx_data,
  output wire tx_valid, input wire tx_ready, output wire [7:0] tx_data,
  output wire [15:0] divisor
);
  reg full;
  reg [7:0] data;
  assign rx_ready = !full || tx_ready;
  assign tx_valid = full;
  assign tx_data = data;
  assign divisor = 16;
  always @(posedge clk) begin
    if (rst) full <= 0;
    else if (rx_ready) begin
      full <= rx_valid;
      data <= rx_data;
      if (rx_valid) ByteIsAllowed_A: assert (rx_data != 8'hEE) else $error("byte EE is not allowed");
    end
  end
endmodule

// Echoes every bit one clock later.
module echo_top (input wire clk, input wire rst, input wire rx, output reg tx);
  always @(posedge clk) tx <= rst | rx;
endmodule
