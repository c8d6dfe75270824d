// SPDX-License-Identifier: Apache-2.0
// The lane on AXI: control over AXI4-Lite, transitions in and results out over AXI4-Stream.
//
// Function    See docs/buses.md: qs_lane with registers, described by qs_lane_regs.rdl, and two streams of records
//             (qs_bus_stream). Golden model: qstep.golden.lane.
// Timing      WriteStage + 5 clocks from the beat that completes a transition to the first beat of its result. One
//             beat per clock on both streams; with StreamBytes 16 this is the lane's full rate.
// Handshake   AXI4-Lite and AXI4-Stream. s_axis_tready depends combinationally on the lane's hold and on
//             m_axis_tready. One control access at a time.
// Reset       aresetn is synchronous here. Discards transitions, results, settings and counts; the table keeps its
//             contents (undefined after power-up: control.clear).
// Hazards     none
// Invariants  in the submodules
// Resources   docs/buses.md
// Reference   Arm IHI 0022 and IHI 0051.
//
// Port names follow the AXI convention, so tools recognise the interface.

module qs_axi_lane #(
    parameter int unsigned States = 64,  // as in qs_lane
    parameter int unsigned Actions = 4,
    parameter int unsigned Width = 16,
    parameter int unsigned Fraction = 8,  // of Width; only reported
    parameter int unsigned CoeffFraction = 15,
    parameter int unsigned LoopDepth = 1,
    parameter int unsigned StreamBytes = 4,  // per beat: 4, 8 or 16
    parameter logic [63:0] Digest = '0,  // first digits of Config.digest; only reported
    localparam int unsigned AddressBits = 12
) (
    input logic aclk,
    input logic aresetn,

    input  logic                   s_axil_awvalid,
    output logic                   s_axil_awready,
    input  logic [AddressBits-1:0] s_axil_awaddr,
    input  logic [            2:0] s_axil_awprot,
    input  logic                   s_axil_wvalid,
    output logic                   s_axil_wready,
    input  logic [           31:0] s_axil_wdata,
    input  logic [            3:0] s_axil_wstrb,
    output logic                   s_axil_bvalid,
    input  logic                   s_axil_bready,
    output logic [            1:0] s_axil_bresp,
    input  logic                   s_axil_arvalid,
    output logic                   s_axil_arready,
    input  logic [AddressBits-1:0] s_axil_araddr,
    input  logic [            2:0] s_axil_arprot,
    output logic                   s_axil_rvalid,
    input  logic                   s_axil_rready,
    output logic [           31:0] s_axil_rdata,
    output logic [            1:0] s_axil_rresp,

    input  logic                     s_axis_tvalid,
    output logic                     s_axis_tready,
    input  logic [8*StreamBytes-1:0] s_axis_tdata,
    input  logic                     s_axis_tlast,

    output logic                     m_axis_tvalid,
    input  logic                     m_axis_tready,
    output logic [8*StreamBytes-1:0] m_axis_tdata,
    output logic                     m_axis_tlast
);

  localparam int unsigned StateBits = $clog2(States);
  localparam int unsigned ActionBits = $clog2(Actions);

  logic clk_i, rst_i;
  assign clk_i = aclk;
  assign rst_i = !aresetn;

  // --- Registers ------------------------------------------------------------------------------------
  qs_lane_regs_pkg::qs_lane_regs__in_t  to_regs;
  qs_lane_regs_pkg::qs_lane_regs__out_t from_regs;

  logic write_valid, regs_awready, regs_wready, regs_arready;
  logic [AddressBits-1:0] write_address;

  qs_bus_guard #(
      .AddressBits(AddressBits)
  ) u_guard (
      .clk_i,
      .rst_i,
      .awvalid_i     (s_axil_awvalid),
      .awready_o     (s_axil_awready),
      .awaddr_i      (s_axil_awaddr),
      .wvalid_i      (s_axil_wvalid),
      .wready_o      (s_axil_wready),
      .wstrb_i       (s_axil_wstrb),
      .down_valid_o  (write_valid),
      .down_awready_i(regs_awready),
      .down_wready_i (regs_wready),
      .down_awaddr_o (write_address)
  );

  // During reset the registers assert ready but accept nothing.
  assign s_axil_arready = regs_arready && !rst_i;

  qs_lane_regs u_regs (
      .clk           (clk_i),
      .rst           (rst_i),
      .s_axil_awready(regs_awready),
      .s_axil_awvalid(write_valid),
      .s_axil_awaddr (write_address),
      .s_axil_awprot,
      .s_axil_wready (regs_wready),
      .s_axil_wvalid (write_valid),
      .s_axil_wdata,
      .s_axil_wstrb,
      .s_axil_bready,
      .s_axil_bvalid,
      .s_axil_bresp,
      .s_axil_arready(regs_arready),
      .s_axil_arvalid,
      .s_axil_araddr,
      .s_axil_arprot,
      .s_axil_rready,
      .s_axil_rvalid,
      .s_axil_rdata,
      .s_axil_rresp,
      .hwif_in       (to_regs),
      .hwif_out      (from_regs)
  );

  // --- Streams, and register requests between transitions ---------------------------------------------
  logic in_valid, in_ready, in_last, in_cut, out_valid, out_ready, out_last;
  logic [127:0] in_data, out_data;
  logic pause, stream_idle, stream_waits, refused, cut;

  logic tr_valid, tr_ready, tr_terminated, hold, busy;
  logic [StateBits-1:0] tr_state, tr_next_state, host_state;
  logic [ActionBits-1:0] tr_action, res_greedy, host_action;
  logic signed [Width-1:0] tr_reward, res_value, res_max;
  logic res_valid, res_saturated, res_forwarded;
  logic [qs_pkg::CoeffBits-1:0] alpha, kappa;
  logic [1:0] rounding;
  logic noise_load, host_write, ack, advance;
  logic [Width-1:0] host_data, lane_data;

  qs_bus_collect #(
      .Bytes(StreamBytes)
  ) u_collect (
      .clk_i,
      .rst_i,
      .tvalid_i(s_axis_tvalid),
      .tready_o(s_axis_tready),
      .tdata_i (s_axis_tdata),
      .tlast_i (s_axis_tlast),
      .valid_o (in_valid),
      .ready_i (in_ready),
      .data_o  (in_data),
      .last_o  (in_last),
      .cut_o   (in_cut)
  );

  qs_bus_stream #(
      .States   (States),
      .Actions  (Actions),
      .Width    (Width),
      .LoopDepth(LoopDepth)
  ) u_stream (
      .clk_i,
      .rst_i,
      .in_valid_i     (in_valid),
      .in_ready_o     (in_ready),
      .in_data_i      (in_data),
      .in_last_i      (in_last),
      .in_cut_i       (in_cut),
      .out_valid_o    (out_valid),
      .out_ready_i    (out_ready),
      .out_data_o     (out_data),
      .out_last_o     (out_last),
      .pause_i        (pause),
      .idle_o         (stream_idle),
      .waits_o        (stream_waits),
      .refused_o      (refused),
      .cut_o          (cut),
      .tr_valid_o     (tr_valid),
      .tr_ready_i     (tr_ready),
      .tr_state_o     (tr_state),
      .tr_action_o    (tr_action),
      .tr_reward_o    (tr_reward),
      .tr_next_state_o(tr_next_state),
      .tr_terminated_o(tr_terminated),
      .res_valid_i    (res_valid),
      .res_value_i    (res_value),
      .res_max_i      (res_max),
      .res_greedy_i   (res_greedy),
      .res_saturated_i(res_saturated),
      .res_forwarded_i(res_forwarded)
  );

  qs_bus_spread #(
      .Bytes(StreamBytes)
  ) u_spread (
      .clk_i,
      .rst_i,
      .valid_i (out_valid),
      .ready_o (out_ready),
      .data_i  (out_data),
      .last_i  (out_last),
      .tvalid_o(m_axis_tvalid),
      .tready_i(m_axis_tready),
      .tdata_o (m_axis_tdata),
      .tlast_o (m_axis_tlast)
  );

  qs_bus_host #(
      .States       (States),
      .Actions      (Actions),
      .Width        (Width),
      .CoeffFraction(CoeffFraction)
  ) u_host (
      .clk_i,
      .rst_i,
      .configure_i   (from_regs.control.configure.value),
      .alpha_i       (from_regs.alpha.value.value),
      .kappa_i       (from_regs.kappa.value.value),
      .rounding_i    (from_regs.rounding.mode.value),
      .noise_x_i     (from_regs.noise_seed_x.value.value),
      .clear_i       (from_regs.control.clear.value),
      .access_i      (from_regs.table_value.req),
      .write_i       (from_regs.table_value.req_is_wr),
      .state_i       (from_regs.table_state.value.value),
      .action_i      (from_regs.table_action.value.value),
      .data_i        (from_regs.table_value.wr_data.value),
      .ack_o         (ack),
      .data_o        (to_regs.table_value.rd_data.value),
      .advance_o     (advance),
      .next_state_o  (to_regs.table_state.value.next),
      .next_action_o (to_regs.table_action.value.next),
      .pending_o     (to_regs.status.pending.next),
      .bad_settings_o(to_regs.errors.bad_settings.hwset),
      .bad_index_o   (to_regs.errors.bad_index.hwset),
      .bad_value_o   (to_regs.errors.bad_value.hwset),
      .pause_o       (pause),
      .idle_i        (stream_idle && !busy),
      .alpha_o       (alpha),
      .kappa_o       (kappa),
      .rounding_o    (rounding),
      .noise_load_o  (noise_load),
      .host_write_o  (host_write),
      .host_state_o  (host_state),
      .host_action_o (host_action),
      .host_data_o   (host_data),
      .host_data_i   (lane_data)
  );

  // Reads and writes share one acknowledgement, since there is only one access at a time.
  logic is_write_q;
  always_ff @(posedge clk_i) begin
    if (from_regs.table_value.req) is_write_q <= from_regs.table_value.req_is_wr;
  end

  assign to_regs.table_value.rd_ack = ack && !is_write_q;
  assign to_regs.table_value.wr_ack = ack && is_write_q;
  assign to_regs.table_state.value.we = advance;
  assign to_regs.table_action.value.we = advance;
  assign to_regs.digest.value.next = Digest;
  assign to_regs.geometry.states.next = 17'(States);
  assign to_regs.geometry.actions.next = 7'(Actions);
  assign to_regs.format.width.next = 6'(Width);
  assign to_regs.format.fraction.next = 6'(Fraction);
  assign to_regs.format.loop_depth.next = 2'(LoopDepth);
  assign to_regs.format.stream_bytes.next = 5'(StreamBytes);
  assign to_regs.status.busy.next = stream_waits || busy;
  assign to_regs.applied.value.incr = tr_valid && tr_ready;
  assign to_regs.refused.value.incr = refused;
  assign to_regs.cut.value.incr = cut;
  assign to_regs.held.value.incr = hold;
  assign to_regs.forwarded.value.incr = res_valid && res_forwarded;
  assign to_regs.saturated.value.incr = res_valid && res_saturated;

  qs_lane #(
      .States       (States),
      .Actions      (Actions),
      .Width        (Width),
      .CoeffFraction(CoeffFraction),
      .LoopDepth    (LoopDepth)
  ) u_lane (
      .clk_i,
      .rst_i,
      .alpha_i        (alpha),
      .kappa_i        (kappa),
      .rounding_i     (rounding),
      .noise_load_i   (noise_load),
      .noise_x_i      (from_regs.noise_seed_x.value.value),
      .noise_w_i      (from_regs.noise_seed_w.value.value),
      .noise_x_o      (to_regs.noise_x.value.next),
      .noise_w_o      (to_regs.noise_w.value.next),
      .tr_valid_i     (tr_valid),
      .tr_ready_o     (tr_ready),
      .tr_state_i     (tr_state),
      .tr_action_i    (tr_action),
      .tr_reward_i    (tr_reward),
      .tr_next_state_i(tr_next_state),
      .tr_terminated_i(tr_terminated),
      .res_valid_o    (res_valid),
      .res_value_o    (res_value),
      .res_max_o      (res_max),
      .res_greedy_o   (res_greedy),
      .res_saturated_o(res_saturated),
      .res_forwarded_o(res_forwarded),
      .host_write_i   (host_write),
      .host_state_i   (host_state),
      .host_action_i  (host_action),
      .host_data_i    (host_data),
      .host_data_o    (lane_data),
      .hold_o         (hold),
      .busy_o         (busy)
  );

endmodule
