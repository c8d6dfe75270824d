"""Code coverage counts hardware activity, and fails for points that are neither hit nor waived."""

import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tb.bench import Run, run
from tb.coverage.constants import constants
from tb.coverage.points import Point, counted
from tb.coverage.report import as_text
from tb.coverage.runs import unmeasured
from tb.coverage.waivers import Waiver, judged, read_waivers
from tb.toggle_counts import HEADER, header
from tb.unit.unit_runs import UNITS

from qstep_rtl.sources import source
from qstep_sim.verilator import compiler, root

A = Point("rtl/a.sv", 3, 1, "branch", "if: if (full)")
B = Point("rtl/a.sv", 4, 1, "branch", "else: if (full)")
RISES = Point("rtl/a.sv", 7, 1, "toggle", "count_q[3]:0->1")
FALLS = Point("rtl/a.sv", 7, 1, "toggle", "count_q[3]:1->0")
WAIVER = Waiver("rtl/a.sv", "branch", r"if: .*full.*", "The queue has room for all that can come.")
BIT = Waiver("rtl/a.sv", "toggle", r"count_q\[3\]", "No more than seven can come.")


def _varies(_: Point) -> bool:
    return False


@pytest.mark.unit
def test_what_is_hit_or_waived_passes() -> None:
    verdict = judged(Counter({A: 0, B: 2, RISES: 0, FALLS: 0}), [WAIVER, BIT], _varies)
    assert verdict.passed
    assert (verdict.covered, verdict.missed) == ([B], [])
    assert verdict.waived == {A: WAIVER, RISES: BIT, FALLS: BIT}


@pytest.mark.unit
def test_a_point_that_is_neither_hit_nor_waived_fails() -> None:
    verdict = judged(Counter({A: 0, B: 2, RISES: 1, FALLS: 0}), [WAIVER], _varies)
    assert not verdict.passed
    assert verdict.missed == [FALLS]


@pytest.mark.unit
def test_a_waiver_that_is_not_needed_fails() -> None:
    verdict = judged(Counter({A: 1, B: 2, RISES: 4, FALLS: 0}), [WAIVER, BIT], _varies)
    assert not verdict.passed
    assert verdict.unneeded == [f"{WAIVER}: line 3, 'if: if (full)', is covered"]
    verdict = judged(Counter({A: 1}), [BIT], _varies)
    assert verdict.unneeded == [f"{BIT}: there is no such point"]


@pytest.mark.unit
def test_a_bit_with_both_edges_needs_no_waiver() -> None:
    verdict = judged(Counter({RISES: 1, FALLS: 1}), [BIT], _varies)
    assert verdict.unneeded == [f"{BIT}: line 7, 'count_q[3]:0->1', is covered"]


@pytest.mark.unit
def test_a_bit_that_is_waived_as_a_constant_must_be_one() -> None:
    hits, constant = Counter({RISES: 1, FALLS: 0}), replace(BIT, constant=True)
    verdict = judged(hits, [constant], _varies)
    assert not verdict.passed
    assert (verdict.unproved, verdict.constants) == ([FALLS], 0)
    verdict = judged(hits, [constant], lambda point: point == FALLS)
    assert verdict.passed
    assert verdict.constants == 1


@pytest.mark.unit
def test_checks_and_what_only_linters_read_are_no_points(tmp_path: Path) -> None:
    source = tmp_path / "rtl/a.sv"
    source.parent.mkdir()
    lines = [
        "if (full) x_q <= 1;",
        "assign unused_bits = ^y;",
        "`QS_ASSERT(Room_A,",
        "           !full)",
        "`ifndef SYNTHESIS",
        "if (full) x_q <= 0;",
        "`endif",
        "logic x_q;",
    ]
    source.write_text("\n".join(lines), encoding="utf-8")
    records = [("branch", n, "if") for n in range(1, 8)]
    records += [("toggle", 8, f"{name}:0->1") for name in ("x_q", "g.unused_x[1]", "mem[3][1]")]
    data = tmp_path / "coverage.dat"
    data.write_text(
        "".join(
            f"C '\1f\2{source}\1l\2{line}\1n\2{1}\1page\2v_{kind}/a\1o\2{what}' 5\n"
            for kind, line, what in records
        ),
        encoding="utf-8",
    )
    hit = counted(data, tmp_path)
    assert hit == {
        Point("rtl/a.sv", 1, 1, "branch", "if: if (full) x_q <= 1;"): 5,
        Point("rtl/a.sv", 8, 1, "toggle", "x_q:0->1"): 5,
    }


@pytest.mark.unit
def test_a_source_that_no_run_contains_is_named() -> None:
    hits = Counter({A: 1, B: 1})
    assert "rtl/lane/qs_lane.sv" in unmeasured(hits)
    hits[replace(A, file="rtl/lane/qs_lane.sv")] = 0
    assert "rtl/lane/qs_lane.sv" not in unmeasured(hits)
    assert not {
        "rtl/bench/qs_replay.sv",
        "rtl/agents/qs_agents_pkg.sv",
        "rtl/agents/qs_map_pkg.sv",
        "rtl/farm/qs_chain_pkg.sv",
    } & set(unmeasured(Counter()))


WIDE = """
#include "verilated.h"
#include "verilated_cov.h"
int main() {
  uint32_t counts[192] = {}, before[3] = {}, after[3] = {1u << 3, 0, 1u << 7};
  VL_COV_TOGGLE_CHG_ST_W(96, counts, after, before);
  for (int bit = 0; bit < 96; bit++)
    if (counts[2 * bit] + counts[2 * bit + 1] != (bit == 3 || bit == 71)) return 1;
  return 0;
}
"""
"""A program in which bits 3 and 71 of 96 rise."""


@pytest.mark.rtl
@pytest.mark.slow
def test_a_bit_of_a_wide_signal_counts_for_itself_alone(tmp_path: Path) -> None:
    (tmp_path / HEADER).write_bytes(header())
    source, program = tmp_path / "wide.cpp", tmp_path / "wide"
    source.write_text(WIDE, encoding="utf-8")
    command = [*compiler(), "-std=c++17", "-w", str(source), f"-I{root() / 'include'}"]
    subprocess.run([*command, "-o", str(program)], check=True)
    assert subprocess.run([program], check=False).returncode == 0


HAZARD = [unit for unit in UNITS if unit.top == "qs_hazard"]


@pytest.mark.rtl
@pytest.mark.slow
def test_the_benches_of_a_module_cover_it_but_for_its_waivers(tmp_path: Path) -> None:
    total: Counter[Point] = Counter()
    for number, unit in enumerate(HAZARD):
        data = tmp_path / f"{number}.dat"
        run(replace(unit, coverage=data))
        of_package_too = counted(data)
        total.update({p: n for p, n in of_package_too.items() if p.file == "rtl/lane/qs_hazard.sv"})
    own = [w for w in read_waivers() if w.file == "rtl/lane/qs_hazard.sv"]
    verdict = judged(total, own, constants(HAZARD, 1))
    assert verdict.constants == 5
    assert len(verdict.covered) > 400
    assert verdict.passed, as_text(verdict)


@pytest.mark.rtl
@pytest.mark.slow
def test_a_bit_is_constant_if_no_geometry_can_change_it() -> None:
    is_constant = constants(HAZARD, 1)

    def bit(line: int, signal: str) -> Point:
        return Point("rtl/lane/qs_hazard.sv", line, 1, "toggle", f"{signal}:0->1")

    lines = source("qs_hazard.sv").read_text(encoding="utf-8").splitlines()
    line = next(n for n, text in enumerate(lines, 1) if ", youngest_q, " in text)
    assert is_constant(bit(line, "youngest_q[1]"))
    assert not is_constant(bit(line, "youngest_q[2]"))
    assert not is_constant(bit(line, "youngest_q[0]")), "there is no such bit"
    assert not is_constant(bit(line + 1, "youngest_q[1]")), "it is not declared there"


@pytest.mark.rtl
@pytest.mark.slow
def test_a_bench_that_does_less_leaves_points(tmp_path: Path) -> None:
    data = tmp_path / "one.dat"
    noise = Run("qs_noise", "tb.unit.rtl_noise", test="reset_gives_the_documented_state")
    run(replace(noise, coverage=data))
    verdict = judged(counted(data), [], _varies)
    assert not verdict.passed
    assert "if (advance_i)" in as_text(verdict)
