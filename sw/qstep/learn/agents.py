"""Runs agents that act beside their tables, and evaluates them on the way.

Evaluations divide a run into pieces, each an eighth of the steps so far: a run of a billion steps has
about as many as one of a million, and they do not depend on the device or its speed.
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
from qstep.device import AgentsDevice, open_agents
from qstep.errors import CheckpointError, DeviceError, WorldError
from qstep.golden.agents_fast import Trace
from qstep.learn.agents_result import AgentsResult, history_columns
from qstep.learn.metrics import Metrics
from qstep.learn.plan import AgentsPlan, Budget, whole_piece
from qstep.learn.point import Point, measured
from qstep.learn.run import Progress
from qstep.learn.table import TableWorld
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
    """A run of agents on an open device, in pieces, each of which ends with an evaluation.

    At each point :attr:`checkpoint` holds everything that the rest of the run depends on: a run that was
    interrupted anywhere, even inside a call of the device, continues from there with the same points.
    The checkpoint leaves out a last point that only the end of the budget caused, so a longer run
    that continues from it has the points of a run that was as long from the beginning.

    `world` is None without a known table; values are then unknown too. `discounts` are what each agent
    learns (:attr:`AgentSettings.discount`). :attr:`seconds` and :attr:`steps` (of all agents) count this
    process only; :attr:`traces` are empty unless `traced`.
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
        self.traces: list[Trace] = []
        self._traced = traced
        self.seconds, self.steps = 0.0, 0
        self._world = world
        self._start_piece(device.counters)
        self.checkpoint = self._taken(self._evaluated, np.array(device.table), whole=True)

    def _start_piece(self, counters: Sequence[AgentCounters]) -> None:
        """Start the piece that follows the evaluation with these counters."""
        self._evaluated = counters
        self._left = self.budget.piece(counters[0].steps)

    @property
    def over(self) -> bool:
        """Whether the budget was spent at the last evaluation."""
        return self.budget.spent(self._evaluated)

    def check_progress(self) -> None:
        """Raise WorldError if episodes are counted and an agent's last one seems endless."""
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

    def advance(self, steps: int | None = None) -> int:
        """Let every agent make up to `steps` steps, not beyond the next evaluation; return their number.

        At an evaluation, its point is added to :attr:`points`.
        """
        steps = self._left if steps is None else min(steps, self._left)
        most = max(1, _SLICE // len(self.discounts))
        for made in range(0, steps, most):
            piece = min(most, steps - made)
            start = time.perf_counter()
            trace = self.device.run(piece, trace=self._traced)
            self.seconds += time.perf_counter() - start
            self.steps += piece * len(self.discounts)
            if trace is not None:
                self.traces.append(trace)
        self._left -= steps
        if not self._left and not self.over:
            before, now = self._evaluated, self.device.counters
            table = np.array(self.device.table)  # once: a board sends it over its serial line
            self.points.append(
                measured(self.device.config, self._world, self.discounts, before, now, table)
            )
            done = before[0].steps
            whole = now[0].steps - done == whole_piece(done)
            self.checkpoint = self._taken(now, table, whole)
            self._start_piece(now)
        return steps

    def configure(self, settings: Sequence[AgentSettings]) -> None:
        """Continue with other settings, as in :meth:`qstep.golden.contract.Agents.configure`."""
        self.device.configure(settings)
        self.discounts = tuple(own.discount for own in settings)

    def _taken(
        self, counters: Sequence[AgentCounters], table: NDArray[np.int32], whole: bool
    ) -> Checkpoint:
        """Return the present checkpoint, without the last point unless its piece is `whole`."""
        points = self.points if whole else self.points[:-1]
        return Checkpoint(
            {"points": [_values_of(point) for point in points]},
            {
                "table": table,
                "states": _rows(self.device.states, np.uint64),
                "counters": _rows(counters, np.int64),
                "looked": _rows(counters if whole else self._evaluated, np.int64),
            },
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Continue from a checkpoint of the same run.

        Raises CheckpointError if a part is missing or wrong or the run exceeds the budget, and
        DeviceError if the device fails.
        """
        try:
            points = [
                Point(steps, *map(tuple, parts)) for steps, *parts in checkpoint.head["points"]
            ]
            now, evaluated = (
                [AgentCounters(*row) for row in checkpoint.arrays[name].tolist()]
                for name in ("counters", "looked")
            )
            left = self.budget.piece(evaluated[0].steps) - (now[0].steps - evaluated[0].steps)
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
        self._evaluated, self._left = evaluated, left

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
    word, epsilon, count, started, state, action, explored, episode_steps = row
    return AgentState(
        word, epsilon, count, bool(started), state, action, bool(explored), episode_steps
    )


class AgentsRun:
    """A :class:`~qstep.learn.run.Run` of agents that act on a device.

    `horizon`, by default the plan's budget, is what epsilon's share refers to, and part of the run's
    identity. `trace` is the file for every step of the agents. :attr:`training` exists once the run is
    open.
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
        training = self.training
        while not training.over:
            training.advance()
            if self.metrics is not None:
                point = training.points[-1]
                self.metrics(point.steps, point.metrics)
            yield
            training.check_progress()

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
        training, plan, world = self.training, self.plan, self.plan.world
        points, named = tuple(training.points), None
        if world is not None:
            size = (world.states, world.actions)
            named = TableWorld.of(self.name, size, world, self._env_kwargs)
        return AgentsResult(
            self.name,
            plan.config,
            plan.settings,
            np.array(training.device.table),
            {"evaluations": history_columns(points)},
            {"device": self.url, "env_kwargs": dict(self._env_kwargs or {})},
            named,
            plan,
            tuple(training.device.counters),
            points,
            training.seconds,
            training.steps,
            None if self.trace is None else (self.trace, training.traces),
        )
