"""Prioritised replay: transitions with large errors are drawn more often (proportional variant).

It uses a complete binary tree of sums and one of maxima, compiled: storing or drawing takes
log2(capacity) steps, and a whole batch is one call.

References
----------
T. Schaul, J. Quan, I. Antonoglou, D. Silver, "Prioritized Experience Replay", ICLR 2016. As there, new
transitions get the highest priority (line 6 of Algorithm 1), a batch is drawn from strata of equal mass,
and weights are divided by the largest of their batch. Here the highest priority is that of the rows as
they are now, among those that have had an error: it has the scale of the errors, whatever the scale of
the rewards, and falls as they do. Public implementations keep the highest ever seen, starting at 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep._io.compiled import compiled
from qstep.errors import ConfigError

__all__ = ["Priorities"]

_LEAST = 1e-6
"""Added to every TD error, so that every transition can be drawn again."""


class Priorities:
    """The priorities of the rows of a replay memory.

    Parameters
    ----------
    capacity : int
        Rows, 1 or more.
    exponent : float
        Alpha of the paper, 0 (uniform) to 1 (proportional to the TD error).

    Raises
    ------
    ConfigError
        A parameter is out of its range.
    """

    def __init__(self, capacity: int, exponent: float = 0.6) -> None:
        if capacity < 1:
            raise ConfigError(f"capacity of the priorities is {capacity}; it must be 1 or more")
        if not 0.0 <= exponent <= 1.0:
            raise ConfigError(f"exponent of the priorities is {exponent}; it must be from 0 to 1")
        self.capacity = capacity
        self.exponent = exponent
        self._leaves = 1 << (capacity - 1).bit_length()
        # Node k is the sum of nodes 2 k and 2 k + 1; the leaves are the last half. With float64, sums
        # that were updated a million times still equal the sum of their parts to 1e-9.
        self._tree = np.zeros(2 * self._leaves)
        # The same for the maximum; a leaf is 0 until its row has had an error.
        self._highest = np.zeros(2 * self._leaves)

    @property
    def total(self) -> float:
        """The sum of all priorities."""
        return float(self._tree[1])

    def of(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the priorities of rows, 0 where nothing is stored."""
        return self._tree[self._leaves + rows]

    def add(self, rows: NDArray[np.int64]) -> None:
        """Give new rows the highest priority that came from an error, or 1 if there is none yet."""
        priority = np.full(len(rows), self._highest[1] or 1.0)
        _store(self._tree, self._highest, self._leaves, rows, priority, measured=False)

    def update(self, rows: NDArray[np.int64], td_error: NDArray[np.float32]) -> None:
        """Set the priorities of rows from their errors.

        Parameters
        ----------
        rows : ndarray of int64
            Of any shape. If a row occurs twice, its last error counts.
        td_error : ndarray of float32
            One per row; the sign does not matter.
        """
        priority = (np.abs(td_error).astype(np.float64).ravel() + _LEAST) ** self.exponent
        _store(self._tree, self._highest, self._leaves, rows.ravel(), priority, measured=True)

    def draw(self, batches: int, size: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """Draw K batches of B rows, with repetition; each row of a batch comes from its own stratum."""
        place = (np.arange(size) + generator.random((batches, size))) * (self.total / size)
        rows = np.empty((batches, size), np.int64)
        _find(self._tree, self._leaves, place.ravel(), rows.ravel())
        return rows

    def weights(self, rows: NDArray[np.int64], stored: int, exponent: float) -> NDArray[np.float32]:
        """Return the importance weights of K batches of rows: the largest of each batch is 1.

        Parameters
        ----------
        rows : ndarray of int64, shape (K, B)
            As drawn.
        stored : int
            Rows in the memory.
        exponent : float
            Beta of the paper, 0 (no correction) to 1 (full).
        """
        weight = (stored * self.of(rows) / self.total) ** -exponent
        share: NDArray[np.float64] = weight / weight.max(axis=1, keepdims=True)
        return share.astype(np.float32)

    def checkpoint(self) -> dict[str, NDArray[Any]]:
        """Return copies of what :meth:`restore` needs."""
        return {"tree": self._tree.copy(), "highest": self._highest.copy()}

    def restore(self, checkpoint: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a :meth:`checkpoint` of the same capacity."""
        self._tree[:] = checkpoint["tree"]
        self._highest[:] = checkpoint["highest"]


@compiled
def _store(
    tree: NDArray[np.float64],
    highest: NDArray[np.float64],
    leaves: int,
    rows: NDArray[np.int64],
    priority: NDArray[np.float64],
    measured: bool,
) -> None:
    for k in range(len(rows)):
        node = leaves + rows[k]
        tree[node] = priority[k]
        highest[node] = priority[k] if measured else 0.0
        while node > 1:
            node >>= 1
            tree[node] = tree[2 * node] + tree[2 * node + 1]
            highest[node] = max(highest[2 * node], highest[2 * node + 1])


@compiled
def _find(
    tree: NDArray[np.float64], leaves: int, place: NDArray[np.float64], rows: NDArray[np.int64]
) -> None:
    for k in range(len(rows)):
        left, node = place[k], 1
        while node < leaves:
            node *= 2
            # Never enter an empty right half, even where rounding has put the place beyond the sum.
            if left >= tree[node] and tree[node + 1] > 0:
                left -= tree[node]
                node += 1
        rows[k] = node - leaves
