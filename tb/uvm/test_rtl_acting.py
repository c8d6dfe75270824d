"""In the pyuvm environment, the interleaved lane matches the plain model step by step."""

from dataclasses import replace

import pytest
from tb.bench import BenchError, Run, parameter_id, run
from tb.uvm.acting_runs import ACTING, OWNING, SHARING

pytestmark = pytest.mark.rtl


def _name(this: Run) -> str:
    return parameter_id(this.parameters)


@pytest.mark.slow
@pytest.mark.parametrize("suite", ACTING, ids=_name)
def test_agents_are_exact_step_by_step_and_reach_every_coverage_bin(suite: Run) -> None:
    run(suite)


def test_every_algorithm_and_every_rounding_is_covered() -> None:
    for suites in (OWNING, SHARING):
        assert {suite.parameters["Algorithm"] for suite in suites} == set(range(4))
        assert {suite.parameters["Rounding"] for suite in suites} == set(range(3))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("NoExploration", "bins were never hit: .*choice: explored"),
        ("WrongRewards", "is answered"),
    ],
)
def test_suite_fails_with_other_stimuli_and_with_a_wrong_monitor(test: str, message: str) -> None:
    with pytest.raises(BenchError, match=message) as caught:
        run(replace(OWNING[2], test=test))
    assert "differ" not in str(caught.value)
