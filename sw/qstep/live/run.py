"""Runs that are watched and steered while they learn; agents act on a device, or the host acts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep.learn.agents import AgentsRun
from qstep.learn.agents_result import Point, measured
from qstep.learn.host import HostRun
from qstep.learn.plan import whole_piece
from qstep.learn.table import policy_table
from qstep.mdp.solve import is_quick, solve
from qstep.mdp.world import World
from qstep.spec.config import Config
from qstep.spec.discount import differs
from qstep.spec.epsilon import Epsilon
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState

__all__ = ["MOST_POINTS", "Mark", "View", "Watched", "WatchedAgents", "WatchedHost"]

MOST_POINTS = 120
"""Number of recent points kept: two minutes of a playing run."""

_MOST_MARKS = 100


@dataclass(frozen=True, slots=True)
class Mark:
    """A change of alpha, gamma or epsilon, and the number of steps per agent before the change."""

    steps: int
    name: str
    value: float


@dataclass(frozen=True)
class View:
    """A snapshot of everything that the page shows of a run."""

    settings: AgentSettings  # of agent 0; `configure` changes those of all agents
    states: tuple[AgentState, ...]  # empty if the host acts
    counters: tuple[AgentCounters, ...]  # a single one for all environments if the host acts
    q: NDArray[np.float64]  # maximised by each greedy policy, real, (tables, S, A)
    points: tuple[Point, ...]  # as in `qstep train`
    recent: tuple[Point, ...]  # the last MOST_POINTS samples
    optima: tuple[float, ...]  # the optimum at each recent point, NaN if unknown
    marks: tuple[Mark, ...]  # in step order; a drag makes one mark, at the end
    optimum: float | None  # value of the optimal policy at the start, if known
    learned: float | None  # learned discount, if it differs from gamma
    optimal_end: int | None  # state where the optimal policy ends, if deterministic

    @property
    def steps(self) -> int:
        """Steps of each agent so far."""
        return self.counters[0].steps


class Watched(ABC):
    """An open run, advanced any number of steps at a time, which does not affect its result.

    `settings` are the initial settings, one per agent. If the world's transition table is unknown,
    `world` is None and the optimum is unknown.
    """

    def __init__(
        self, config: Config, settings: Sequence[AgentSettings], world: World | None
    ) -> None:
        self.config, self._first, self._world = config, tuple(settings), world
        self._optimum = lru_cache(self._best)
        self._begin()

    def _begin(self) -> None:
        self._settings = self._first
        self._recent: tuple[Point, ...] = ()
        self._optima: tuple[float, ...] = ()
        self._marks: tuple[Mark, ...] = ()
        self._sampled = self._counters()

    @abstractmethod
    def advance(self, steps: int) -> int:
        """Take up to `steps` steps per agent, 1 or more; return the number taken, 0 if the run is over.

        The call stops early at the next point of the curves.
        """

    def configure(self, **values: float) -> None:
        """Change `alpha`, `gamma` or a constant `epsilon`.

        Raises ConfigError and changes nothing if a value is illegal.
        """
        fields: dict[str, Any] = dict(values)
        if "alpha" in values and self.config.planes > 1:
            fields["alpha"] = values["alpha"] / self.config.planes
        if "epsilon" in values:
            fields["epsilon"] = Epsilon(values["epsilon"])
        before, settings = self._settings[0], [replace(own, **fields) for own in self._settings]
        self._configure(settings)
        self._settings = tuple(settings)
        for name, value in values.items():
            if getattr(before, name) != getattr(settings[0], name):
                marks = [mark for mark in self._marks if not self._continues(mark, name)]
                self._marks = (*marks, Mark(self._counters()[0].steps, name, value))[-_MOST_MARKS:]

    def _continues(self, mark: Mark, name: str) -> bool:
        """Return whether a change continues the drag of a mark: at most one recent point follows it."""
        later = [point for point in self._recent[-2:] if point.steps > mark.steps]
        return mark.name == name and len(later) < 2

    def reset(self) -> None:
        """Return to the initial settings, seed, agents, tables and curves."""
        self._restart()
        self._begin()

    def view(self, sample: bool = False) -> View:
        """Return the current view.

        If `sample`, first append a point to the recent points, for the steps since the previous one.
        """
        counters, table, own = self._counters(), self._table(), self._settings[0]
        optimum, end = self._optimum(own.discount_for(self.config))
        if sample and counters[0].steps > self._sampled[0].steps:
            point = self._measured(self._sampled, counters, table)
            known = math.nan if optimum is None else optimum
            self._recent = (*self._recent, point)[-MOST_POINTS:]
            self._optima = (*self._optima, known)[-MOST_POINTS:]
            self._sampled = counters
        return View(
            settings=replace(own, alpha=own.alpha * self.config.planes),
            states=self._states(),
            counters=counters,
            q=self.config.format.to_float(policy_table(self.config, table)),
            points=tuple(self._points()),
            recent=self._recent,
            optima=self._optima,
            marks=self._marks,
            optimum=optimum,
            learned=self._learned(),
            optimal_end=end,
        )

    def _learned(self) -> float | None:
        """Return the discount that agent 0 learns, if it differs from gamma."""
        own, bits = self._settings[0], self.config.coefficient_bits
        return own.discount_for(self.config) if differs(own.alpha, own.gamma, bits) else None

    def _measured(
        self,
        before: Sequence[AgentCounters],
        now: Sequence[AgentCounters],
        table: NDArray[np.int32],
    ) -> Point:
        discounts = [own.discount_for(self.config) for own in self._settings]
        return measured(self.config, self._world, discounts, before, now, table)

    def _best(self, discount: float) -> tuple[float | None, int | None]:
        """Return the value of an optimal policy at the start, and the state in which it ends."""
        world = self._world
        if world is None or not is_quick(world, discount):
            return None, None
        solution = solve(world, discount)
        return float(world.start @ solution.values), _end(world, solution.q.argmax(axis=1))

    @abstractmethod
    def _configure(self, settings: Sequence[AgentSettings]) -> None: ...

    @abstractmethod
    def _restart(self) -> None: ...

    @abstractmethod
    def _counters(self) -> tuple[AgentCounters, ...]: ...

    @abstractmethod
    def _table(self) -> NDArray[np.int32]: ...

    @abstractmethod
    def _points(self) -> Sequence[Point]: ...

    def _states(self) -> tuple[AgentState, ...]:
        return ()


class WatchedAgents(Watched):
    """A run of agents on a device; this object opens it and must be its only user."""

    def __init__(self, run: AgentsRun) -> None:
        run.open(None)
        plan, self._run = run.plan, run
        self._start = run.checkpoint
        super().__init__(plan.config, plan.settings, plan.solvable)

    def advance(self, steps: int) -> int:
        return self._run.advance(steps)

    def _configure(self, settings: Sequence[AgentSettings]) -> None:
        self._run.device.configure(settings)

    def _restart(self) -> None:
        self._run.device.configure(self._first)
        self._run.restore(self._start)

    def _counters(self) -> tuple[AgentCounters, ...]:
        return tuple(self._run.device.counters)

    def _table(self) -> NDArray[np.int32]:
        return self._run.device.table

    def _points(self) -> Sequence[Point]:
        return self._run.points

    def _states(self) -> tuple[AgentState, ...]:
        return tuple(self._run.device.states)


class WatchedHost(Watched):
    """A run in which the host acts, without evaluations; this object opens it and must be its only user.

    The page shows one agent, which takes the steps of all environments. The plan's length is ignored,
    and its epsilon must be constant.
    """

    def __init__(self, run: HostRun) -> None:
        run.open(None)
        self._run = run
        hyper = run.hyper
        first = AgentSettings(hyper.alpha, hyper.gamma, run.plan.epsilon, hyper.seed)
        super().__init__(run.config, [first], None)

    def _begin(self) -> None:
        self._own = AgentCounters()
        self._total = 0.0  # return of all finished episodes
        self._saturations_before = self._run.device.saturations()
        self._made: list[Point] = []
        self._before, self._left = self._own, whole_piece(0)
        super()._begin()

    def advance(self, steps: int) -> int:
        """Take steps as for agents; also stop early when the table is read or an episode ends."""
        steps = min(steps, self._left)
        columns, episodes = self._run.stretch(steps, steps)
        made = len(columns[0])
        terminated = sum(episode.terminated for episode in episodes)
        self._total += sum(episode.total for episode in episodes)
        self._own = own = replace(
            self._own,
            steps=self._own.steps + made,
            terminations=self._own.terminations + terminated,
            truncations=self._own.truncations + len(episodes) - terminated,
            return_sum=round(self._total / self.config.format.resolution),
        )
        self._left -= made
        if not self._left:
            self._made.append(self._measured([self._before], [own], self._table()))
            self._before, self._left = own, whole_piece(own.steps)
        return made

    def _configure(self, settings: Sequence[AgentSettings]) -> None:
        (own,) = settings
        hyper = replace(self._run.hyper, alpha=own.alpha, gamma=own.gamma)
        self._run.configure(hyper, own.epsilon)

    def _restart(self) -> None:
        self._run.start(self._run.device)

    def _counters(self) -> tuple[AgentCounters, ...]:
        saturations = self._run.device.saturations() - self._saturations_before
        return (replace(self._own, saturations=saturations),)

    def _table(self) -> NDArray[np.int32]:
        return self._run.table

    def _points(self) -> Sequence[Point]:
        return self._made


def _end(world: World, policy: NDArray[np.int64]) -> int | None:
    """Return the state in which a policy's episodes end; None if it is random or they may never end."""
    if world.has_chance or len(world.start_state) > 1:
        return None
    state = int(world.start_state[0])
    for _ in range(world.states):
        row = state * world.actions + int(policy[state])
        state = int(world.next_state[row])
        if world.terminated[row]:
            return state
    return None
