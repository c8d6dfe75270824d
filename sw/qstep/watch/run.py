"""A run of agents that is looked at and steered while it goes on; nothing here knows of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep.acting.agent import AgentCounters, AgentSettings, AgentState
from qstep.acting.device import AgentsDevice
from qstep.acting.epsilon import Epsilon
from qstep.acting.plan import AgentsPlan
from qstep.acting.point import Point
from qstep.acting.training import Training
from qstep.learn.value_iteration import best_start_value
from qstep.table import policy_table

__all__ = ["WatchedRun", "WatchedView"]


@dataclass(frozen=True)
class WatchedView:
    """All that is shown of a run at one moment.

    Attributes
    ----------
    settings : AgentSettings
        Of agent 0; `configure` sets those of all.
    states : tuple of AgentState
    counters : tuple of AgentCounters
    q : ndarray of float64, shape (tables, S, A)
        What the greedy policy of each table takes the maximum of, in real units.
    points : tuple of Point
        As `qstep train` makes them.
    optimum : float or None
        What the optimal policy is worth where episodes start, if that is known.
    """

    settings: AgentSettings
    states: tuple[AgentState, ...]
    counters: tuple[AgentCounters, ...]
    q: NDArray[np.float64]
    points: tuple[Point, ...]
    optimum: float | None

    @property
    def steps(self) -> int:
        """Of each agent so far."""
        return self.counters[0].steps


class WatchedRun:
    """A run on a device, made of exactly as many steps as one asks for.

    It is the run that :class:`~qstep.acting.training.Training` makes, whatever the pieces: the same
    tables, counters, states and points.

    Parameters
    ----------
    device : AgentsDevice
        At the beginning of the run; from then on used by this run alone.
    plan : AgentsPlan
        What the device was opened with; its settings are what a run begins with.
    """

    def __init__(self, device: AgentsDevice, plan: AgentsPlan) -> None:
        self.plan, self._device = plan, device
        self._optimum = lru_cache(self._best)
        self._begin(plan.settings)

    def _begin(self, settings: Sequence[AgentSettings]) -> None:
        self._settings = tuple(settings)
        gammas = [own.gamma for own in settings]
        self._training = Training(self._device, self.plan.world, gammas, self.plan.budget)

    def advance(self, steps: int) -> int:
        """Let every agent make up to `steps` steps; return how many: 0 if the budget is spent.

        Fewer are made where a point of the curves is due.
        """
        return self._training.advance(steps)

    def configure(
        self,
        *,
        alpha: float | None = None,
        gamma: float | None = None,
        epsilon: float | None = None,
    ) -> None:
        """Go on with another alpha, gamma or constant epsilon of all agents; None leaves it.

        Raises
        ------
        ConfigError
            A value is illegal; nothing is changed.
        """
        changed: dict[str, Any] = {"alpha": alpha, "gamma": gamma}
        if epsilon is not None:
            changed["epsilon"] = Epsilon(epsilon)
        changed = {name: value for name, value in changed.items() if value is not None}
        settings = tuple(replace(own, **changed) for own in self._settings)
        self._training.configure(settings)
        self._settings = settings

    def reset(self) -> None:
        """Go back to the beginning: settings, seed, agents, tables and curves."""
        plan = self.plan
        self._device.configure(plan.settings)
        self._device.restore(
            np.zeros(plan.config.table_shape, np.int32),
            [AgentState.first(own, number) for number, own in enumerate(plan.settings)],
            [AgentCounters() for _ in plan.settings],
        )
        self._begin(plan.settings)

    def view(self) -> WatchedView:
        """Return what there is to see now."""
        config = self.plan.config
        return WatchedView(
            self._settings[0],
            tuple(self._device.states),
            tuple(self._device.counters),
            config.format.to_float(policy_table(config, self._device.table)),
            tuple(self._training.points),
            self._optimum(self._settings[0].gamma),
        )

    def _best(self, gamma: float) -> float | None:
        world = self.plan.world
        return None if world is None else best_start_value(world, gamma)
