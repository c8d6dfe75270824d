"""Each hand-written module against a model of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tb.bench import BenchError, Run, parameter_id, run
from tb.lint_rtl import BOARD
from tb.planted import plant
from tb.unit.unit_runs import BOARD_RUN, EXHAUSTIVE, STAND_IN, UNITS

pytestmark = pytest.mark.rtl


def _name(this: Run) -> str:
    return "-".join(filter(None, (this.top, parameter_id(this.parameters))))


OFTEN = [unit for unit in UNITS if unit is not EXHAUSTIVE]


@pytest.mark.parametrize(
    "unit", [*OFTEN, pytest.param(EXHAUSTIVE, marks=pytest.mark.slow)], ids=_name
)
def test_module_matches_its_model(unit: Run) -> None:
    run(unit)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("button_i || !locked_i", "button_i", "the device left reset"),
        ("button_i || !locked_i", "!locked_i", "the device should be in reset"),
        ("HalfSecond - 1", "HalfSecond - 2", "the LED flips after"),
        ("flicker_q <= '1;", "flicker_q <= 2'b1;", "the LED is inverted for"),
    ],
    ids=["lock", "button", "blink", "flicker"],
)
def test_bench_of_the_board_finds_the_planted_fault(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    faulty = plant(tmp_path, BOARD.name, old, new, [BOARD]) / BOARD.name
    with pytest.raises(BenchError, match=message):
        run(replace(BOARD_RUN, sources=(STAND_IN, faulty)))
