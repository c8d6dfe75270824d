// SPDX-License-Identifier: Apache-2.0
// Connects only the interleaved lane and its world, through registers, to four pins, to estimate area and clock.
//
// Function    as qs_lane_wrapper
// Timing      as qs_lane_wrapper
// Handshake   none: the data shifted in are not meaningful accesses.
// Reset       none; the lane's reset is one of the inputs.
// Hazards     din_i and load_i are asynchronous, which is harmless because the circuit never runs.
// Invariants  none
// Resources   2 * (118 + 34) flip-flops and 34 LUTs, which reports exclude.
// Reference   none
//
// qs_acting has no parameters here: it is already elaborated.

module qs_acting_wrapper (
    input  logic clk_i,
    input  logic din_i,
    input  logic load_i,  // load new inputs and outputs instead of shifting the outputs
    output logic dout_o
);

  localparam int unsigned Inputs = 118;
  localparam int unsigned Outputs = 34;

  logic [Inputs-1:0] chain_q, in_q;
  logic [Outputs-1:0] out_q, shifted_q;

  logic rst, valid, write, run, stop, done, busy;
  logic [ 2:0] region;
  logic [29:0] index;
  logic [31:0] data, read;
  logic [47:0] steps;
  assign {rst, valid, write, region, index, data, run, steps, stop} = in_q;

  always_ff @(posedge clk_i) begin
    chain_q <= {chain_q[Inputs-2:0], din_i};
    if (load_i) in_q <= chain_q;
    out_q <= {done, read, busy};
    shifted_q <= load_i ? out_q : {shifted_q[Outputs-2:0], 1'b0};
  end

  assign dout_o = shifted_q[Outputs-1];

  qs_acting u_lane (
      .clk_i       (clk_i),
      .rst_i       (rst),
      .bus_valid_i (valid),
      .bus_write_i (write),
      .bus_region_i(region),
      .bus_index_i (index),
      .bus_data_i  (data),
      .bus_done_o  (done),
      .bus_data_o  (read),
      .run_i       (run),
      .run_steps_i (steps),
      .stop_i      (stop),
      .busy_o      (busy)
  );

endmodule
