// SPDX-License-Identifier: Apache-2.0
// Connects only the lane, through registers, to four pins, to estimate its area and clock.
//
// Function    Each input of the lane comes from a register, which is loaded from a shift register fed by din_i.
//             Each output is captured in a register and shifted out through dout_o. So no part of the lane is
//             optimised away, and no path from or to the lane leaves the chip. The input shift register does not
//             drive the lane directly: a register in the lane that delays an input by one clock would duplicate
//             the next bit of the shift register, and would be merged with it.
// Timing      All paths of the lane begin and end in flip-flops. Outputs are shifted out after the clock that
//             captures them.
// Handshake   none: the data shifted in are not meaningful transitions.
// Reset       none; the lane's reset is one of the inputs.
// Hazards     din_i and load_i are asynchronous, which is harmless because the circuit never runs.
// Invariants  none
// Resources   2 * (Inputs + Outputs) flip-flops and Outputs LUTs, which reports on the lane exclude.
// Reference   none
//
// The lane has no parameters here: it is already elaborated. This file is simple enough for yosys' own Verilog
// reader. qstep_fpga.lane_wrapper finds the registers in the netlist by their names.

module qs_lane_wrapper #(
    parameter int unsigned States = 64,  // of the lane, see qs_lane
    parameter int unsigned Actions = 4,
    parameter int unsigned Width = 16,
    localparam int unsigned StateBits = $clog2(States),
    localparam int unsigned ActionBits = $clog2(Actions),
    localparam int unsigned Entry = StateBits + ActionBits + Width,
    localparam int unsigned Inputs = 103 + 2 * Entry + StateBits,
    localparam int unsigned Outputs = 70 + 3 * Width + ActionBits
) (
    input  logic clk_i,
    input  logic din_i,
    input  logic load_i,  // load new inputs and outputs instead of shifting the outputs
    output logic dout_o
);

  logic [Inputs-1:0] chain_q, in_q;
  logic [Outputs-1:0] out_q, shifted_q;

  // Signals are listed individually, so that a new port of the lane causes an error here.
  logic rst, noise_load, valid, terminated, write;
  logic [15:0] alpha, kappa;
  logic [1:0] rounding;
  logic [31:0] noise_x, noise_w;
  logic [StateBits-1:0] state, next_state, host_state;
  logic [ActionBits-1:0] action, host_action;
  logic [Width-1:0] reward, host_data;
  assign {rst, alpha, kappa, rounding, noise_load, noise_x, noise_w, valid, state, action, reward,
          next_state, terminated, write, host_state, host_action, host_data} = in_q;

  logic ready, res_valid, saturated, forwarded, hold, busy;
  logic [31:0] noise_x_next, noise_w_next;
  logic [Width-1:0] value, maximum, host_value;
  logic [ActionBits-1:0] greedy;

  always_ff @(posedge clk_i) begin
    chain_q <= {chain_q[Inputs-2:0], din_i};
    if (load_i) in_q <= chain_q;
    out_q <= {
      ready,
      res_valid,
      saturated,
      forwarded,
      hold,
      busy,
      noise_x_next,
      noise_w_next,
      value,
      maximum,
      host_value,
      greedy
    };
    shifted_q <= load_i ? out_q : {shifted_q[Outputs-2:0], 1'b0};
  end

  assign dout_o = shifted_q[Outputs-1];

  qs_lane u_lane (
      .clk_i          (clk_i),
      .rst_i          (rst),
      .alpha_i        (alpha),
      .kappa_i        (kappa),
      .rounding_i     (rounding),
      .noise_load_i   (noise_load),
      .noise_x_i      (noise_x),
      .noise_w_i      (noise_w),
      .noise_x_o      (noise_x_next),
      .noise_w_o      (noise_w_next),
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
      .host_write_i   (write),
      .host_state_i   (host_state),
      .host_action_i  (host_action),
      .host_data_i    (host_data),
      .host_data_o    (host_value),
      .hold_o         (hold),
      .busy_o         (busy)
  );

endmodule
