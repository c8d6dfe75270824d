// SPDX-License-Identifier: Apache-2.0
// Constants that every module of the lane shares: coefficient format, rounding modes, pipeline depth.
//
// Twin in Python: qstep.fixed (coefficients, rounding codes) and qstep_rtl.timing (depths).

package qs_pkg;

  // alpha, beta and kappa: unsigned, 15 fractional bits, 0..32768.
  localparam int unsigned CoeffFraction = 15;
  localparam int unsigned CoeffBits = CoeffFraction + 1;
  localparam logic [CoeffBits-1:0] COEFF_ONE = 16'd32768;

  typedef enum logic [1:0] {
    RoundNearest    = 2'd0,
    RoundFloor      = 2'd1,
    RoundStochastic = 2'd2
  } rounding_e;

  // Clocks of the comparator tree: one to mask the row, one per level of compares.
  function automatic int unsigned tree_stages(int unsigned actions);
    return 1 + $clog2(actions);
  endfunction

  // Number of the stage that writes a result back: issue is stage 0, then table (1), tree,
  // merge, product, LoopDepth stages of the loop. It is the latency of the lane in clocks from the issue
  // register to the result, and the number of older transitions whose writes a table read has missed.
  function automatic int unsigned write_stage(int unsigned actions, int unsigned loop_depth);
    return 4 + tree_stages(actions) + loop_depth;
  endfunction

endpackage
