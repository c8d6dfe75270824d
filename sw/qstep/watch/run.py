"""A run of agents on a device that is looked at and steered while it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from qstep.acting.agent import AgentCounters, AgentSettings, AgentState
from qstep.acting.device import AgentsDevice
from qstep.acting.plan import AgentsPlan
from qstep.acting.training import Training
from qstep.learn.value_iteration import best_start_value
from qstep.table import policy_table
from qstep.watch.view import WatchedView, changed

__all__ = ["WatchedRun"]


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
        """As :meth:`Watched.configure <qstep.watch.view.Watched.configure>`."""
        settings = tuple(changed(own, alpha, gamma, epsilon) for own in self._settings)
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
        config, counters = self.plan.config, tuple(self._device.counters)
        return WatchedView(
            self._settings[0],
            tuple(self._device.states),
            counters,
            sum(own.saturations for own in counters),
            config.format.to_float(policy_table(config, self._device.table)),
            tuple(self._training.points),
            self._optimum(self._settings[0].gamma),
        )

    def _best(self, gamma: float) -> float | None:
        world = self.plan.world
        return None if world is None else best_start_value(world, gamma)
