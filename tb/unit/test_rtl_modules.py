"""Each hand-written module against a model of its own."""

from dataclasses import replace

import pytest
from tb.bench import Run, parameter_id, run
from tb.unit.unit_runs import PRESET_UNITS, UNITS

pytestmark = pytest.mark.rtl


def _name(this: Run) -> str:
    return "-".join(filter(None, (this.top, parameter_id(this.parameters))))


ACTING = [unit for unit in UNITS if unit.top == "qs_acting"]
"""Ten seconds each; `ActingSuite` also runs every algorithm in each test run."""


@pytest.mark.parametrize(
    "unit",
    [
        pytest.param(u, marks=pytest.mark.slow) if u in (*ACTING[1:], *PRESET_UNITS) else u
        for u in UNITS
    ],
    ids=_name,
)
def test_module_matches_its_model(unit: Run) -> None:
    run(unit)


@pytest.mark.slow
def test_all_requests_of_the_prefetch_log_are_answered_bit_for_bit() -> None:
    pythia = next(unit for unit in PRESET_UNITS if unit.parameters["Actions"] == 15)
    run(replace(pythia, module="tb.unit.rtl_planes_log"))
