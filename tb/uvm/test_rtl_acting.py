"""The interleaved lane against the plain model, in the pyuvm environment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tb.bench import TB, BenchError, Run, parameter_id, run
from tb.planted import Fault, faults, plant_all
from tb.uvm.acting_runs import ACTING, OWNING, SHARING

pytestmark = pytest.mark.rtl

BENCH = TB / "uvm/qs_agents_bench.sv"
FEW = OWNING[2]


def _name(this: Run) -> str:
    return parameter_id(this.parameters)


OFTEN = [*OWNING, *SHARING[:2]]
RARELY = [pytest.param(run, marks=pytest.mark.slow) for run in ACTING if run not in OFTEN]


@pytest.mark.parametrize("suite", [*OFTEN, *RARELY], ids=_name)
def test_agents_are_exact_step_by_step_and_reach_every_coverage_bin(suite: Run) -> None:
    run(suite)


def test_every_algorithm_and_every_rounding_is_covered() -> None:
    for suites in (OWNING, SHARING):
        assert {suite.parameters["Algorithm"] for suite in suites} == set(range(4))
        assert {suite.parameters["Rounding"] for suite in suites} == set(range(3))


def test_agents_that_never_explore_leave_bins_empty() -> None:
    with pytest.raises(BenchError, match=r"bins were never hit: .*choice: explored") as caught:
        run(replace(FEW, options={"epsilon": "0"}))
    assert "differ" not in str(caught.value)


@pytest.mark.parametrize(
    ("suite", "fault"),
    [
        *((FEW, fault) for fault in faults("ActingSuite-few")),
        *((SHARING[1], fault) for fault in faults("ActingSuite-some")),
        *((SHARING[0], fault) for fault in faults("ActingSuite-many")),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_scoreboard_finds_the_planted_fault(suite: Run, fault: Fault, tmp_path: Path) -> None:
    rtl = plant_all(tmp_path, [fault], [BENCH])
    with pytest.raises(BenchError, match=str(fault.seen)):
        run(replace(suite, rtl=rtl))
