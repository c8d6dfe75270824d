// SPDX-License-Identifier: Apache-2.0
// A board's additions to the device: a safe reset and a sign of life.
//
// Function    Holds the device in reset until the PLL has locked and while the button is pressed. The LED
//             blinks once a second, and is inverted for 25 to 100 ms after a start bit.
// Timing      Inputs pass two registers; the reset ends 16 clocks after its last cause.
// Handshake   none
// Reset       All registers start from their initial values.
// Hazards     button_i, locked_i and rx_i are asynchronous; each has its two registers here or in the UART.
// Invariants  none
// Resources   fpga/README.md
// Reference   none
//
// Lines after //LANES are used if the lanes have their own clock, those after //PINS if the agent's world is at
// pins.

module qs_board #(
    parameter int unsigned ClockHz = 48_000_000,
    //PINS parameter int unsigned StateBits = 5,
    //PINS parameter int unsigned ActionBits = 2,
    //PINS parameter int unsigned Width = 16,
    parameter logic [63:0] Build = '0  // identity of the build, first byte lowest
) (
    input  logic clk_i,
    //LANES input logic lanes_clk_i,
    input  logic locked_i,
    input  logic button_i,
    input  logic rx_i,
    //PINS output logic pin_action_valid_o,
    //PINS output logic [StateBits-1:0] pin_action_state_o,
    //PINS output logic [ActionBits-1:0] pin_action_o,
    //PINS input logic pin_answer_valid_i,
    //PINS input logic [Width-1:0] pin_answer_reward_i,
    //PINS input logic [StateBits-1:0] pin_answer_next_state_i,
    //PINS input logic pin_answer_terminated_i,
    //PINS input logic [StateBits-1:0] pin_start_state_i,
    output logic tx_o,
    output logic led_o
);

  localparam int unsigned HalfSecond = ClockHz / 2;
  localparam int unsigned TimerBits = $clog2(HalfSecond);
  localparam int unsigned TickBits = $clog2(ClockHz / 40);  // 25 to 50 ms

  logic [1:0] stop_q = '1, active_q = '0;
  logic [3:0] wait_q = '0;
  logic rst_q = 1'b1;
  always_ff @(posedge clk_i) begin
    stop_q <= {stop_q[0], button_i || !locked_i};
    wait_q <= stop_q[1] ? '0 : wait_q + 4'(!(&wait_q));
    rst_q  <= !(&wait_q);
  end

  logic [TimerBits-1:0] beat_q = '0;
  logic [1:0] flicker_q = '0;  // ticks to go
  logic level_q = 1'b0;
  always_ff @(posedge clk_i) begin
    active_q <= {active_q[0], !rx_i};
    beat_q   <= beat_q == TimerBits'(HalfSecond - 1) ? '0 : beat_q + 1'b1;
    if (beat_q == '0) level_q <= !level_q;
    if (active_q[1]) flicker_q <= '1;
    else if (beat_q[TickBits-1:0] == '0) flicker_q <= flicker_q >> 1;
    led_o <= level_q ^ flicker_q[0];
  end

  //PINS logic action_valid, answer_valid, answer_terminated;
  //PINS logic [StateBits-1:0] action_state, answer_next_state, start_state;
  //PINS logic [ActionBits-1:0] action;
  //PINS logic [Width-1:0] answer_reward;
  //PINS qs_pins #(
  //PINS     .StateBits(StateBits), .ActionBits(ActionBits), .Width(Width)
  //PINS ) u_pins (.rst_i(rst_q), .*);

  qstep_top u_top (
      //PINS .action_valid, .action_agent(), .action_state, .action,
      //PINS .answer_valid, .answer_ready(), .answer_agent('0), .answer_reward, .answer_next_state,
      //PINS .answer_terminated, .start_state,
      .clk  (clk_i),
      //LANES .lanes_clk(lanes_clk_i),
      .rst  (rst_q),
      .rx   (rx_i),
      .tx   (tx_o),
      .build(Build)
  );

endmodule
