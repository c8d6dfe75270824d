"""Agents that act beside their tables are let run, and looked at on the way.

A run is a number of steps or of episodes of each agent. It is cut into pieces that grow with it, by an
eighth each, so that a run of a thousand million steps is looked at about as often as one of a million,
and where they end does not depend on the device or on its speed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep.acting.agent import AgentCounters, AgentState
from qstep.acting.device import AgentsDevice
from qstep.acting.fast_model import Trace
from qstep.acting.world import World
from qstep.checkpoint import Checkpoint
from qstep.checks import integer
from qstep.errors import CheckpointError, ConfigError
from qstep.learn.value_iteration import is_quick, start_value
from qstep.protocol import MOST_STEPS
from qstep.table import policy_table

__all__ = ["Budget", "Point", "Training"]

_FIRST_STEPS = 128
"""Of the first piece."""

_GROWTH = 8
"""A piece has this part of the steps before it."""

_SLICE = 1 << 22
"""Steps of all agents between two chances to be interrupted: a tenth of a second on the model."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How long each agent learns: `steps` or `episodes`, of which one is None.

    Raises
    ------
    ConfigError
        Not exactly one is given, or it is out of range.
    """

    steps: int | None = None
    episodes: int | None = None

    def __post_init__(self) -> None:
        if (self.steps is None) == (self.episodes is None):
            raise ConfigError(
                f"steps is {self.steps} and episodes is {self.episodes}; give one of them"
            )
        name = "episodes" if self.steps is None else "steps"
        object.__setattr__(self, name, integer(name, getattr(self, name), 1, MOST_STEPS))

    def piece(self, done: int) -> int:
        """Return the steps of the piece that follows after `done` steps, if the run goes on."""
        piece = max(_FIRST_STEPS, done // _GROWTH)
        return piece if self.steps is None else min(piece, self.steps - done)

    def spent(self, counters: Sequence[AgentCounters]) -> bool:
        """Whether every agent has learnt for as long."""
        if self.steps is not None:
            return counters[0].steps >= self.steps
        assert self.episodes is not None
        return min(own.episodes for own in counters) >= self.episodes


@dataclass(frozen=True, slots=True)
class Point:
    """A look at a run.

    Attributes
    ----------
    steps : int
        Of each agent so far.
    episodes : tuple of int
        Of each agent so far.
    mean_return : tuple of float
        Of the episodes that ended since the look before, undiscounted, by agent; NaN where none did.
    value : tuple of float
        What the greedy policy of each agent is worth where episodes start, exact and discounted; empty
        where gamma is 1, or no table of the world is known.
    """

    steps: int
    episodes: tuple[int, ...]
    mean_return: tuple[float, ...]
    value: tuple[float, ...]

    @property
    def metrics(self) -> dict[str, float]:
        """What it tells, for :class:`~qstep.metrics.Metrics`: over agents, medians and their bounds."""
        told = {"episodes": float(min(self.episodes))}
        known = [mean for mean in self.mean_return if not math.isnan(mean)]
        for name, values in (("episode_return", known), ("greedy_value", self.value)):
            if values:
                told[name] = float(np.median(values))
                told |= {f"{name}_low": min(values), f"{name}_high": max(values)}
        return told


class Training:
    """A run; iterate over it to make it, one point an iteration.

    At each point :attr:`checkpoint` holds all that the rest of the run depends on. A run that was
    interrupted anywhere, also inside a call of the device, goes on from there with the same points.

    Parameters
    ----------
    device : AgentsDevice
        At the beginning of the run, or where `points` end.
    world : World or None
        None where no table of it is known, so that values are not.
    gammas : sequence of float
        Of each agent.
    budget : Budget
    traced : bool
        Keep what the agents live through.

    Attributes
    ----------
    points : list of Point
    seconds : float
        Of acting and learning in this process.
    steps : int
        Of all agents in this process.
    lived : list of Trace
        Piece by piece; empty unless `traced`.
    """

    def __init__(
        self,
        device: AgentsDevice,
        world: World | None,
        gammas: Sequence[float],
        budget: Budget,
        traced: bool = False,
    ) -> None:
        self.device, self.gammas, self.budget = device, tuple(gammas), budget
        self.points: list[Point] = []
        self.lived: list[Trace] = []
        self._traced = traced
        self.seconds, self.steps = 0.0, 0
        self._world = world
        self.checkpoint = self._taken(device.counters, np.array(device.table))

    def __iter__(self) -> Iterator[Point]:
        before = self.device.counters
        while not self.budget.spent(before):
            self._run(self.budget.piece(before[0].steps))
            now = self.device.counters
            table = np.array(self.device.table)  # once a look: a board sends it over its line
            self.points.append(self._point(before, now, table))
            self.checkpoint = self._taken(now, table)
            yield self.points[-1]
            before = now

    def _run(self, piece: int) -> None:
        most = max(1, _SLICE // len(self.gammas))
        while piece:
            steps = min(piece, most)
            begun = time.perf_counter()
            lived = self.device.run(steps, trace=self._traced)
            self.seconds += time.perf_counter() - begun
            self.steps += steps * len(self.gammas)
            if lived is not None:
                self.lived.append(lived)
            piece -= steps

    def _point(
        self,
        before: Sequence[AgentCounters],
        now: Sequence[AgentCounters],
        table: NDArray[np.int32],
    ) -> Point:
        resolution = self.device.config.format.resolution
        means = [
            (new.return_sum - old.return_sum) * resolution / (new.episodes - old.episodes)
            if new.episodes > old.episodes
            else float("nan")
            for old, new in zip(before, now, strict=True)
        ]
        return Point(
            now[0].steps,
            tuple(own.episodes for own in now),
            tuple(means),
            tuple(self._values(table)),
        )

    def _values(self, table: NDArray[np.int32]) -> list[float]:
        """What each agent's greedy policy is worth where episodes start."""
        world = self._world
        if world is None:
            return []
        policies = policy_table(self.device.config, table).argmax(axis=-1)
        if len(policies) < len(self.gammas):  # they share one
            policies = np.repeat(policies, len(self.gammas), axis=0)
        return [
            start_value(world, policy, gamma)
            for policy, gamma in zip(policies, self.gammas, strict=True)
            if is_quick(world, gamma)
        ]

    def _taken(self, counters: Sequence[AgentCounters], table: NDArray[np.int32]) -> Checkpoint:
        return Checkpoint(
            {"points": [_values_of(point) for point in self.points]},
            {
                "table": table,
                "states": _rows(self.device.states, np.uint64),
                "counters": _rows(counters, np.int64),
            },
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint of the same run.

        Raises
        ------
        CheckpointError
            A part is missing, or is not what it must be.
        """
        try:
            points = [
                Point(steps, tuple(episodes), tuple(means), tuple(values))
                for steps, episodes, means, values in checkpoint.head["points"]
            ]
            self.device.restore(
                checkpoint.arrays["table"],
                [_state(row) for row in checkpoint.arrays["states"].tolist()],
                [AgentCounters(*row) for row in checkpoint.arrays["counters"].tolist()],
            )
        except Exception as cause:  # what a part may be instead has no end
            why = f"{type(cause).__name__}: {cause}"
            raise CheckpointError(
                f"the checkpoint does not hold a run of agents ({why})"
            ) from cause
        self.points, self.checkpoint = points, checkpoint


def _values_of(part: Any) -> tuple[Any, ...]:
    """Return the fields of a flat dataclass; `astuple` would copy what is in them, level by level."""
    return tuple(getattr(part, name) for name in part.__slots__)


def _rows(parts: Sequence[Any], dtype: type[np.generic]) -> NDArray[Any]:
    return np.array([_values_of(part) for part in parts], dtype)


def _state(row: list[Any]) -> AgentState:
    word, epsilon, count, begun, state, action, explored, episode_steps = row
    return AgentState(
        word, epsilon, count, bool(begun), state, action, bool(explored), episode_steps
    )
