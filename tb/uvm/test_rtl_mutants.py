"""The bench can fail: each fault planted in a copy of the RTL must be found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tb.bench import TB, BenchError, Run, run
from tb.planted import Fault, faults, plant_all
from tb.uvm.lane_runs import lane_run

pytestmark = pytest.mark.rtl

BENCH = TB / "uvm/qs_lane_bench.sv"
SUITES = {
    name: lane_run("LaneSuite", 64, 4, 16, int(name[-1]), 5000)
    for name in ("LaneSuite-1", "LaneSuite-2", "LaneSuite-3")  # each has its loop depth
}


def planted() -> Iterator[Any]:
    """Yield each fault with its suite; each message of the bench is seen in every test run."""
    seen = set()
    for name, suite in SUITES.items():
        for fault in faults(name):
            marks = [pytest.mark.slow] if fault.seen in seen else []
            yield pytest.param(suite, fault, id=fault.name, marks=marks)
            seen.add(fault.seen)


@pytest.mark.parametrize(("suite", "fault"), list(planted()))
def test_bench_finds_the_planted_fault(suite: Run, fault: Fault, tmp_path: Path) -> None:
    rtl = plant_all(tmp_path, [fault], [BENCH])
    with pytest.raises(BenchError, match=r"replay: python -m tb\.bench") as caught:
        run(replace(suite, rtl=rtl))
    assert "failed" in str(caught.value)
    assert str(fault.seen) in str(caught.value)


def test_the_unchanged_rtl_passes_where_the_mutants_fail() -> None:
    run(SUITES["LaneSuite-1"])
    run(SUITES["LaneSuite-2"])
