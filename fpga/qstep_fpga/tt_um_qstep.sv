// SPDX-License-Identifier: Apache-2.0
// The smallest useful lane, on the pins of a Tiny Tapeout tile: 8 states, 2 actions, values in Q5.3.
//
// Function    ui_in is {terminated, action, next state[3], state[3]}. uio_in[5:0] is signed data in units of
//             2^-3: the reward if uio_in[6] (apply) is 1, or the new entry if uio_in[7] (write) is 1.
//             alpha = 1/2 and gamma = 7/8 are constants, so the multipliers become a few adders; rounding is
//             to nearest. uo_out is Q[state, action].
// Timing      uo_out is valid two clocks after ui_in if no transition was applied in the last 7 clocks. Every
//             stream runs at one transition per clock.
// Handshake   none: with LoopDepth 1 the lane never stalls. Do not write until 7 clocks after the last apply.
// Reset       rst_n is synchronous and flushes the pipeline, but does not clear the table: write all 16 entries
//             after power-up. Inputs are ignored during reset.
// Hazards     as qs_lane
// Invariants  none of its own
// Resources   docs/package.md
// Reference   https://tinytapeout.com

module tt_um_qstep (
    input  logic [7:0] ui_in,
    output logic [7:0] uo_out,
    input  logic [7:0] uio_in,
    output logic [7:0] uio_out,
    output logic [7:0] uio_oe,
    input  logic       ena,
    input  logic       clk,
    input  logic       rst_n
);

  localparam int unsigned States = 8;
  localparam int unsigned Actions = 2;
  localparam int unsigned Width = 8;
  localparam logic [qs_pkg::CoeffBits-1:0] ALPHA = 16'd16384;  // 1/2
  localparam logic [qs_pkg::CoeffBits-1:0] KAPPA = 16'd14336;  // alpha * gamma

  logic rst, terminated, action, apply, write;
  logic [2:0] state, next_state;
  logic signed [Width-1:0] data;

  assign rst = !rst_n;
  assign {terminated, action, next_state, state} = ui_in;
  assign {write, apply} = rst ? '0 : uio_in[7:6];
  assign data = Width'(signed'(uio_in[5:0]));
  assign uio_out = '0;
  assign uio_oe = '0;

  logic ready, busy, hold, res_valid, res_saturated, res_forwarded, res_greedy;
  logic [Width-1:0] res_value, res_max;
  logic [31:0] noise_x, noise_w;

  qs_lane #(
      .States   (States),
      .Actions  (Actions),
      .Width    (Width),
      .LoopDepth(1)
  ) u_lane (
      .clk_i          (clk),
      .rst_i          (rst),
      .alpha_i        (ALPHA),
      .kappa_i        (KAPPA),
      .rounding_i     (qs_pkg::RoundNearest),
      .noise_load_i   (1'b0),
      .noise_x_i      (32'd1),
      .noise_w_i      (32'd0),
      .noise_x_o      (noise_x),
      .noise_w_o      (noise_w),
      .tr_valid_i     (apply),
      .tr_ready_o     (ready),
      .tr_state_i     (state),
      .tr_action_i    (action),
      .tr_reward_i    (data),
      .tr_next_state_i(next_state),
      .tr_terminated_i(terminated),
      .res_valid_o    (res_valid),
      .res_value_o    (res_value),
      .res_max_o      (res_max),
      .res_greedy_o   (res_greedy),
      .res_saturated_o(res_saturated),
      .res_forwarded_o(res_forwarded),
      .host_write_i   (write),
      .host_state_i   (state),
      .host_action_i  (action),
      .host_data_i    (data),
      .host_data_o    (uo_out),
      .hold_o         (hold),
      .busy_o         (busy)
  );

  logic unused;
  assign unused = &{
    ena, ready, busy, hold, res_valid, res_value, res_max, res_greedy, res_saturated, res_forwarded,
    noise_x, noise_w
  };

endmodule
