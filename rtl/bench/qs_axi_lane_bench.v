// SPDX-License-Identifier: Apache-2.0
// Testbench of the lane on AXI, in plain Verilog-2005: writes all settings, sends one transition, and checks its result
// and entry.
//
//   iverilog -g2005 -o bench qstep_axi_bench.v qstep_axi_flat.v && vvp -n bench     (generate with --flat)

module qstep_axi_bench;

  `include "qstep_axi_config.vh"
  `include "qstep_axi_signals.vh"
  `include "qstep_axi_instance.vh"
  `include "qs_axi_bench.vh"

  initial begin
    start;

    write(REG_ALPHA, ALPHA);
    write(REG_KAPPA, KAPPA);
    write(REG_ROUNDING, 0);
    write(REG_NOISE_SEED_X, 1);
    write(REG_NOISE_SEED_W, 0);
    write(REG_CONTROL, 3);  // configure and clear
    read(REG_STATUS);
    while (found != 0) read(REG_STATUS);

    // A transition from state 0 to state 1 by action 1, with a reward. Alpha is 1/2 and the table is 0.
    send({32'd1, REWARD, 32'd1, 32'd0});
    receive;
    found = received[31:0];
    check("value", 0, RESULT);
    found = received[127:96];
    check("flags", 0, 0);

    write(REG_TABLE_STATE, 0);
    write(REG_TABLE_ACTION, 0);
    read(REG_TABLE_VALUE);
    check("entry", 0, 0);
    read(REG_TABLE_VALUE);
    check("entry", 1, RESULT);
    read(REG_APPLIED);
    check("applied", 0, 1);
    read(REG_ERRORS);
    check("errors", 0, 0);
    finish;
  end

endmodule
