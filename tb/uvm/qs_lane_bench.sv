// SPDX-License-Identifier: Apache-2.0
// Top-level testbench module with qs_lane, whose signals are packed into two words, so that a Python bench needs
// only one write and one read per clock.
//
// Function    offer_i is the transition offered to the lane. seen_o contains the lane's signals at the last rising
//             edge and the number of that edge, so that a reader can detect a missed one. It consists of
//             32-bit words, so that NumPy can unpack it (uvm/lane_pins.py).
// Timing      seen_o: one clock. offer_i: combinational. Drive and read at the falling edge.
// Reset       none: edges in reset are also numbered and recorded.

module qs_lane_bench #(
    parameter  int unsigned States        = 64,
    parameter  int unsigned Actions       = 4,
    parameter  int unsigned Width         = 16,
    parameter  int unsigned CoeffFraction = 15,
    parameter  int unsigned LoopDepth     = 1,
    localparam int unsigned StateBits     = $clog2(States),
    localparam int unsigned ActionBits    = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic [15:0] alpha_i,
    input  logic [15:0] kappa_i,
    input  logic [ 1:0] rounding_i,
    input  logic        noise_load_i,
    input  logic [31:0] noise_x_i,
    input  logic [31:0] noise_w_i,
    output logic [31:0] noise_x_o,
    output logic [31:0] noise_w_o,

    input logic [71:0] offer_i,  // valid, terminated, action:6, reward:32, next_state:16, state:16

    input  logic [55:0] host_i,      // 0, write, action:6, state:16, data:32
    output logic [31:0] host_data_o, // sign-extended

    output logic [191:0] seen_o,
    output logic         refused_o,  // an offer was not accepted at the last rising edge
    output logic         busy_o
);

  logic valid, ready, terminated;
  logic [StateBits-1:0] state, next_state;
  logic [ActionBits-1:0] action;
  logic signed [Width-1:0] reward;

  logic res_valid, saturated, forwarded, hold, busy;
  logic signed [Width-1:0] value, maximum;
  logic [ActionBits-1:0] greedy;
  logic signed [Width-1:0] host_data;

  assign {valid, terminated} = offer_i[71:70];
  assign action = offer_i[64+:ActionBits];
  assign reward = offer_i[32+:Width];
  assign next_state = offer_i[16+:StateBits];
  assign state = offer_i[0+:StateBits];

  qs_lane #(
      .States       (States),
      .Actions      (Actions),
      .Width        (Width),
      .CoeffFraction(CoeffFraction),
      .LoopDepth    (LoopDepth)
  ) u_lane (
      .tr_valid_i     (valid),
      .tr_ready_o     (ready),
      .tr_state_i     (state),
      .tr_action_i    (action),
      .tr_reward_i    (reward),
      .tr_next_state_i(next_state),
      .tr_terminated_i(terminated),
      .res_valid_o    (res_valid),
      .res_value_o    (value),
      .res_max_o      (maximum),
      .res_greedy_o   (greedy),
      .res_saturated_o(saturated),
      .res_forwarded_o(forwarded),
      .host_write_i   (host_i[54]),
      .host_state_i   (host_i[32+:StateBits]),
      .host_action_i  (host_i[48+:ActionBits]),
      .host_data_i    (host_i[0+:Width]),
      .host_data_o    (host_data),
      .hold_o         (hold),
      .busy_o         (busy),
      .*
  );

  assign host_data_o = 32'(host_data);
  assign busy_o = busy;

  logic unused_inputs;
  assign unused_inputs = ^{offer_i, host_i};

  initial seen_o = '0;
  always_ff @(posedge clk_i) begin
    seen_o[31:0] <= seen_o[31:0] + 1;
    seen_o[63:32] <= {
      8'(action),
      8'(greedy),
      7'b0,
      rst_i,
      res_valid,
      saturated,
      forwarded,
      hold,
      busy,
      terminated,
      ready,
      valid
    };
    seen_o[95:64] <= {16'(next_state), 16'(state)};
    seen_o[127:96] <= 32'(reward);
    seen_o[159:128] <= 32'(value);
    seen_o[191:160] <= 32'(maximum);
    refused_o <= valid && !ready;
  end

endmodule
