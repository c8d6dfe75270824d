"""The benchmark's tasks for the implementations that fill a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from qstep.envs.gridworld import DeterministicModel, GridWorld
from qstep.envs.maps import MAPS
from qstep.mdp.solve import solve
from qstep.mdp.world import World
from qstep.spec.config import Config
from qstep.spec.settings import Hyperparameters
from qstep_bench.baselines.problem import Stream
from qstep_bench.baselines.random_walk import fill
from qstep_bench.systems import TABLES

__all__ = ["EPSILON", "WORKLOADS", "Workload"]

EPSILON = 0.1
"""Share of random actions, for learners that act in an environment."""

_STREAM_LIMIT = 1 << 22


@dataclass(frozen=True)
class Workload:
    """A task, the size and format of its table, and a test of whether it is solved.

    Attributes
    ----------
    name, task : str
        Name, and one sentence about the task.
    config : Config
        Geometry and format for fixed-point implementations; all others use float tables of the same
        shape.
    hyper : Hyperparameters
        alpha and gamma for all implementations.
    world : DeterministicModel or None
        The environment in which learners act; None if the transitions are given.
    record : callable
        ``record(n)`` returns n transitions for the implementations that replay.
    limit : int
        Maximum updates per turn, a power of two.
    """

    name: str
    task: str
    config: Config
    hyper: Hyperparameters
    world: DeterministicModel | None
    record: Callable[[int], Stream]
    limit: int

    def solved(self, table: NDArray[np.float64]) -> bool:
        """Return whether a table's greedy policy is optimal in every state visited from the start.

        The workload must have an environment.
        """
        world = World.from_env(GridWorld(MAPS[self.name]))
        greedy = np.eye(self.config.actions, dtype=bool)[table.argmax(axis=1)]
        visited = world.visited(greedy)
        optimal = solve(world, self.hyper.gamma).optimal
        return bool(optimal[visited][greedy[visited]].all())


@cache
def _random_transitions() -> Stream:
    rng = np.random.default_rng(2026)
    return Stream(
        rng.integers(1024, size=_STREAM_LIMIT, dtype=np.int32),
        rng.integers(4, size=_STREAM_LIMIT, dtype=np.int32),
        rng.integers(-8, 9, size=_STREAM_LIMIT).astype(np.float64),
        rng.integers(1024, size=_STREAM_LIMIT, dtype=np.int32),
        rng.random(_STREAM_LIMIT) < 0.05,
    )


class _Walk:
    """Records a random walk into reused memory; each call starts again from the first step.

    The walk is always the same, so the results of earlier calls stay valid. Writing to new memory would
    take longer than walking and learning together.
    """

    def __init__(self, world: DeterministicModel) -> None:
        self._world = world
        self._kept = Stream.empty(0)

    def __call__(self, count: int) -> Stream:
        if count > len(self._kept.state):
            self._kept = Stream.empty(count)
        stream = self._kept.first(count)
        fill(stream, self._world)
        return stream


def _gridworld() -> Workload:
    env = GridWorld(MAPS["gridworld"])
    world = env.deterministic_model()
    return Workload(
        "gridworld",
        "learn the 5x5 grid world; software learners act in it epsilon-greedily, the fixed-point "
        "forms replay a recorded random walk",
        Config(states=25, actions=4),
        Hyperparameters(),
        world,
        _Walk(world),
        1 << 26,
    )


def _stream() -> Workload:
    return Workload(
        "stream",
        "apply random transitions from arrays to a table of 1024 states x 4 actions",
        Config(states=1024, actions=4),
        Hyperparameters(),
        None,
        lambda count: _random_transitions().first(count),
        _STREAM_LIMIT,
    )


WORKLOADS: dict[str, Callable[[], Workload]] = dict(zip(TABLES, (_gridworld, _stream), strict=True))
"""Functions that build the workloads, by name."""
