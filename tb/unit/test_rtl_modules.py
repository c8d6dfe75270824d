"""Each hand-written module matches its own model."""

from dataclasses import replace

import pytest
from tb.bench import Run, parameter_id, run
from tb.slow import slow_except
from tb.unit.unit_runs import PRESET_UNITS, UNITS

pytestmark = pytest.mark.rtl


def _name(this: Run) -> str:
    return "-".join(filter(None, (this.top, parameter_id(this.parameters))))


OFTEN = [
    next(unit for unit in UNITS if unit.top == top)
    for top in (
        *("qs_hazard", "qs_max_tree_bench", "qs_table", "qs_update"),
        *("qs_noise", "qs_agent_choice_bench"),
    )
]
"""Benches that ``make test`` runs; all others run in ``make slow``."""


@pytest.mark.parametrize("unit", slow_except(OFTEN, UNITS), ids=_name)
def test_module_matches_its_model(unit: Run) -> None:
    run(unit)


@pytest.mark.slow
def test_all_requests_of_the_prefetch_log_are_answered_bit_for_bit() -> None:
    pythia = next(unit for unit in PRESET_UNITS if unit.parameters["Actions"] == 15)
    run(replace(pythia, module="tb.unit.rtl_planes_log"))
