"""Runs agents that act beside their tables, and looks at them on the way.

A run is a number of steps or of episodes of each agent. It is cut into pieces, each an eighth of
the steps so far, so that a run of a billion steps has about as many looks as one of a
million, and the looks do not depend on the device or its speed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep._io.checkpoint import Checkpoint
from qstep.device.acting import AgentsDevice, open_agents
from qstep.errors import CheckpointError, DeviceError, WorldError
from qstep.golden.agents_fast import Trace
from qstep.learn.agents_result import AgentsResult
from qstep.learn.metrics import Metrics
from qstep.learn.plan import AgentsPlan, Budget, whole_piece
from qstep.learn.point import Point, look
from qstep.learn.run import Progress
from qstep.mdp.world import World
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState

__all__ = ["HORIZON", "AgentsRun", "Training"]

HORIZON = "epsilon_horizon"
"""The part of the identity that says what epsilon's share refers to."""

_QUIET_STEPS, _QUIET_SHARE = 1 << 22, 3 / 4
"""A run is stuck if no episode of an agent ended in so many steps, and in so much of the run."""

_SLICE = 1 << 22
"""Steps of all agents between two chances to interrupt: a tenth of a second on the model."""


class Training:
    """A run; iterating over it makes the run, one point per iteration.

    At each point :attr:`checkpoint` holds everything that the rest of the run depends on. A run that was
    interrupted anywhere, even inside a call of the device, continues from there with the same points.
    The checkpoint leaves out a last point that only the end of the budget caused, so a longer run
    that continues from it has the points of a run that was as long from the beginning.

    Parameters
    ----------
    device : AgentsDevice
        At the beginning of the run, or at the end of `points`.
    world : World or None
        None if it has no known table, so values are unknown too.
    discounts : sequence of float
        The discount that each agent learns: :attr:`AgentSettings.discount`.
    budget : Budget
    traced : bool
        Keep the steps of the agents.

    Attributes
    ----------
    points : list of Point
    seconds : float
        Time of acting and learning in this process.
    steps : int
        Steps of all agents in this process.
    lived : list of Trace
        Piece by piece; empty unless `traced`.
    """

    def __init__(
        self,
        device: AgentsDevice,
        world: World | None,
        discounts: Sequence[float],
        budget: Budget,
        traced: bool = False,
    ) -> None:
        self.device, self.discounts, self.budget = device, tuple(discounts), budget
        self.points: list[Point] = []
        self.lived: list[Trace] = []
        self._traced = traced
        self.seconds, self.steps = 0.0, 0
        self._world = world
        self._look_from(device.counters)
        self.checkpoint = self._taken(self._looked, np.array(device.table), whole=True)

    def _look_from(self, counters: Sequence[AgentCounters]) -> None:
        """Begin the piece after the look with these counters."""
        self._looked = counters
        self._left = self.budget.piece(counters[0].steps)

    def __iter__(self) -> Iterator[Point]:
        """Make the run.

        Raises
        ------
        WorldError
            The run is counted in episodes, and an agent's last one does not seem to end.
        """
        while not self.budget.spent(self._looked):
            self.advance(self._left)
            yield self.points[-1]
            self._check_progress()

    def _check_progress(self) -> None:
        last = self.points[-1]
        if self.budget.episodes is None or last.steps < _QUIET_STEPS:
            return
        for agent, ended in enumerate(last.episodes):
            earlier = (point.steps for point in self.points if point.episodes[agent] < ended)
            quiet = last.steps - max(earlier, default=0)
            if ended < self.budget.episodes and quiet >= max(
                _QUIET_STEPS, _QUIET_SHARE * last.steps
            ):
                limit = ", or limit the steps of an episode (--max-episode-steps)"
                raise WorldError(
                    f"no episode of agent {agent} has ended in the last {quiet:,} steps, so "
                    f"{self.budget.episodes} episodes may take for ever; count the run in steps "
                    f"(--steps){'' if self._world is None else limit}"
                )

    def advance(self, steps: int) -> int:
        """Let every agent make up to `steps` steps, not beyond the next look; return the number made.

        When the look is reached, its point is added to :attr:`points`.
        """
        steps = min(steps, self._left)
        self._run(steps)
        self._left -= steps
        if not self._left and not self.budget.spent(self._looked):
            before, now = self._looked, self.device.counters
            table = np.array(
                self.device.table
            )  # once per look, as a board sends it over its serial line
            self.points.append(
                look(self.device.config, self._world, self.discounts, before, now, table)
            )
            done = before[0].steps
            whole = now[0].steps - done == whole_piece(done)
            self.checkpoint = self._taken(now, table, whole)
            self._look_from(now)
        return steps

    def configure(self, settings: Sequence[AgentSettings]) -> None:
        """Continue with other settings, as in :meth:`AgentsDevice.configure`."""
        self.device.configure(settings)
        self.discounts = tuple(own.discount for own in settings)

    def _run(self, piece: int) -> None:
        most = max(1, _SLICE // len(self.discounts))
        while piece:
            steps = min(piece, most)
            begun = time.perf_counter()
            lived = self.device.run(steps, trace=self._traced)
            self.seconds += time.perf_counter() - begun
            self.steps += steps * len(self.discounts)
            if lived is not None:
                self.lived.append(lived)
            piece -= steps

    def _taken(
        self, counters: Sequence[AgentCounters], table: NDArray[np.int32], whole: bool
    ) -> Checkpoint:
        """Return the checkpoint of now; without the last point unless its piece is `whole`."""
        points = self.points if whole else self.points[:-1]
        return Checkpoint(
            {"points": [_values_of(point) for point in points]},
            {
                "table": table,
                "states": _rows(self.device.states, np.uint64),
                "counters": _rows(counters, np.int64),
                "looked": _rows(counters if whole else self._looked, np.int64),
            },
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Continue from a checkpoint of the same run.

        Raises
        ------
        CheckpointError
            A part is missing, or is not what it must be; or the run is longer than the budget.
        DeviceError
            The device failed.
        """
        try:
            points = [
                Point(steps, *map(tuple, parts)) for steps, *parts in checkpoint.head["points"]
            ]
            now, looked = (
                [AgentCounters(*row) for row in checkpoint.arrays[name].tolist()]
                for name in ("counters", "looked")
            )
            left = self.budget.piece(looked[0].steps) - (now[0].steps - looked[0].steps)
            self._check_length(points, now[0].steps, left)
            self.device.restore(
                checkpoint.arrays["table"],
                [_state(row) for row in checkpoint.arrays["states"].tolist()],
                now,
            )
        except (CheckpointError, DeviceError):
            raise
        except Exception as cause:  # a part can be wrong in any way
            why = f"{type(cause).__name__}: {cause}"
            raise CheckpointError(
                f"the checkpoint does not hold a run of agents ({why})"
            ) from cause
        self.points, self.checkpoint = points, checkpoint
        self._looked, self._left = looked, left

    def _check_length(self, points: Sequence[Point], steps: int, left: int) -> None:
        """Raise CheckpointError if a run of these points and `steps` is longer than the budget."""
        earlier = min(points[-2].episodes) if len(points) > 1 else 0
        made = steps if self.budget.unit == "steps" else earlier
        if left < 0 or (self.budget.unit == "episodes" and earlier >= self.budget.length):
            raise CheckpointError(
                f"the checkpoint has {made} {self.budget.unit} of each agent already; "
                f"{self.budget.unit} is {self.budget.length} and cannot be less"
            )


def _values_of(part: Any) -> tuple[Any, ...]:
    """Return the fields of a flat dataclass; `astuple` would copy their content recursively."""
    return tuple(getattr(part, name) for name in part.__slots__)


def _rows(parts: Sequence[Any], dtype: type[np.generic]) -> NDArray[Any]:
    return np.array([_values_of(part) for part in parts], dtype)


def _state(row: list[Any]) -> AgentState:
    word, epsilon, count, begun, state, action, explored, episode_steps = row
    return AgentState(
        word, epsilon, count, bool(begun), state, action, bool(explored), episode_steps
    )


class AgentsRun:
    """A :class:`~qstep.learn.run.Run` of agents that act on a device.

    Parameters
    ----------
    name : str
        The world, for people.
    url : str
        The device, as for :func:`qstep.open`.
    plan : AgentsPlan
    horizon : Budget, optional
        What epsilon's share refers to, part of the run's identity. Default: the plan's budget.
    trace : Path, optional
        File for every step of the agents.
    env_kwargs : mapping, optional
        Arguments of the environment that the world was made from.

    Attributes
    ----------
    training : Training
        Once the run is open.
    """

    resumable, atomic = True, False

    def __init__(
        self,
        name: str,
        url: str,
        plan: AgentsPlan,
        horizon: Budget | None = None,
        trace: Path | None = None,
        env_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        self.name, self.url, self.plan, self.trace = name, url, plan, trace
        self._env_kwargs = env_kwargs
        self.metrics: Metrics | None = None
        self._horizon = horizon or plan.budget
        self._device: AgentsDevice | None = None

    @property
    def identity(self) -> dict[str, Any]:
        return {**self.plan.identity, HORIZON: asdict(self._horizon)}

    def open(self, checkpoint: Checkpoint | None) -> None:
        plan = self.plan
        self._device = open_agents(self.url, plan.config, plan.loaded, plan.settings)
        discounts = [own.discount for own in plan.settings]
        self.training = Training(
            self._device, plan.world, discounts, plan.budget, self.trace is not None
        )
        if checkpoint is not None:
            self.training.restore(checkpoint)

    def close(self) -> None:
        if self._device is not None:
            self._device.close()

    def __iter__(self) -> Iterator[None]:
        for point in self.training:
            if self.metrics is not None:
                self.metrics(point.steps, point.metrics)
            yield

    @property
    def progress(self) -> Progress:
        budget, points = self.plan.budget, self.training.points
        if not points:
            return Progress(0, budget.length)
        last = points[-1]
        done = last.steps if budget.steps else min(last.episodes)
        known = [value for value in last.mean_return if not math.isnan(value)]
        state = f"return {np.median(known):.2f}" if known else ""
        return Progress(min(done, budget.length), budget.length, state)

    @property
    def steps(self) -> int:
        return self.training.points[-1].steps if self.training.points else 0

    @property
    def reached(self) -> str:
        return f"{self.training.checkpoint.arrays['counters'][0][0]} steps of each agent"

    @property
    def checkpoint(self) -> Checkpoint:
        return self.training.checkpoint

    def result(self) -> AgentsResult:
        return AgentsResult.of(
            self.name, self.url, self.plan, self.training, self.trace, self._env_kwargs
        )
