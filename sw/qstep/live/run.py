"""A run of agents on a device that is looked at and steered while it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qstep.device.acting import AgentsDevice
from qstep.learn.agents import Training
from qstep.learn.plan import AgentsPlan
from qstep.learn.point import look
from qstep.learn.table import policy_table
from qstep.live.recent import Recent
from qstep.live.view import WatchedView, changed
from qstep.mdp.solve import is_quick, solve
from qstep.mdp.world import World
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState

__all__ = ["WatchedRun"]


class WatchedRun:
    """A run on a device, made of exactly as many steps as one asks for.

    It is the run that :class:`~qstep.learn.agents.Training` makes, whatever the pieces: the same
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
        discounts = [own.discount for own in settings]
        self._training = Training(self._device, self.plan.world, discounts, self.plan.budget)
        self._recent, self._sampled = Recent(), tuple(self._device.counters)

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
        """As :meth:`Watched.configure <qstep.live.view.Watched.configure>`."""
        settings = tuple(changed(own, alpha, gamma, epsilon) for own in self._settings)
        self._training.configure(settings)
        self._recent.mark(self._device.counters[0].steps, self._settings[0], settings[0])
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

    def view(self, sample: bool = False) -> WatchedView:
        """As :meth:`Watched.view <qstep.live.view.Watched.view>`."""
        config, counters = self.plan.config, tuple(self._device.counters)
        table = self._device.table
        optimum = self._optimum(self._settings[0].discount)
        if sample and counters[0].steps > self._sampled[0].steps:
            world, discounts = self.plan.world, self._training.discounts
            point = look(config, world, discounts, self._sampled, counters, table)
            self._recent.add(point, optimum[0])
            self._sampled = counters
        return WatchedView(
            self._settings[0],
            tuple(self._device.states),
            counters,
            sum(own.saturations for own in counters),
            config.format.to_float(policy_table(config, table)),
            tuple(self._training.points),
            self._recent.points,
            self._recent.optima,
            self._recent.marks,
            *optimum,
        )

    def _best(self, discount: float) -> tuple[float | None, int | None]:
        """Return the value of an optimal policy at the start, and the state in which it ends."""
        world = self.plan.world
        if world is None or not is_quick(world, discount):
            return None, None
        solution = solve(world, discount)
        return float(world.start @ solution.values), _end(world, solution.q.argmax(axis=1))


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
