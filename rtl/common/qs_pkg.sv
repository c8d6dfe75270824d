// SPDX-License-Identifier: Apache-2.0
// Definitions shared by both lanes: coefficient format, rounding, saturation, pipeline depth, comparison.
//
// Python counterparts: qstep.spec.fixed (coefficients, rounding codes) and qstep_rtl.timing (depths).

package qs_pkg;

  // alpha and kappa are unsigned. A module's CoeffFraction is the number of their fractional bits, 15..24; with 15,
  // 1.0 is 32768.
  localparam int unsigned CoeffBits = 16;

  typedef enum logic [1:0] {
    RoundNearest    = 2'd0,
    RoundFloor      = 2'd1,
    RoundStochastic = 2'd2
  } rounding_e;

  // Clocks of the comparator tree: one to mask the row, and one per level of comparators.
  function automatic int unsigned tree_stages(int unsigned actions);
    return 1 + $clog2(actions);
  endfunction

  // Number of the stage that joins tree and results: issue is stage 0, then table (1), tree, merge.
  function automatic int unsigned merge_stage(int unsigned actions);
    return 2 + tree_stages(actions);
  endfunction

  // Number of the stage that writes a result back: after merge come product, LoopDepth stages of the loop, and write.
  // It is also the latency of the lane in clocks from the issue register to the result, and the number of older
  // transitions whose writes a table read misses.
  function automatic int unsigned write_stage(int unsigned actions, int unsigned loop_depth);
    return merge_stage(actions) + 2 + loop_depth;
  endfunction

  // Compares ranked values. A value's rank is the complement of its action.
  // The file is named after the package.
  // verilator lint_off DECLFILENAME
  virtual class ranked #(
      parameter int unsigned Width    = 16,
      parameter int unsigned RankBits = 2
  );
    // 1 if a is not less than b, compared by value, then by rank: of two equal values, the one with the lower action is
    // greater. If value and rank are both equal, they belong to the same entry, or to none. The result is the sign of
    // one sum, hence one carry chain. Some chips have no inverter before the chain, so registers provide a and its rank
    // as complements.
    static function automatic logic reaches(logic [Width-1:0] not_a,
                                            logic [RankBits-1:0] not_a_rank, logic [Width-1:0] b,
                                            logic [RankBits-1:0] b_rank);
      logic signed [Width+RankBits:0] sum;
      sum = $signed({b[Width-1], b, b_rank}) + $signed({not_a[Width-1], not_a, not_a_rank});
      return sum < 0;
    endfunction
  endclass

  // A sum of products without its fraction has one bit more than a value. If its two top bits differ, it does
  // not fit and saturates to the greatest or the least value.
  virtual class saturating #(
      parameter int unsigned Width = 16
  );
    static function automatic logic overflows(logic [Width:0] sum);
      return sum[Width] != sum[Width-1];
    endfunction

    static function automatic logic [Width-1:0] value(logic [Width:0] sum);
      return overflows(sum) ? {sum[Width], {(Width - 1) {!sum[Width]}}} : sum[Width-1:0];
    endfunction
  endclass
  // verilator lint_on DECLFILENAME

endpackage
