// SPDX-License-Identifier: Apache-2.0
// Assertions as clocked immediate statements: Verilator, yosys and slang all accept them.
//
// `QS_ASSERT(RowIsFresh_A, condition)` checks the condition at every rising edge of clk_i outside reset.
// A parameter check is an elaboration-time `$fatal` in the module itself.

`ifndef QS_ASSERT_SVH
`define QS_ASSERT_SVH

`ifdef SYNTHESIS
`define QS_ASSERT(name, condition)
`else
`define QS_ASSERT(name, condition) \
  always_ff @(posedge clk_i) begin \
    if (!rst_i) begin \
      name : assert (condition) \
      else $error("%m: violated"); \
    end \
  end
`endif

`endif
