"""The lane against the golden model, in the pyuvm environment."""

from __future__ import annotations

import pytest
from tb.bench import Run, parameter_id, run
from tb.uvm.lane_runs import EXACT, SUITES, THROUGHPUT

pytestmark = pytest.mark.rtl


def _name(this: Run) -> str:
    return parameter_id(this.parameters)


@pytest.mark.parametrize("suite", SUITES, ids=_name)
def test_lane_is_exact_and_reaches_every_coverage_bin(suite: Run) -> None:
    run(suite)


@pytest.mark.parametrize("exact", EXACT, ids=_name)
def test_lane_is_exact_for_long_random_streams(exact: Run) -> None:
    run(exact)


def test_long_random_streams_hold_a_million_transitions() -> None:
    assert sum(int(exact.options["transitions"]) for exact in EXACT) >= 1_000_000


@pytest.mark.parametrize("throughput", THROUGHPUT, ids=_name)
def test_lane_takes_one_transition_a_clock(throughput: Run) -> None:
    run(throughput)
