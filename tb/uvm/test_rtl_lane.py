"""In the pyuvm environment, the lane matches the golden model bit for bit."""

from dataclasses import replace

import pytest
from tb.bench import Run, parameter_id, run
from tb.slow import slow_except
from tb.uvm.lane_runs import EXACT, SUITES, THROUGHPUT

pytestmark = pytest.mark.rtl


SHARE = 5
"""Factor by which the long runs of ``make sim`` are shortened here."""


def _name(this: Run) -> str:
    return parameter_id(this.parameters)


def _length(this: Run) -> int:
    return int(this.options["transitions"])


@pytest.mark.parametrize("suite", slow_except(SUITES[:1], SUITES), ids=_name)
def test_lane_is_exact_and_reaches_every_coverage_bin(suite: Run) -> None:
    run(suite)


@pytest.mark.slow
@pytest.mark.parametrize("exact", EXACT, ids=_name)
def test_lane_is_exact_for_random_streams(exact: Run) -> None:
    run(replace(exact, options={"transitions": str(_length(exact) // SHARE)}))


def test_long_random_streams_hold_a_million_transitions() -> None:
    assert sum(map(_length, EXACT)) >= 1_000_000


@pytest.mark.slow
@pytest.mark.parametrize("throughput", THROUGHPUT, ids=_name)
def test_lane_takes_one_transition_a_clock(throughput: Run) -> None:
    run(throughput)
