"""Runs that are watched and steered while they go on: of agents on a device, or of the host."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep.device import Device
from qstep.device.acting import AgentsDevice
from qstep.learn.agents import Training
from qstep.learn.host import Learner, Plan
from qstep.learn.plan import AgentsPlan, Budget
from qstep.learn.point import Point, measured
from qstep.learn.table import policy_table
from qstep.live.recent import Recent
from qstep.live.view import WatchedView
from qstep.mdp.solve import is_quick, solve
from qstep.mdp.world import World
from qstep.spec.epsilon import Epsilon
from qstep.spec.protocol import MOST_STEPS
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState, Hyperparameters

__all__ = ["Watched", "WatchedAgents", "WatchedHost"]


class Watched(ABC):
    """A run, in pieces of any length, which do not affect its result."""

    def _begin(self, settings: Sequence[AgentSettings]) -> None:
        self._settings = tuple(settings)
        self._recent, self._sampled = Recent(), 0

    @abstractmethod
    def advance(self, steps: int) -> int:
        """Make up to `steps` steps of each agent, 1 or more; return how many, 0 if the run is over.

        Fewer are made where a point of the curves is due.
        """

    def configure(
        self,
        *,
        alpha: float | None = None,
        gamma: float | None = None,
        epsilon: float | None = None,
    ) -> None:
        """Continue with another alpha, gamma or constant epsilon; None leaves it.

        Raises
        ------
        ConfigError
            A value is illegal; nothing is changed.
        """
        constant = None if epsilon is None else Epsilon(epsilon)
        given: dict[str, Any] = {"alpha": alpha, "gamma": gamma, "epsilon": constant}
        given = {name: value for name, value in given.items() if value is not None}
        settings = tuple(replace(own, **given) for own in self._settings)
        self._configure(settings)
        self._recent.mark(self._counters[0].steps, self._settings[0], settings[0])
        self._settings = settings

    @abstractmethod
    def reset(self) -> None:
        """Return to the beginning: settings, seed, agents, tables and curves."""

    @abstractmethod
    def view(self, sample: bool = False) -> WatchedView:
        """Return the present view.

        Parameters
        ----------
        sample : bool
            First append a point to the recent ones, of the steps since the previous one. This does
            not affect the run.
        """

    @property
    @abstractmethod
    def _counters(self) -> tuple[AgentCounters, ...]: ...

    @abstractmethod
    def _configure(self, settings: tuple[AgentSettings, ...]) -> None: ...


class WatchedAgents(Watched):
    """The run that :class:`~qstep.learn.agents.Training` makes.

    Parameters
    ----------
    device : AgentsDevice
        At the beginning of the run; must be used only by this run from now on.
    plan : AgentsPlan
        What the device was opened with; its settings are those of the beginning.
    """

    def __init__(self, device: AgentsDevice, plan: AgentsPlan) -> None:
        self.plan, self._device = plan, device
        self._optimum = lru_cache(self._best)
        self._begin(plan.settings)

    def _begin(self, settings: Sequence[AgentSettings]) -> None:
        super()._begin(settings)
        discounts = [own.discount for own in settings]
        self._training = Training(self._device, self.plan.world, discounts, self.plan.budget)
        self._before = self._counters

    @property
    def _counters(self) -> tuple[AgentCounters, ...]:
        return tuple(self._device.counters)

    def advance(self, steps: int) -> int:
        return self._training.advance(steps)

    def _configure(self, settings: tuple[AgentSettings, ...]) -> None:
        self._training.configure(settings)

    def reset(self) -> None:
        plan = self.plan
        self._device.configure(plan.settings)
        self._device.restore(
            np.zeros(plan.config.table_shape, np.int32),
            [AgentState.first(own, number) for number, own in enumerate(plan.settings)],
            [AgentCounters() for _ in plan.settings],
        )
        self._begin(plan.settings)

    def view(self, sample: bool = False) -> WatchedView:
        config, counters, table = self.plan.config, self._counters, self._device.table
        optimum, end = self._optimum(self._settings[0].discount)
        if sample and counters[0].steps > self._sampled:
            discounts = self._training.discounts
            point = measured(config, self.plan.world, discounts, self._before, counters, table)
            self._recent.add(point, optimum)
            self._before, self._sampled = counters, counters[0].steps
        return WatchedView(
            settings=self._settings[0],
            states=tuple(self._device.states),
            counters=counters,
            saturations=sum(own.saturations for own in counters),
            q=config.format.to_float(policy_table(config, table)),
            points=tuple(self._training.points),
            recent=self._recent.points,
            optima=self._recent.optima,
            marks=self._recent.marks,
            optimum=optimum,
            optimal_end=end,
        )

    def _best(self, discount: float) -> tuple[float | None, int | None]:
        """Return the value of an optimal policy at the start, and the state in which it ends."""
        world = self.plan.world
        if world is None or not is_quick(world, discount):
            return None, None
        solution = solve(world, discount)
        return float(world.start @ solution.values), _end(world, solution.q.argmax(axis=1))


class WatchedHost(Watched):
    """The run of :class:`~qstep.learn.host.Learner`, without evaluations; to a viewer it is one agent.

    Parameters
    ----------
    device : Device
        Must be used only by this run from now on.
    plan : Plan
        `env_id`, `num_envs`, `sync_steps`; its length does not count. A step is one of any environment.
    hyper : Hyperparameters
    epsilon : float
        Share of random actions, 0..1.

    Raises
    ------
    ConfigError
        A value is illegal.
    EnvironmentSpaceError
        The environment does not fit the device's table.
    """

    def __init__(self, device: Device, plan: Plan, hyper: Hyperparameters, epsilon: float) -> None:
        self._device, self._hyper = device, hyper
        self._first = AgentSettings(hyper.alpha, hyper.gamma, Epsilon(epsilon), hyper.seed)
        self._plan = replace(plan, epsilon=self._first.epsilon)
        self._budget = Budget(MOST_STEPS)
        self.reset()

    def reset(self) -> None:
        self._begin([self._first])
        self._learner = Learner(self._device, self._plan, self._hyper)
        self._own = AgentCounters()
        self._saturations_before = self._device.saturations()
        self._points: list[Point] = []
        self._returns: list[float] = []  # since the latest point
        self._recent_returns: list[float] = []  # since the latest of the recent points
        self._left = self._budget.piece(0)

    @property
    def _counters(self) -> tuple[AgentCounters, ...]:
        return (self._own,)

    def advance(self, steps: int) -> int:
        """As for agents; fewer are also made where the table is read, or an episode ends."""
        steps = min(steps, self._left)
        columns, episodes = self._learner.stretch(steps, steps)
        made = len(columns[0])
        terminated = sum(episode.terminated for episode in episodes)
        own = self._own = replace(
            self._own,
            steps=self._own.steps + made,
            terminations=self._own.terminations + terminated,
            truncations=self._own.truncations + len(episodes) - terminated,
        )
        totals = [episode.total for episode in episodes]
        self._returns += totals
        self._recent_returns += totals
        self._left -= made
        if not self._left:
            self._points.append(self._point(self._returns))
            self._returns, self._left = [], self._budget.piece(own.steps)
        return made

    def _point(self, returns: list[float]) -> Point:
        mean = sum(returns) / len(returns) if returns else float("nan")
        return Point(self._own.steps, (self._own.episodes,), (mean,), ())

    def _configure(self, settings: tuple[AgentSettings, ...]) -> None:
        (own,) = settings
        hyper = replace(self._hyper, alpha=own.alpha, gamma=own.gamma)
        self._learner.configure(hyper, own.epsilon)

    def view(self, sample: bool = False) -> WatchedView:
        if sample and self._own.steps > self._sampled:
            self._recent.add(self._point(self._recent_returns))
            self._sampled, self._recent_returns = self._own.steps, []
        return WatchedView(
            settings=self._settings[0],
            states=(),
            counters=self._counters,
            saturations=self._device.saturations() - self._saturations_before,
            q=self._device.config.format.to_float(self._learner.table)[None],
            points=tuple(self._points),
            recent=self._recent.points,
            optima=self._recent.optima,
            marks=self._recent.marks,
            optimum=None,
            optimal_end=None,
        )


def _end(world: World, policy: NDArray[np.int64]) -> int | None:
    """Return the state in which a policy's episodes end; None if they need not, or with chance."""
    if world.has_chance or len(world.start_state) > 1:
        return None
    state = int(world.start_state[0])
    for _ in range(world.states):
        row = state * world.actions + int(policy[state])
        state = int(world.next_state[row])
        if world.terminated[row]:
            return state
    return None
