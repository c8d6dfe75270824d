"""The suites can fail: each fault planted in a copy of the hardware must be found."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from tb.bench import TB, BenchError, Run, run
from tb.planted import Fault, plant_all, with_finders
from tb.uvm.acting_runs import OWNING, SHARING
from tb.uvm.device_runs import CONFIGS, device_run
from tb.uvm.lane_runs import lane_run

pytestmark = [pytest.mark.rtl, pytest.mark.slow]

SUITES: dict[str, Callable[[], Run]] = {
    "LaneSuite-1": partial(lane_run, "LaneSuite", 64, 4, 16, 1, 5000),
    "LaneSuite-2": partial(lane_run, "LaneSuite", 64, 4, 16, 2, 5000),
    "LaneSuite-3": partial(lane_run, "LaneSuite", 64, 4, 16, 3, 5000),
    "ActingSuite-few": lambda: OWNING[2],
    "ActingSuite-some": lambda: SHARING[1],
    "ActingSuite-many": lambda: SHARING[0],
    "DeviceSuite-0": partial(device_run, CONFIGS[0]),
    "DeviceSuite-2": partial(device_run, CONFIGS[2]),
}


@pytest.mark.parametrize(("finder", "fault"), with_finders(SUITES))
def test_bench_finds_the_planted_fault(finder: str, fault: Fault, tmp_path: Path) -> None:
    suite = SUITES[finder]()
    rtl = plant_all(tmp_path, [fault], suite.sources or [TB / f"uvm/{suite.top}.sv"])
    sources = tuple(tmp_path / source.name for source in suite.sources)
    with pytest.raises(BenchError, match=r"replay: python -m tb\.bench") as caught:
        run(replace(suite, rtl=rtl, sources=sources))
    assert re.search(str(fault.seen), str(caught.value))


def test_the_unchanged_rtl_passes_where_the_mutants_fail() -> None:
    run(SUITES["LaneSuite-1"]())
    run(SUITES["LaneSuite-2"]())
