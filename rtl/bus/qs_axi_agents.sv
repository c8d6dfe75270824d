// SPDX-License-Identifier: Apache-2.0
// Agents on AXI: control over AXI4-Lite; with an external world, actions out and answers in over AXI4-Stream.
//
// Function    See docs/buses.md: agents (qstep_agents, generated from a configuration) with registers, described by
//             qs_agents_regs.rdl, and two streams of records (qs_bus_live). Golden model: ActingModel in
//             qstep.golden.agents.
// Timing      With 4 actions and Q-learning, an agent's next action begins 22 to 37 clocks after the last beat of its
//             answer; the agents account for 18 to 33 of these clocks (docs/live-worlds.md). Tiles add 6 clocks, and
//             actions of other agents ahead in the queue add their beats.
// Handshake   AXI4-Lite and AXI4-Stream. Answers are always accepted; an action waits until it is accepted. One
//             control access at a time. Without an external world, the streams are unused.
// Reset       aresetn is synchronous here, and may be 0 for a single clock. Ends the job and discards actions,
//             answers and counts; memories keep their contents (undefined after power-up: write them first).
// Hazards     none
// Invariants  in the submodules
// Resources   docs/buses.md
// Reference   Arm IHI 0022 and IHI 0051.
//
// Port names follow the AXI convention, so tools recognise the interface.

module qs_axi_agents #(
    parameter int unsigned States = 32,  // as in the configuration
    parameter int unsigned Actions = 4,
    parameter int unsigned Width = 16,
    parameter int unsigned Fraction = 8,  // of Width; only reported
    parameter int unsigned Agents = 16,
    parameter int unsigned Planes = 1,  // with an external world that sends rows; otherwise 1
    parameter int unsigned Numbers = 0,  // per observation, if the world sends observations
    parameter bit AtPins = 1,  // the world is external
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

  logic clk_i, rst_i;

  assign clk_i = aclk;
  assign rst_i = !aresetn;

  // --- Registers ------------------------------------------------------------------------------------
  qs_agents_regs_pkg::qs_agents_regs__in_t  to_regs;
  qs_agents_regs_pkg::qs_agents_regs__out_t from_regs;

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

  qs_agents_regs u_regs (
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

  logic access, ack, is_write, run;
  logic [31:0] data, read;
  logic done, busy;

  qs_bus_words u_words (
      .clk_i,
      .rst_i,
      .access_i   (from_regs.word.req),
      .write_i    (from_regs.word.req_is_wr),
      .region_i   (from_regs.word_region.value.value),
      .data_i     (from_regs.word.wr_data.value),
      .ack_o      (ack),
      .is_write_o (is_write),
      .data_o     (to_regs.word.rd_data.value),
      .bad_word_o (to_regs.errors.bad_word.hwset),
      .run_i      (from_regs.control.run.value),
      .steps_i    ({from_regs.steps_high.value.value, from_regs.steps.value.value}),
      .bad_run_o  (to_regs.errors.bad_run.hwset),
      .bus_valid_o(access),
      .bus_data_o (data),
      .bus_done_i (done),
      .bus_data_i (read),
      .run_o      (run),
      .busy_i     (busy)
  );

  assign to_regs.status.busy.next = busy;
  assign to_regs.word.rd_ack = ack && !is_write;
  assign to_regs.word.wr_ack = ack && is_write;
  assign to_regs.word_index.value.we = ack;
  assign to_regs.word_index.value.next = from_regs.word_index.value.value + 1'b1;
  assign to_regs.digest.value.next = Digest;
  assign to_regs.geometry.states.next = 17'(States);
  assign to_regs.geometry.actions.next = 7'(Actions);
  assign to_regs.format.width.next = 6'(Width);
  assign to_regs.format.fraction.next = 6'(Fraction);
  assign to_regs.format.agents.next = 5'(Agents);
  assign to_regs.format.stream_bytes.next = AtPins ? 5'(StreamBytes) : '0;

  // --- The agents, and their world ----------------------------------------------------------------------
  localparam int unsigned RowBits = $clog2(States);
  localparam int unsigned StateBits = Planes * RowBits;
  localparam int unsigned SeenBits = Numbers == 0 ? 1 : 32 * Numbers;
  localparam int unsigned ActionBits = $clog2(Actions);

  logic action_valid, answer_valid, answer_ready, answer_terminated;
  logic [3:0] action_agent, answer_agent;
  logic [StateBits-1:0] action_state, answer_next_state;
  logic [ActionBits-1:0] action;
  logic [Width-1:0] answer_reward;
  logic [SeenBits-1:0] observation;
  logic [Planes-1:0][RowBits-1:0] start_state;
  logic [RowBits-1:0] start_row;

  always_comb begin
    start_row = '0;
    if (32'(from_regs.start_state.value.value) < States) begin
      start_row = from_regs.start_state.value.value[RowBits-1:0];
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned t = 0; t < Planes; t++) begin
      if (32'(from_regs.start_state.plane.value) == t) start_state[t] <= start_row;
    end
    if (rst_i) start_state <= '0;
  end

  qstep_agents u_agents (
      .clk         (clk_i),
      .rst         (rst_i),
      .access,
      .write       (is_write),
      .region      (from_regs.word_region.value.value),
      .index       (from_regs.word_index.value.value),
      .word        (data),
      .done,
      .read,
      .run,
      .steps       ({from_regs.steps_high.value.value, from_regs.steps.value.value}),
      .stop        (from_regs.control.stop.value),
      .busy        (busy),
      .silent      (to_regs.status.silent.next),
      .silent_agent(to_regs.status.silent_agent.next),
      .action_valid,
      .action_agent,
      .action_state,
      .action,
      .answer_valid,
      .answer_ready,
      .answer_agent,
      .answer_reward,
      .answer_next_state,
      .answer_terminated,
      .observation,
      .start_state
  );

  if (AtPins) begin : gen_outside
    localparam int unsigned RecordBytes = 1 << $clog2(
        Numbers == 0 ? 14 + 2 * Planes : 16 + 4 * Numbers
    );

    logic in_valid, in_last, in_cut, out_valid, out_ready;
    logic [8*RecordBytes-1:0] in_data, out_data;

    qs_bus_collect #(
        .Bytes      (StreamBytes),
        .RecordBytes(RecordBytes)
    ) u_collect (
        .clk_i,
        .rst_i,
        .tvalid_i(s_axis_tvalid),
        .tready_o(s_axis_tready),
        .tdata_i (s_axis_tdata),
        .tlast_i (s_axis_tlast),
        .valid_o (in_valid),
        .ready_i (1'b1),
        .data_o  (in_data),
        .last_o  (in_last),
        .cut_o   (in_cut)
    );

    qs_bus_live #(
        .States     (States),
        .Actions    (Actions),
        .Width      (Width),
        .Agents     (Agents),
        .Planes     (Planes),
        .Numbers    (Numbers),
        .RecordBytes(RecordBytes)
    ) u_live (
        .clk_i,
        .rst_i,
        .in_valid_i         (in_valid),
        .in_data_i          (in_data),
        .in_cut_i           (in_cut),
        .out_valid_o        (out_valid),
        .out_ready_i        (out_ready),
        .out_data_o         (out_data),
        .forget_i           (run),
        .refused_o          (to_regs.refused.value.incr),
        .cut_o              (to_regs.cut.value.incr),
        .action_valid_i     (action_valid),
        .action_agent_i     (action_agent),
        .action_state_i     (action_state),
        .action_i           (action),
        .answer_valid_o     (answer_valid),
        .answer_ready_i     (answer_ready),
        .answer_agent_o     (answer_agent),
        .answer_reward_o    (answer_reward),
        .answer_next_state_o(answer_next_state),
        .answer_terminated_o(answer_terminated),
        .observation_o      (observation)
    );

    qs_bus_spread #(
        .Bytes      (StreamBytes),
        .RecordBytes(RecordBytes)
    ) u_spread (
        .clk_i,
        .rst_i,
        .valid_i (out_valid),
        .ready_o (out_ready),
        .data_i  (out_data),
        .last_i  (1'b1),
        .tvalid_o(m_axis_tvalid),
        .tready_i(m_axis_tready),
        .tdata_o (m_axis_tdata),
        .tlast_o (m_axis_tlast)
    );

    assign to_regs.actions.value.incr = action_valid;
    assign to_regs.answers.value.incr = answer_valid && answer_ready;

    logic unused;
    assign unused = in_last;
  end else begin : gen_inside
    assign s_axis_tready = 1'b1;
    assign m_axis_tvalid = 1'b0;
    assign m_axis_tdata = '0;
    assign m_axis_tlast = 1'b0;
    assign to_regs.actions.value.incr = 1'b0;
    assign to_regs.answers.value.incr = 1'b0;
    assign to_regs.refused.value.incr = 1'b0;
    assign to_regs.cut.value.incr = 1'b0;

    assign answer_valid = 1'b0;
    assign {answer_agent, answer_reward, answer_next_state, answer_terminated, observation} = '0;

    logic unused;
    assign unused = ^{s_axis_tvalid, s_axis_tdata, s_axis_tlast, m_axis_tready, answer_ready,
                      action_valid, action_agent, action_state, action};
  end

endmodule
