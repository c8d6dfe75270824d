"""In each kind of world, each algorithm learns a policy as good as value iteration's."""

from dataclasses import replace

import pytest
from tools.learning import AGENTS, CASES, Case, learnt

from qstep.learn.agents_result import AgentsResult

QUICK = [case for case in CASES if case.steps <= 1_000_000 or case.world == "FrozenLake-v1"]
"""The quicker cases; `python -m tools.learning` runs all of them."""


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=[pytest.mark.slow] * (case.steps >= 1_000_000)) for case in QUICK],
    ids=lambda case: f"{case.world}-{case.algorithm.value}",
)
def test_greedy_policies_are_value_iterations(case: Case) -> None:
    result = learnt(case)
    assert isinstance(result, AgentsResult)
    near = result.optimal_after(0.01 if case.world == "FrozenLake-v1" else 0.0)
    assert None not in near, near
    assert len(near) == AGENTS


@pytest.mark.slow
def test_run_that_is_too_short_is_not_optimal() -> None:
    result = learnt(replace(CASES[0], steps=20_000))
    assert isinstance(result, AgentsResult)
    assert result.optimal_after(0.01) == (None,) * AGENTS
