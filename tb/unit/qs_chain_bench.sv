// SPDX-License-Identifier: Apache-2.0
// A farm's daisy chain without the lanes: the generated head, and nodes whose lane connections are ports.
//
// Function    as qs_chain_node; element k of each array belongs to lane k.

module qs_chain_bench
  import qs_chain_pkg::*;
#(
    parameter int unsigned Lanes     = 3,
    parameter int unsigned IndexMask = 32'h3fffffff
) (
    input logic clk_i,
    input logic rst_i,

    input  logic        access_i,
    input  logic        write_i,
    input  logic [ 7:0] lane_i,
    input  logic [ 2:0] region_i,
    input  logic [29:0] index_i,
    input  logic [31:0] word_i,
    output logic        done_o,
    output logic [31:0] read_o,
    input  logic        run_i,
    input  logic [47:0] steps_i,
    input  logic        stop_i,
    output logic        busy_o,

    output logic [Lanes-1:0]       lane_rst_o,
    output logic [Lanes-1:0]       lane_valid_o,
    output logic [Lanes-1:0]       lane_write_o,
    output logic [Lanes-1:0][ 2:0] lane_region_o,
    output logic [Lanes-1:0][29:0] lane_index_o,
    output logic [Lanes-1:0][31:0] lane_word_o,
    input  logic [Lanes-1:0]       lane_done_i,
    input  logic [Lanes-1:0][31:0] lane_read_i,
    output logic [Lanes-1:0]       lane_run_o,
    output logic [Lanes-1:0][47:0] lane_steps_o,
    output logic [Lanes-1:0]       lane_stop_o,
    input  logic [Lanes-1:0]       lane_busy_i
);

  logic  [Lanes:0] rst;
  down_t [Lanes:0] down;
  up_t   [Lanes:0] up;
  logic unused_end, unused_silent;
  logic [3:0] unused_agent;

  assign up[Lanes]  = '0;
  assign unused_end = ^{down[Lanes], rst[Lanes]};

  qs_chain_head u_head (
      .clk                 (clk_i),
      .rst                 (rst_i),
      .agents__access      (access_i),
      .agents__write       (write_i),
      .agents__lane        (lane_i),
      .agents__region      (region_i),
      .agents__index       (index_i),
      .agents__word        (word_i),
      .agents__done        (done_o),
      .agents__read        (read_o),
      .agents__run         (run_i),
      .agents__steps       (steps_i),
      .agents__stop        (stop_i),
      .agents__busy        (busy_o),
      .agents__silent      (unused_silent),
      .agents__silent_agent(unused_agent),
      .reset               (rst[0]),
      .down                (down[0]),
      .up                  (up[0])
  );

  for (genvar k = 0; k < Lanes; k++) begin : gen_node
    qs_chain_node #(
        .IndexMask(IndexMask)
    ) u_node (
        .clk_i,
        .rst_i       (rst[k]),
        .rst_o       (rst[k+1]),
        .lane_rst_o  (lane_rst_o[k]),
        .down_i      (down[k]),
        .down_o      (down[k+1]),
        .up_i        (up[k+1]),
        .up_o        (up[k]),
        .bus_valid_o (lane_valid_o[k]),
        .bus_write_o (lane_write_o[k]),
        .bus_region_o(lane_region_o[k]),
        .bus_index_o (lane_index_o[k]),
        .bus_data_o  (lane_word_o[k]),
        .bus_done_i  (lane_done_i[k]),
        .bus_data_i  (lane_read_i[k]),
        .run_o       (lane_run_o[k]),
        .run_steps_o (lane_steps_o[k]),
        .stop_o      (lane_stop_o[k]),
        .busy_i      (lane_busy_i[k])
    );
  end

endmodule
