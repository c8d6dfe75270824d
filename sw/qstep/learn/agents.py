"""Runs agents that act on the device, and evaluates them during the run.

Evaluations divide a run into pieces. The length of a piece is an eighth of the steps so far, regardless
of the device and its speed. A run of a billion steps therefore has only about twice as many evaluations
as a run of a million.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep._io.checkpoint import Checkpoint, whole
from qstep.device import AgentsDevice, is_model, open_agents
from qstep.errors import CheckpointError, ConfigError, DeviceError, WorldError
from qstep.golden.agents_fast import Trace
from qstep.learn.agents_result import AgentsResult, Point, history_of, measured
from qstep.learn.metrics import Metrics
from qstep.learn.plan import AgentsPlan, Budget, warn_of_lost_updates, whole_piece
from qstep.learn.run import Progress
from qstep.learn.table import TableWorld
from qstep.learn.tiled_env import EnvAgents, TiledEnv
from qstep.spec.settings import AgentCounters, AgentState

__all__ = ["HORIZON", "AgentsRun"]

HORIZON = "epsilon_horizon"
"""Key in the identity for the budget to which epsilon's share is relative."""

_QUIET_STEPS, _QUIET_SHARE = 1 << 22, 3 / 4
"""A run is stuck if an agent ends no episode during this many steps and this share of the run."""

_MASK64 = (1 << 64) - 1
_SLICE = 1 << 22
"""Steps of all agents between checks for an interrupt: a tenth of a second on the model."""


class AgentsRun:
    """A :class:`~qstep.learn.run.Run` of agents on a device, in pieces that each end with an evaluation.

    At each point, :attr:`checkpoint` is the complete state of the run. A run that is interrupted
    anywhere, even inside a device call, resumes from it with the same points. If the last point exists
    only because the budget ended there, the checkpoint omits it, so a longer run that resumes from the
    checkpoint has the same points as a run planned with that length.

    Epsilon's share is relative to `horizon`, by default the plan's budget; `horizon` is part of the
    run's identity. `trace` is the file that records every step of the agents. :attr:`device` and
    :attr:`points` exist once the run is open.
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
        if isinstance(plan.world, TiledEnv) and not is_model(url):
            raise ConfigError(
                f"device is {url!r}; with tiles it must be 'model', because the host steps the world"
            )
        self.metrics: Metrics | None = None
        self._env_kwargs, self._horizon = dict(env_kwargs or {}), horizon or plan.budget
        self._traces: list[Trace] = []
        self._seconds, self._steps = 0.0, 0  # in this process; steps of all agents together
        self._held = ExitStack()

    @property
    def identity(self) -> dict[str, Any]:
        return {**self.plan.identity, HORIZON: asdict(self._horizon)}

    def open(self, checkpoint: Checkpoint | None) -> None:
        plan = self.plan
        rates = ((own.alpha, plan.config.format) for own in plan.settings)
        warn_of_lost_updates(plan.world, plan.config.rounding, rates)
        if isinstance(plan.world, TiledEnv):
            self.device: AgentsDevice | EnvAgents = EnvAgents(
                plan.config, plan.world, plan.settings
            )
        else:
            self.device = open_agents(self.url, plan.config, plan.loaded, plan.settings)
        self._held.enter_context(self.device)
        self.points: list[Point] = []
        self._start_piece(self._counters)
        self.checkpoint = self._taken(self._evaluated, np.array(self.device.table), whole=True)
        if checkpoint is not None:
            self.restore(checkpoint)

    def close(self) -> None:
        self._held.close()

    def __iter__(self) -> Iterator[None]:
        while not self._over:
            self.advance()
            if self.metrics is not None:
                point = self.points[-1]
                self.metrics(point.steps, point.metrics)
            yield
            self._check_progress()

    @property
    def _counters(self) -> list[AgentCounters]:
        return [replace(own) for own in self.device.counters]

    def _start_piece(self, counters: Sequence[AgentCounters]) -> None:
        """Start the piece after the evaluation that read these counters."""
        self._evaluated = counters
        self._left = self.plan.budget.piece(counters[0].steps)

    @property
    def _over(self) -> bool:
        """Whether the budget was spent at the last evaluation."""
        return self.plan.budget.spent(self._evaluated)

    def _check_progress(self) -> None:
        """Raise WorldError if the budget is in episodes and an agent's episode seems endless."""
        last, budget = self.points[-1], self.plan.budget
        if budget.episodes is None or last.steps < _QUIET_STEPS:
            return
        for agent, ended in enumerate(last.episodes):
            earlier = (point.steps for point in self.points if point.episodes[agent] < ended)
            quiet = last.steps - max(earlier, default=0)
            if ended < budget.episodes and quiet >= max(_QUIET_STEPS, _QUIET_SHARE * last.steps):
                limit = ", or limit the steps of an episode (--max-episode-steps)"
                raise WorldError(
                    f"no episode of agent {agent} has ended in the last {quiet:,} steps, so "
                    f"{budget.episodes} episodes may never end; count the run in steps "
                    f"(--steps){'' if self.plan.world is None else limit}"
                )

    def advance(self, steps: int | None = None) -> int:
        """Run each agent for up to `steps` steps or to the next evaluation; return the steps taken.

        An evaluation appends its point to :attr:`points`.
        """
        steps, agents = (
            self._left if steps is None else min(steps, self._left),
            len(self.plan.settings),
        )
        most = max(1, _SLICE // agents)
        for made in range(0, steps, most):
            piece = min(most, steps - made)
            start = time.perf_counter()
            trace = self.device.run(piece, trace=self.trace is not None)
            self._seconds += time.perf_counter() - start
            self._steps += piece * agents
            if trace is not None:
                self._traces.append(trace)
        self._left -= steps
        if not self._left and not self._over:
            plan, before, now = self.plan, self._evaluated, self._counters
            table = np.array(self.device.table)  # read once: a board sends it over a serial line
            discounts = [own.discount_for(plan.config) for own in self.device.settings]
            self.points.append(measured(plan.config, plan.solvable, discounts, before, now, table))
            done = before[0].steps
            whole = now[0].steps - done == whole_piece(done)
            self.checkpoint = self._taken(now, table, whole)
            self._start_piece(now)
        return steps

    def _taken(
        self, counters: Sequence[AgentCounters], table: NDArray[np.int32], whole: bool
    ) -> Checkpoint:
        """Return the current checkpoint, without the last point unless its piece is `whole`."""
        points = self.points if whole else self.points[:-1]
        head: dict[str, Any] = {"points": [_values_of(point) for point in points]}
        if isinstance(self.device, EnvAgents):
            head["worlds"] = self.device.worlds()
        return Checkpoint(
            head,
            {
                "table": table,
                "states": np.array([_state_values(own) for own in self.device.states]),
                "counters": _rows(counters, np.int64),
                "looked": _rows(counters if whole else self._evaluated, np.int64),
            },
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Continue from a checkpoint of the same run.

        Raises CheckpointError if a part is missing or wrong, or the run exceeds the budget, and
        DeviceError if the device fails.
        """
        wrong = "the checkpoint does not hold a run of agents"
        with whole(wrong, CheckpointError, DeviceError):
            points = [
                Point(steps, *map(tuple, parts)) for steps, *parts in checkpoint.head["points"]
            ]
            now, evaluated = (
                [AgentCounters(*row) for row in checkpoint.arrays[name].tolist()]
                for name in ("counters", "looked")
            )
            left = self.plan.budget.piece(evaluated[0].steps) - (now[0].steps - evaluated[0].steps)
            self._check_length(points, now[0].steps, left)
            self.device.restore(
                checkpoint.arrays["table"],
                [_state(row) for row in checkpoint.arrays["states"].tolist()],
                now,
            )
            if isinstance(self.device, EnvAgents):
                self.device.restore_worlds(checkpoint.head["worlds"])
        self.points, self.checkpoint = points, checkpoint
        self._evaluated, self._left = evaluated, left

    def _check_length(self, points: Sequence[Point], steps: int, left: int) -> None:
        """Raise CheckpointError if a run of these points and `steps` is longer than the budget."""
        budget, earlier = self.plan.budget, min(points[-2].episodes) if len(points) > 1 else 0
        made = steps if budget.unit == "steps" else earlier
        if left < 0 or (budget.unit == "episodes" and earlier >= budget.length):
            raise CheckpointError(
                f"the checkpoint already has {made} {budget.unit} per agent; "
                f"{budget.unit} is {budget.length} and cannot be less"
            )

    @property
    def progress(self) -> Progress:
        budget, points = self.plan.budget, self.points
        if not points:
            return Progress(0, budget.length)
        last = points[-1]
        done = last.steps if budget.steps else min(last.episodes)
        known = [value for value in last.mean_return if not math.isnan(value)]
        state = f"return {np.median(known):.2f}" if known else ""
        return Progress(min(done, budget.length), budget.length, state)

    @property
    def steps(self) -> int:
        return self.points[-1].steps if self.points else 0

    @property
    def reached(self) -> str:
        return f"{self.checkpoint.arrays['counters'][0][0]} steps per agent"

    def result(self) -> AgentsResult:
        plan, points = self.plan, tuple(self.points)
        clipped = {}
        if isinstance(self.device, EnvAgents):
            clipped["clipped"] = self.device.clipped
        size = None if plan.world is None else (plan.config.states, plan.config.actions)
        if plan.solvable is not None:
            size = plan.solvable.states, plan.solvable.actions
        return AgentsResult(
            name=self.name,
            config=plan.config,
            learned_with=plan.settings,
            table=np.array(self.device.table),
            history=history_of(points),
            report={"device": self.url, "env_kwargs": self._env_kwargs, **clipped},
            world=size and TableWorld.of(self.name, size, plan.solvable, self._env_kwargs),
            plan=plan,
            counters=tuple(self.device.counters),
            points=points,
            seconds=self._seconds,
            steps=self._steps,
            trace=None if self.trace is None else (self.trace, self._traces),
        )


def _values_of(part: Any) -> tuple[Any, ...]:
    """Return the fields of a flat dataclass; `astuple` would copy their content recursively."""
    return tuple(getattr(part, name) for name in part.__slots__)


def _rows(parts: Sequence[Any], dtype: type[np.generic]) -> NDArray[Any]:
    return np.array([_values_of(part) for part in parts], dtype)


def _state_values(own: AgentState) -> NDArray[np.uint64]:
    """Return the fields of a state as 64-bit words; a position of several numbers has one word each."""
    word, epsilon, count, begun, state, *rest = _values_of(own)
    place = state if isinstance(state, tuple) else (state,)
    values = word, epsilon, count, begun, *place, *rest
    return np.array([value & _MASK64 for value in values], np.uint64)


def _state(row: list[int]) -> AgentState:
    word, epsilon, count, begun, *place, action, explored, episode_steps = row
    numbers = tuple(x - (x >> 63 << 64) for x in place)
    state = numbers if len(numbers) > 1 else numbers[0]
    return AgentState(
        word, epsilon, count, bool(begun), state, action, bool(explored), episode_steps
    )
