"""Each hand-written module against a model of its own."""

from dataclasses import replace
from pathlib import Path

import pytest
from tb.bench import BenchError, Run, parameter_id, run
from tb.planted import Fault, faults, plant_all
from tb.unit.unit_runs import BOARD_RUN, STAND_IN, UNITS
from tools.lint_rtl import BOARD

pytestmark = pytest.mark.rtl


def _name(this: Run) -> str:
    return "-".join(filter(None, (this.top, parameter_id(this.parameters))))


ACTING = [unit for unit in UNITS if unit.top == "qs_acting"]
"""Ten seconds each; `ActingSuite` also runs every algorithm in each test run."""


@pytest.mark.parametrize(
    "unit",
    [pytest.param(u, marks=pytest.mark.slow) if u in ACTING[1:] else u for u in UNITS],
    ids=_name,
)
def test_module_matches_its_model(unit: Run) -> None:
    run(unit)


@pytest.mark.parametrize("fault", faults("qs_board"), ids=lambda fault: fault.name)
def test_bench_of_the_board_finds_the_planted_fault(fault: Fault, tmp_path: Path) -> None:
    faulty = plant_all(tmp_path, [fault], [BOARD]) / BOARD.name
    with pytest.raises(BenchError, match=str(fault.seen)):
        run(replace(BOARD_RUN, sources=(STAND_IN, faulty)))
