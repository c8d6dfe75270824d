"""The last minutes of a watched run: points at equal times, and the changes of its settings."""

from __future__ import annotations

import math
from dataclasses import dataclass

from qstep.learn.point import Point
from qstep.spec.settings import AgentSettings

__all__ = ["MOST_POINTS", "Mark", "Recent"]

MOST_POINTS = 120
"""Points that are kept: two minutes of a run that plays."""

_MOST_MARKS = 100


@dataclass(frozen=True, slots=True)
class Mark:
    """A change of a setting while a run goes on.

    Attributes
    ----------
    steps : int
        Steps of each agent at the change.
    name : str
        ``alpha``, ``gamma`` or ``epsilon``.
    value : float
        The new value.
    """

    steps: int
    name: str
    value: float


class Recent:
    """The latest points of a run and the latest changes of its settings.

    Attributes
    ----------
    points : tuple of Point
        The last :data:`MOST_POINTS`.
    optima : tuple of float
        Value of the optimal policy at each of them, NaN if unknown: it depends on gamma.
    marks : tuple of Mark
        In the order of their steps. A slider that is dragged makes one mark, where the drag ends.
    """

    def __init__(self) -> None:
        self.points: tuple[Point, ...] = ()
        self.optima: tuple[float, ...] = ()
        self.marks: tuple[Mark, ...] = ()

    def add(self, point: Point, optimum: float | None = None) -> None:
        """Append a point."""
        self.points = (*self.points, point)[-MOST_POINTS:]
        known = math.nan if optimum is None else optimum
        self.optima = (*self.optima, known)[-MOST_POINTS:]

    def mark(self, steps: int, before: AgentSettings, after: AgentSettings) -> None:
        """Append a mark for each setting that has changed after this number of steps.

        It replaces the latest mark of the same setting if at most one point lies between them.
        """
        for name, old, new in zip(
            ("alpha", "gamma", "epsilon"), _of(before), _of(after), strict=True
        ):
            if new != old:
                kept = [mark for mark in self.marks if not self._continues(mark, name)]
                self.marks = (*kept, Mark(steps, name, new))[-_MOST_MARKS:]

    def _continues(self, mark: Mark, name: str) -> bool:
        later = [point for point in self.points[-2:] if point.steps > mark.steps]
        return mark.name == name and len(later) < 2


def _of(settings: AgentSettings) -> tuple[float, float, float]:
    return settings.alpha, settings.gamma, settings.epsilon.start
