// SPDX-License-Identifier: Apache-2.0
// Pipeline stages of qs_planes, qs_evaluation_queue and qs_feature_hash.
//
// A request is in stage k if it entered stage 0, the request register, k clocks ago, not counting clocks in which it
// was held there. Python counterpart: qstep_rtl.timing.

package qs_planes_pkg;

  localparam int unsigned MatchStage = 1;  // compares a learn request with earlier ones
  localparam int unsigned TakeStage = 2;  // selects entries from block RAM or from earlier results
  localparam int unsigned OperandStage = 3;  // entries; with own errors, also the newest result

  // Stage in which a learn request writes its results. Own errors take one clock to multiply and one to add. With a
  // shared error, the entries are summed first; then the difference, the products, their sum and the entries' sums take
  // one clock each.
  function automatic int unsigned write_stage(bit shared_error, int unsigned planes);
    return shared_error ? OperandStage + $clog2(planes) + 4 : OperandStage + 2;
  endfunction

  // Minimum number of clocks from a learn request to another one that needs its result.
  function automatic int unsigned min_distance(bit shared_error, int unsigned planes);
    return shared_error ? write_stage(shared_error, planes) - TakeStage : 2;
  endfunction

  // Stage in which the answer of a choose request is valid. The request reads its rows after all earlier results are
  // written. Two clocks for the RAM follow, then the sums, the maximum over groups, the comparator tree, and the
  // choice.
  function automatic int unsigned answer_stage(bit shared_error, int unsigned groups,
                                               int unsigned planes, int unsigned actions);
    return write_stage(shared_error, planes) + 2 + $clog2(planes) + $clog2(groups) +
        qs_pkg::tree_stages(actions) + 1;
  endfunction

  // Capacity for answers: enough for one choose request per clock.
  function automatic int unsigned answers(bit shared_error, int unsigned groups,
                                          int unsigned planes, int unsigned actions);
    return 2 ** $clog2(answer_stage(shared_error, groups, planes, actions) + 3);
  endfunction

  localparam int unsigned ExploreStages = 4;  // of qs_planes_explore: word, rounds, decision
  localparam int unsigned HashStages = 4;  // of qs_feature_hash: one clock per addition

  // Clocks of qs_oldest, whose tree has two levels per stage.
  function automatic int unsigned oldest_stages(int unsigned entries);
    return ($clog2(entries) + 1) / 2;
  endfunction

  // Stage of qs_evaluation_queue in which a request takes effect: after the key comparison and the search.
  function automatic int unsigned queue_effect_stage(int unsigned entries);
    return 1 + oldest_stages(entries);
  endfunction

  // Stage in which an evicted entry is read, two clocks after its address.
  function automatic int unsigned queue_stages(int unsigned entries);
    return queue_effect_stage(entries) + 3;
  endfunction

  // Rewards of qs_evaluation_queue. Timely: the entry was demanded after its fill. Late: it was demanded before its
  // fill. Unused: it was evicted without a reward.
  typedef enum logic [1:0] {
    Timely = 2'd0,
    Late   = 2'd1,
    Unused = 2'd2
  } reward_e;

endpackage
