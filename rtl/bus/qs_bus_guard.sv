// SPDX-License-Identifier: Apache-2.0
// Guards generated registers: redirects a partial-word write to an address outside the map.
//
// Function    Forwards address and data of a write together. Unless all byte strobes are set, the address becomes
//             BadAddress. The registers reject the write with SLVERR, so no register is ever half-written.
// Timing      A write waits until both address and data are valid; they are accepted one clock later, together. At most
//             one write in two clocks.
// Handshake   AXI4-Lite write address and write data. Both ready outputs are registered, because the protocol forbids
//             a combinational path from an input to an output. A down_*ready_i stays high until a write is accepted.
// Reset       rst_i is synchronous and rejects writes.
// Hazards     none
// Invariants  none
// Resources   One flip-flop, and a multiplexer of AddressBits.
// Reference   Arm IHI 0022, "AMBA AXI protocol", AXI4-Lite.

module qs_bus_guard #(
    parameter int unsigned AddressBits = 12,
    parameter logic [AddressBits-1:0] BadAddress = '1
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                   awvalid_i,
    output logic                   awready_o,
    input  logic [AddressBits-1:0] awaddr_i,
    input  logic                   wvalid_i,
    output logic                   wready_o,
    input  logic [            3:0] wstrb_i,

    output logic                   down_valid_o,    // of both channels
    input  logic                   down_awready_i,
    input  logic                   down_wready_i,
    output logic [AddressBits-1:0] down_awaddr_o
);

  logic accept, accept_q;
  assign accept = awvalid_i && wvalid_i && down_awready_i && down_wready_i;

  always_ff @(posedge clk_i) accept_q <= accept && !accept_q && !rst_i;

  assign down_valid_o = accept_q;
  assign awready_o = accept_q;
  assign wready_o = accept_q;
  assign down_awaddr_o = wstrb_i == '1 ? awaddr_i : BadAddress;

endmodule
