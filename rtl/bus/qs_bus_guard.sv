// SPDX-License-Identifier: Apache-2.0
// Guards generated registers: redirects a partial-word write to an address outside the map.
//
// Function    Forwards address and data of a write together. Unless all byte strobes are set, the address becomes
//             BadAddress. The registers reject it with SLVERR, so no register is ever half-written.
// Timing      none: combinational. A write waits until both address and data are valid.
// Handshake   AXI4-Lite write address and write data. down_*_ready_i may not depend on down_*_valid_o.
// Reset       none
// Hazards     none
// Invariants  none
// Resources   An AND and a multiplexer of AddressBits.
// Reference   Arm IHI 0022, "AMBA AXI protocol", AXI4-Lite.

module qs_bus_guard #(
    parameter int unsigned AddressBits = 12,
    parameter logic [AddressBits-1:0] BadAddress = '1
) (
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

  assign down_valid_o = awvalid_i && wvalid_i && down_awready_i && down_wready_i;
  assign awready_o = down_valid_o;
  assign wready_o = down_valid_o;
  assign down_awaddr_o = wstrb_i == '1 ? awaddr_i : BadAddress;

endmodule
