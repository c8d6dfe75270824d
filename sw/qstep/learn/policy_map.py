"""The content of a policy's picture on a map, for any way of drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep.envs.rendering import GOAL, HOLE, START, WALL, GridMap

__all__ = ["COLOURS", "LETTERS", "MOST_ARROWS", "PolicyMap", "learnt"]

COLOURS = {HOLE: "#222222", WALL: "#8a8a8a", GOAL: "#2e8b57"}
"""Colour of cells in which nothing can be learnt."""

LETTERS = ((START, "S"), (GOAL, "G"), (HOLE, "H"))
"""What stands in a cell."""

_MEANING = {START: "S start", GOAL: "G goal", HOLE: "H hole", WALL: "grey: wall"}

MOST_ARROWS = 4096
"""Most cells of a map on which arrows can still be told apart."""


def learnt(q: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether the best action of each state was ever updated, for values of shape (..., A).

    Tables start at 0, so a best value of 0 belongs to an action that has not been tried yet. The greedy
    policy takes it only because the other actions turned out to be worth less.
    """
    known: NDArray[np.bool_] = q.max(axis=-1) != 0
    return known


@dataclass(frozen=True, slots=True)
class PolicyMap:
    """A table on the map of its world; arrays have shape (rows, columns).

    `cells` has the letters of the map. `values` are those of the best action, masked unless
    :func:`learnt`, and in holes, walls and the goal. `direction` of the greedy action is right, up, on a
    last axis.
    """

    cells: NDArray[np.str_]
    values: np.ma.MaskedArray[tuple[int, int], np.dtype[np.float64]]
    direction: NDArray[np.int64]

    @classmethod
    def of(cls, grid: GridMap, q: NDArray[np.float64]) -> PolicyMap:
        """Put real values of shape (S, A) on a map; rows of states beyond it are left out."""
        cells = np.array([list(row) for row in grid.rows])
        q = q[: cells.size]
        known = learnt(q).reshape(cells.shape) & ~np.isin(cells, tuple(COLOURS))
        values = np.ma.masked_array(q.max(axis=1).reshape(cells.shape), mask=~known)
        return cls(cells, values, np.array(grid.moves)[q.argmax(axis=1)].reshape(*cells.shape, 2))

    @property
    def learnt(self) -> NDArray[np.bool_]:
        """Where there is a value, shape (rows, columns)."""
        return ~np.ma.getmaskarray(self.values)

    @property
    def legend(self) -> str:
        """Meaning of the letters and plain colours that occur on the map."""
        seen = [text for kind, text in _MEANING.items() if (self.cells == kind).any()]
        blank = ~self.learnt & ~np.isin(self.cells, tuple(COLOURS))
        return ", ".join([*seen, *(["pale: not learnt"] if blank.any() else [])])
