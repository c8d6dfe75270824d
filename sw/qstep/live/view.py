"""What is shown of a watched run; nothing here knows of a page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qstep.learn.point import Point
from qstep.live.recent import Mark
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState

__all__ = ["WatchedView"]


@dataclass(frozen=True)
class WatchedView:
    """Everything that is shown of a run at one moment.

    Attributes
    ----------
    settings : AgentSettings
        Of agent 0; `configure` sets those of all.
    states : tuple of AgentState
        Where agents act on the device, else empty.
    counters : tuple of AgentCounters
        Where the host acts, of what it did on all its environments.
    saturations : int
        Updates of all agents that did not fit the format.
    q : ndarray of float64, shape (tables, S, A)
        What the greedy policy of each table takes the maximum of, in real units.
    points : tuple of Point
        Those of `qstep train`, each an eighth of the run after the one before.
    recent : tuple of Point
        The latest points at equal times: see :class:`~qstep.live.recent.Recent`.
    optima : tuple of float
        The optimum at each of the recent points, NaN if unknown.
    marks : tuple of Mark
        The latest changes of the settings.
    optimum : float or None
        Value of the optimal policy where episodes start, if that is known.
    optimal_end : int or None
        The state in which its episodes end, in a world without chance.
    """

    settings: AgentSettings
    states: tuple[AgentState, ...]
    counters: tuple[AgentCounters, ...]
    saturations: int
    q: NDArray[np.float64]
    points: tuple[Point, ...]
    recent: tuple[Point, ...]
    optima: tuple[float, ...]
    marks: tuple[Mark, ...]
    optimum: float | None
    optimal_end: int | None

    @property
    def steps(self) -> int:
        """Of each agent so far."""
        return self.counters[0].steps
