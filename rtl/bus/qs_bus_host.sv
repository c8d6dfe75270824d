// SPDX-License-Identifier: Apache-2.0
// Serves bus requests between transitions: new settings, a clear of the table, or an access to an entry.
//
// Function    Stores the current settings. Each request waits until the lane is idle; settings take priority over
//             clears, and clears over accesses. Out-of-range settings are rejected as a whole. An out-of-range entry
//             reads as 0 and is not written; a value that does not fit is not written either.
// Timing      Clocks after idle_i: two for settings, States * Actions for a clear, one for a write, three for a read.
// Handshake   configure_i and clear_i are one-clock pulses, allowed at any time. access_i is a one-clock pulse,
//             answered by a one-clock ack_o; one access at a time. pause_o blocks new transitions.
// Reset       alpha 0, kappa 0, nearest rounding; no request is pending.
// Hazards     none
// Invariants  OneAccess_A
// Resources   negligible
// Reference   none

`include "qs_assert.svh"

module qs_bus_host #(
    parameter  int unsigned States        = 64,              // as in qs_lane
    parameter  int unsigned Actions       = 4,
    parameter  int unsigned Width         = 16,
    parameter  int unsigned CoeffFraction = 15,
    localparam int unsigned StateBits     = $clog2(States),
    localparam int unsigned ActionBits    = $clog2(Actions)
) (
    input logic clk_i,
    input logic rst_i,

    // Requests
    input  logic                         configure_i,
    input  logic [qs_pkg::CoeffBits-1:0] alpha_i,
    input  logic [qs_pkg::CoeffBits-1:0] kappa_i,
    input  logic [                  1:0] rounding_i,
    input  logic [                 31:0] noise_x_i,
    input  logic                         clear_i,
    input  logic                         access_i,
    input  logic                         write_i,
    input  logic [                 15:0] state_i,
    input  logic [                  5:0] action_i,
    input  logic [                 31:0] data_i,
    output logic                         ack_o,
    output logic [                 31:0] data_o,
    output logic                         advance_o,       // to the next entry
    output logic [                 15:0] next_state_o,
    output logic [                  5:0] next_action_o,
    output logic                         pending_o,       // settings or a clear
    output logic                         bad_settings_o,  // events, one clock each
    output logic                         bad_index_o,
    output logic                         bad_value_o,

    // The lane
    output logic                         pause_o,
    input  logic                         idle_i,
    output logic [qs_pkg::CoeffBits-1:0] alpha_o,
    output logic [qs_pkg::CoeffBits-1:0] kappa_o,
    output logic [                  1:0] rounding_o,
    output logic                         noise_load_o,
    output logic                         host_write_o,
    output logic [        StateBits-1:0] host_state_o,
    output logic [       ActionBits-1:0] host_action_o,
    output logic [            Width-1:0] host_data_o,
    input  logic [            Width-1:0] host_data_i
);

  localparam logic [StateBits-1:0] LAST_STATE = StateBits'(States - 1);
  localparam logic [ActionBits-1:0] LAST_ACTION = ActionBits'(Actions - 1);

  typedef enum logic [2:0] {
    StIdle,
    StConfigure,
    StSettle,
    StClear,
    StAccess,
    StWait,
    StRead
  } state_e;

  state_e state_q;
  logic configure_q, clear_q, access_q, write_q;
  logic [31:0] data_q;
  logic [StateBits-1:0] walk_state_q;
  logic [ActionBits-1:0] walk_action_q;

  logic legal, exists, fits;
  assign legal = 32'(alpha_i) <= 32'd1 << CoeffFraction && kappa_i <= alpha_i &&
      rounding_i <= qs_pkg::RoundStochastic && noise_x_i != '0;
  assign exists = 32'(state_i) < States && 32'(action_i) < Actions;
  assign fits = data_q == 32'($signed(data_q[Width-1:0]));

  always_ff @(posedge clk_i) begin
    configure_q <= configure_q || configure_i;
    clear_q <= clear_q || clear_i;
    if (access_i) begin
      access_q <= 1'b1;
      write_q  <= write_i;
      data_q   <= data_i;
    end
    unique case (state_q)
      StIdle: begin
        walk_state_q  <= '0;
        walk_action_q <= '0;
        if (idle_i && configure_q) begin
          configure_q <= configure_i;
          state_q <= StConfigure;
        end else if (idle_i && clear_q) begin
          clear_q <= clear_i;
          state_q <= StClear;
        end else if (idle_i && access_q) begin
          access_q <= 1'b0;
          state_q  <= StAccess;
        end
      end
      StConfigure: begin
        state_q <= StSettle;
        if (legal) begin
          alpha_o <= alpha_i;
          kappa_o <= kappa_i;
          rounding_o <= rounding_i;
        end
      end
      StClear: begin
        walk_action_q <= walk_action_q + 1'b1;
        if (walk_action_q == LAST_ACTION) begin
          walk_action_q <= '0;
          walk_state_q  <= walk_state_q + 1'b1;
          if (walk_state_q == LAST_STATE) state_q <= StIdle;
        end
      end
      StAccess: state_q <= write_q || !exists ? StIdle : StWait;
      StWait:   state_q <= StRead;
      default:  state_q <= StIdle;
    endcase
    if (rst_i) begin
      {configure_q, clear_q, access_q} <= '0;
      state_q <= StIdle;
      alpha_o <= '0;
      kappa_o <= '0;
      rounding_o <= qs_pkg::RoundNearest;
    end
  end

  assign pause_o = configure_q || clear_q || access_q || state_q != StIdle;
  assign pending_o = configure_i || configure_q || clear_i || clear_q ||
      state_q inside {StConfigure, StSettle, StClear};
  assign noise_load_o = state_q == StConfigure && legal;
  assign bad_settings_o = state_q == StConfigure && !legal;
  assign bad_index_o = state_q == StAccess && !exists;
  assign bad_value_o = state_q == StAccess && exists && write_q && !fits;

  assign host_state_o = state_q == StClear ? walk_state_q : state_i[StateBits-1:0];
  assign host_action_o = state_q == StClear ? walk_action_q : action_i[ActionBits-1:0];
  assign host_data_o = state_q == StClear ? '0 : data_q[Width-1:0];
  assign host_write_o = state_q == StClear || (state_q == StAccess && write_q && exists && fits);

  assign ack_o = state_q == StRead || (state_q == StAccess && (write_q || !exists));
  assign data_o = state_q == StRead ? 32'($signed(host_data_i)) : '0;
  assign advance_o = ack_o && exists;
  assign next_action_o = 32'(action_i) == Actions - 1 ? '0 : action_i + 1'b1;
  always_comb begin
    next_state_o = state_i;
    if (32'(action_i) == Actions - 1) begin
      next_state_o = 32'(state_i) == States - 1 ? '0 : state_i + 1'b1;
    end
  end

  `QS_ASSERT(OneAccess_A, !access_i || (!access_q && !(state_q inside {StAccess, StWait, StRead})))

endmodule
