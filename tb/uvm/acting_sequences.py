"""Stimuli for the interleaved lane: agents, runs, stops and a late world."""

from collections.abc import Iterator

import numpy as np
from pyuvm import ConfigDB, uvm_sequence_item
from tb.uvm.acting_coverage import reachable
from tb.uvm.acting_edges import edges
from tb.uvm.acting_items import Job, Reset, Setup
from tb.uvm.components import ItemSequence

from qstep import Config
from qstep.spec.epsilon import Epsilon
from qstep.spec.settings import AgentSettings

__all__ = ["GreedyJobs", "Jobs"]

_EPSILONS = (
    Epsilon(0.5),
    Epsilon(1.0, 0.05, "linear", 60),
    Epsilon(0.9, 0.3, "exponential", 20, "episodes"),
    Epsilon(0.9, 0.2, "exponential", 40),
    Epsilon(0.7, 0.2, "linear", 12, "episodes"),
    Epsilon(0.0),
)
_MANY = 0xA53C_69F0_C396
"""Number of steps of a stopped run; in this value and its complement, each bit is 0 once and 1 once."""

_RATES = ((0.5, 0.9), (1.0, 1.0), (0.25, 0.0), (0.0, 0.0), (0.1, 0.5))


def setup(
    rng: np.random.Generator, config: Config, turn: int, epsilon: Epsilon | None = None
) -> Setup:
    """Return a setup with random tables; the agents' schedules and rates depend on `turn`."""
    acting = config.acting
    assert acting is not None
    number = config.format
    ends = number.minimum, number.maximum
    table = rng.integers(ends[0], ends[1] + 1, config.table_shape).astype(np.int32)
    if acting.shared_table:
        table[..., turn % 2 :: 2, :] = ends[turn % 2]
    settings = []
    for agent in range(acting.agents):
        alpha, gamma = _RATES[(agent + turn) % len(_RATES)]
        if alpha == gamma == 1 and not acting.shared_table:
            # From here, the next reward of the same sign causes saturation.
            table[agent] = ends[turn % 2]
        own = epsilon or _EPSILONS[(agent + turn) % len(_EPSILONS)]
        settings.append(AgentSettings(alpha, gamma, own, seed=int(rng.integers(1 << 62))))
    return Setup(f"setup {turn}", settings, table)


class Jobs(ItemSequence):
    """Short and long runs, some of them stopped, in a world that answers in time or late."""

    epsilon: Epsilon | None = None
    """Epsilon of all agents; by default, it differs from agent to agent."""

    def items(self) -> Iterator[uvm_sequence_item]:
        rng, config, epsilon = self.rng, self.config, self.epsilon
        acting, world = config.acting, ConfigDB().get(None, "", "WORLD")
        assert acting is not None
        turns = max(2, -(-2 * len(_EPSILONS) // acting.agents))
        for turn in range(turns):
            yield setup(rng, config, turn, epsilon)
            if not turn:
                after = int(rng.integers(200, 900))
                yield Job("one step", 1)
                yield Job("a stopped run", _MANY, stop_after=after)
                # With a shared table, a stop may happen to fall between turns.
                for stop in range(4 if acting.shared_table else 1):
                    late_after = after + 16 * stop
                    steps = _MANY ^ (1 << 48) - 1
                    yield Job(
                        "a stopped run in a late world", steps, late=230, stop_after=late_after
                    )
                    yield Job("what goes on after the stop", 20 if not acting.shared_table else 3)
            # With a shared table, all agents wait for every late answer.
            steps = 6 if acting.shared_table else 30
            yield Job("a run in a late world", steps, late=int(rng.choice([60, 200])))
            yield Job("a run until epsilon is at its end", int(rng.integers(140, 180)))
            if acting.shared_table:
                yield Job("a stop within a turn before a setup", 1 << 40, late=230, stop_after=300)
        if acting.shared_table:
            # Agents that roam rarely hold one another, so many slots act in succession.
            yield setup(rng, config, turns, Epsilon(1.0))
            yield Job("a walk at random", 120)
        if not epsilon:
            yield from edges(rng, config, sorted(reachable(world)))
        yield Reset("a reset")
        again = setup(rng, config, 0, epsilon)
        again.limit = world.max_episode_steps  # a reset clears the limit
        yield again
        yield Job("a run after the reset", 30)


class GreedyJobs(Jobs):
    """The same runs with agents that never explore."""

    epsilon = Epsilon(0.0)
