"""Each hand-written module against a model of its own."""

from __future__ import annotations

import pytest
from tb.bench import Run, parameter_id, run
from tb.unit.unit_runs import UNITS

pytestmark = pytest.mark.rtl


def _name(this: Run) -> str:
    return "-".join(filter(None, (this.top, parameter_id(this.parameters))))


@pytest.mark.parametrize("unit", UNITS, ids=_name)
def test_module_matches_its_model(unit: Run) -> None:
    run(unit)
