"""Updates per clock are counted by the same rule that the lane's testbench checks on the RTL."""

import numpy as np
import pytest
from tb.uvm.lane_timing import expected_issue

from qstep.errors import ConfigError
from qstep.golden.throughput import issue_clocks, steps_per_clock, updates_per_clock
from qstep.spec.agents import Acting
from qstep.spec.config import Config


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("states", [3, 25])
def test_transitions_issue_when_the_bench_of_the_lane_says(depth: int, states: int) -> None:
    rng = np.random.default_rng(1)
    columns = [rng.integers(bound, size=3000, dtype=np.int32) for bound in (states, 2, states)]
    issue = issue_clocks(depth, *columns)
    # A transition is accepted when the previous one leaves the issue register.
    edge = np.concatenate([[-1], issue[:-1]])
    kinds = [("edge", np.int64), *((name, np.int32) for name in ("state", "action", "next_state"))]
    offers = np.empty(len(issue), kinds)
    for (name, _), column in zip(kinds, (edge, *columns), strict=True):
        offers[name] = column
    assert np.array_equal(expected_issue(Config(states, 2, loop_depth=depth), offers, issue), issue)
    assert updates_per_clock(depth, *columns) == len(issue) / (issue[-1] + 1)
    assert (issue[-1] + 1 == len(issue)) == (depth == 1)


@pytest.mark.parametrize(("depth", "clocks"), [(1, 100), (2, 199), (3, 298)])
def test_the_same_entry_again_and_again_waits_for_the_whole_loop(depth: int, clocks: int) -> None:
    same = np.full(100, 1)
    assert updates_per_clock(depth, same, same, same + 1) == 100 / clocks


@pytest.mark.parametrize(
    ("actions", "algorithm", "rotation"),
    [(4, "q-learning", 16), (64, "double-q", 17), (2, "expected-sarsa", 16), (6, "expected-sarsa", 17)],
)  # fmt: skip
def test_agents_step_once_a_rotation(actions: int, algorithm: str, rotation: int) -> None:
    for agents in (1, 16):
        acting = Acting(agents, algorithm)
        assert steps_per_clock(Config(9, actions, acting=acting)) == agents / rotation
    farm = Config(9, actions, acting=Acting(3 * 16, algorithm), lanes=3)
    assert steps_per_clock(farm) == 3 * 16 / rotation


def test_who_has_no_agents_makes_no_steps() -> None:
    with pytest.raises(ConfigError, match="acting is None; only agents make steps"):
        steps_per_clock(Config(9, 4))
