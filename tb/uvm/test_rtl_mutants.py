"""The bench can fail: each fault planted in a copy of the RTL must be found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tb.bench import TB, BenchError, run
from tb.planted import plant
from tb.uvm.lane_runs import lane_run

pytestmark = pytest.mark.rtl


BENCH = TB / "uvm/qs_lane_bench.sv"


@dataclass(frozen=True)
class Mutant:
    """One text of one file replaced, on one geometry; the report must contain `message`."""

    name: str
    file: str
    old: str
    new: str
    message: str
    loop_depth: int = 1


MUTANTS = [
    Mutant(
        "tree-tie-to-the-right",
        "qs_max_tree.sv",
        "if (lead >= 0)",
        "if (lead >= -1)",
        "greedy is",
    ),
    Mutant(
        "join-tie-to-the-higher-action",
        "qs_pkg.sv",
        "$signed({b[Width-1], b, b_rank}) + $signed({not_a[Width-1], not_a, not_a_rank})",
        "$signed({b[Width-1], b, ~b_rank}) + $signed({not_a[Width-1], not_a, ~not_a_rank})",
        "greedy is",
    ),
    Mutant(
        "near-entry-not-forwarded",
        "qs_update.sv",
        "take_near_q ? newest.beta : '0",
        "'0",
        "value is",
    ),
    Mutant(
        "far-entry-not-forwarded",
        "qs_update.sv",
        "own.take_far ? newest.beta : own.entry",
        "own.entry",
        "value is",
    ),
    Mutant(
        "near-maximum-not-joined",
        "qs_update.sv",
        "near_greater = s2_join_q && ranked",
        "near_greater = 1'b0 && ranked",
        "greedy is",
    ),
    Mutant(
        "far-maximum-compared-unsigned",
        "qs_update.sv",
        "far_greater = join_far_i && ranked::reaches(not_value_q, value_index_i, max_i, ~greedy_i);",
        "far_greater = join_far_i && ($unsigned(value_q) > $unsigned(max_i) ||"
        " (value_q == max_i && value_index_i < greedy_i));",
        "maximum is",
    ),
    Mutant(
        "late-entry-not-forwarded",
        "qs_lane.sv",
        "s1_taken_q <= take[WriteStage];",
        "s1_taken_q <= 1'b0;",
        "value is",
    ),
    Mutant(
        "stale-values-not-masked",
        "qs_hazard.sv",
        "if (join_q[d]) mask_q",
        "if (join_q[d] && d != 3) mask_q",
        "maximum is",
    ),
    Mutant(
        "older-result-of-an-entry-wins",
        "qs_hazard.sv",
        "join_o[d] = valid_q[d] && youngest_q[d] && same_row[d]",
        "join_o[d] = valid_q[d] && same_row[d]",
        "maximum is",
    ),
    Mutant(
        "terminated-ignored",
        "qs_update.sv",
        "own.terminated ? '0 : own.max_product",
        "own.max_product",
        "value is",
    ),
    Mutant(
        "nearest-rounds-half-down",
        "qs_lane.sv",
        "product_bias_q <= qs_pkg::HALF;",
        "product_bias_q <= qs_pkg::HALF - 1'b1;",
        "value is",
    ),
    Mutant(
        "floor-rounds-to-nearest",
        "qs_lane.sv",
        "qs_pkg::RoundFloor:      product_bias_q <= '0;",
        "qs_pkg::RoundFloor:      product_bias_q <= 15'h4000;",
        "value is",
    ),
    Mutant(
        "noise-draws-in-every-clock",
        "qs_lane.sv",
        "stochastic && valid[MergeStage-1]",
        "stochastic",
        "noise is",
    ),
    Mutant(
        "saturation-wraps",
        "qs_update.sv",
        "saturating::value(rounded)",
        "rounded[Width-1:0]",
        "value is",
    ),
    Mutant(
        "saturation-not-reported",
        "qs_update.sv",
        "saturated_o <= saturating::overflows(rounded);",
        "saturated_o <= 1'b0;",
        "saturated is",
    ),
    Mutant(
        "reset-keeps-the-pipeline",
        "qs_hazard.sv",
        "if (rst_i) valid_q <= '0;",
        "",
        "more results than transitions",
    ),
    Mutant(
        "results-are-silent",
        "qs_lane.sv",
        "assign res_valid_o = write_valid;",
        "assign res_valid_o = write_valid && rst_i;",
        "have no result",
    ),
    Mutant(
        "stage-enabled-by-the-wrong-valid-bit",
        "qs_update.sv",
        "if (valid_i[SelectStage]) begin",
        "if (valid_i[SelectStage-1]) begin",
        "value is",
    ),
    Mutant(
        "holds-one-clock-too-long",
        "qs_hazard.sv",
        "|(take_o[LoopDepth-1:1] | join_o[LoopDepth-1:1]);",
        "|(take_o[LoopDepth:1] | join_o[LoopDepth:1]);",
        "issue edge is",
        loop_depth=2,
    ),
    Mutant(
        "does-not-hold",
        "qs_hazard.sv",
        "assign hold_o = issue_valid_i && |(take_o[LoopDepth-1:1] | join_o[LoopDepth-1:1]);",
        "assign hold_o = issue_valid_i && |take_o[LoopDepth-1:1];",
        "LoopIsClosed_A",
        loop_depth=2,
    ),
    Mutant(
        "forwarded-a-clock-early",
        "qs_lane.sv",
        "res_forwarded_o = forwarded_q[LoopDepth+1];",
        "res_forwarded_o = forwarded_q[LoopDepth];",
        "forwarded is",
    ),
    Mutant(
        "result-a-clock-late",
        "qs_lane.sv",
        "assign res_valid_o = write_valid;",
        "always_ff @(posedge clk_i) res_valid_o <= write_valid;",
        "result edge is",
    ),
    Mutant(
        "ready-without-an-offer-while-it-holds",
        "qs_lane.sv",
        "tr_ready_o = !hold_o;",
        "tr_ready_o = !hold_o || !tr_valid_i;",
        "ready is",
        loop_depth=2,
    ),
    Mutant(
        "readback-of-the-complement",
        "qs_lane.sv",
        "host_data_o = s2_table_entry;",
        "host_data_o = ~s2_table_entry;",
        "entries differ",
    ),
    Mutant(
        "busy-for-ever",
        "qs_lane.sv",
        "busy_o = s0_valid_q || valid != '0;",
        "busy_o = s0_valid_q || valid != '0 || !rst_i;",
        "NoiseLoadWaits_A",
    ),
    Mutant(
        "idle-while-results-are-due",
        "qs_lane.sv",
        "busy_o = s0_valid_q || valid != '0;",
        "busy_o = s0_valid_q || valid[1];",
        "busy is",
    ),
    Mutant(
        "copy-of-the-table-not-written",
        "qs_table.sv",
        "if (write_i) copy[",
        "if (write_i && write_action_i != 0) copy[",
        "value is",
    ),
    Mutant(
        "carry-of-the-low-bits-lost",
        "qs_update.sv",
        "(Width + 1)'(shifted.carry)",
        "(Width + 1)'(shifted.carry & rst_i)",
        "value is",
        loop_depth=3,
    ),
    Mutant(
        "settings-change-with-each-offer",
        "qs_lane_bench.sv",
        "      .kappa_i,",
        "      .kappa_i(valid ? kappa_i : '0),",
        "SettingsAreStable_A",
    ),
    Mutant(
        "noise-is-loaded-beside-an-offer",
        "qs_lane_bench.sv",
        "      .noise_load_i,",
        "      .noise_load_i(noise_load_i || valid),",
        "NoiseLoadWaits_A",
    ),
    Mutant(
        "host-writes-beside-an-offer",
        "qs_lane_bench.sv",
        "host_i[54])",
        "host_i[54] || valid)",
        "HostWaits_A",
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_bench_finds_the_planted_fault(mutant: Mutant, tmp_path: Path) -> None:
    rtl = plant(tmp_path, mutant.file, mutant.old, mutant.new, [BENCH])
    suite = lane_run("LaneSuite", 64, 4, 16, mutant.loop_depth, 5000)
    with pytest.raises(BenchError, match=r"replay: python -m tb\.bench") as caught:
        run(replace(suite, rtl=rtl))
    assert "failed" in str(caught.value)
    assert mutant.message in str(caught.value)


def test_the_unchanged_rtl_passes_where_the_mutants_fail() -> None:
    run(lane_run("LaneSuite", 64, 4, 16, 1, 5000))
    run(lane_run("LaneSuite", 64, 4, 16, 2, 5000))
