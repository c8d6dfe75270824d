// SPDX-License-Identifier: Apache-2.0
// What the benches of both tops on AXI share: clock, reset, register accesses, and packets of one record.
// Included in the bench's module, after qstep_axi_config.vh and qstep_axi_signals.vh.

  localparam MOST_CLOCKS = 1_000_000;
  localparam BEATS = RECORD_BYTES / STREAM_BYTES;  // of a packet

  integer failures = 0;
  integer beat;
  reg [31:0] found;

  initial begin
    aclk = 1'b0;
    forever #5 aclk = !aclk;
  end

  initial begin
    repeat (MOST_CLOCKS) @(posedge aclk);
    $display("FAIL: the device hangs");
    $stop;
  end

  // Inputs change at the falling edge, so that no simulator sees a race.
  task reset;
    begin
      aresetn = 1'b0;
      {s_axil_awvalid, s_axil_wvalid, s_axil_bready, s_axil_arvalid, s_axil_rready} = 5'b0;
      {s_axil_awprot, s_axil_arprot, s_axis_tvalid, s_axis_tlast, m_axis_tready} = 9'b0;
      s_axil_wstrb = 4'hF;
      repeat (4) @(negedge aclk);
      aresetn = 1'b1;
      @(negedge aclk);
    end
  endtask

  task write(input [11:0] address, input [31:0] data);
    begin
      s_axil_awaddr  = address;
      s_axil_wdata   = data;
      s_axil_awvalid = 1'b1;
      s_axil_wvalid  = 1'b1;
      s_axil_bready  = 1'b1;
      fork
        begin
          @(posedge aclk);
          while (!s_axil_awready) @(posedge aclk);
          @(negedge aclk) s_axil_awvalid = 1'b0;
        end
        begin
          @(posedge aclk);
          while (!s_axil_wready) @(posedge aclk);
          @(negedge aclk) s_axil_wvalid = 1'b0;
        end
      join
      while (!s_axil_bvalid) @(negedge aclk);
      if (s_axil_bresp != 2'b00) failed("write", {20'b0, address}, 0, {30'b0, s_axil_bresp});
      @(negedge aclk) s_axil_bready = 1'b0;
    end
  endtask

  task read(input [11:0] address);  // into found
    begin
      s_axil_araddr  = address;
      s_axil_arvalid = 1'b1;
      s_axil_rready  = 1'b1;
      @(posedge aclk);
      while (!s_axil_arready) @(posedge aclk);
      @(negedge aclk) s_axil_arvalid = 1'b0;
      while (!s_axil_rvalid) @(negedge aclk);
      found = s_axil_rdata;
      if (s_axil_rresp != 2'b00) failed("read", {20'b0, address}, 0, {30'b0, s_axil_rresp});
      @(negedge aclk) s_axil_rready = 1'b0;
    end
  endtask

  task check(input [127:0] what, input [31:0] place, input [31:0] expected);  // of found
    if (found !== expected) failed(what, place, expected, found);
  endtask

  task failed(input [127:0] what, input [31:0] place, input [31:0] expected, input [31:0] got);
    begin
      $display("FAIL: %0s %0d is %0d, not %0d", what, place, got, expected);
      failures = failures + 1;
    end
  endtask

  task start;  // reset, and see that this is the device of this configuration
    begin
      reset;
      read(REG_ID);
      check("id", 0, "QSTP");
      read(REG_DIGEST);
      check("digest", 0, DIGEST[31:0]);
      read(REG_DIGEST + 4);
      check("digest", 4, DIGEST[63:32]);
    end
  endtask

  task send(input [8*RECORD_BYTES-1:0] packet);
    for (beat = 0; beat < BEATS; beat = beat + 1) begin
      s_axis_tdata  = packet[8*STREAM_BYTES*beat+:8*STREAM_BYTES];
      s_axis_tlast  = beat == BEATS - 1;
      s_axis_tvalid = 1'b1;
      @(posedge aclk);
      while (!s_axis_tready) @(posedge aclk);
      @(negedge aclk) s_axis_tvalid = 1'b0;
    end
  endtask

  reg [8*RECORD_BYTES-1:0] received;

  task receive;
    for (beat = 0; beat < BEATS; beat = beat + 1) begin
      m_axis_tready = 1'b1;
      @(posedge aclk);
      while (!m_axis_tvalid) @(posedge aclk);
      received[8*STREAM_BYTES*beat+:8*STREAM_BYTES] = m_axis_tdata;
      @(negedge aclk) m_axis_tready = 1'b0;
    end
  endtask

  task finish;
    begin
      if (failures != 0) $stop;
      $display("PASS");
      $finish;
    end
  endtask
