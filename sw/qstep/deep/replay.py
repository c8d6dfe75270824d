"""The replay memory of fast DQN and SAC: a preallocated ring buffer of arrays, and its priorities.

Storing N transitions takes one copy per array, and sampling K batches takes one `take` per array. Memory
and time per step are constant during the whole run. The arrays are on the host; samples are copied to
the network's device.

Prioritised replay (the proportional variant) draws transitions with large errors more often, from a
compiled binary tree of sums. As in the paper, new transitions get the highest priority (line 6 of
Algorithm 1), a batch is drawn from strata of equal mass, and weights are divided by the largest
weight of their batch. Here, the highest priority is the maximum over the rows that have been replayed,
so it follows the TD errors. Public implementations use the highest priority so far, starting at 1.

References
----------
T. Schaul, J. Quan, I. Antonoglou, D. Silver, "Prioritized Experience Replay", ICLR 2016.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qstep._io.compiled import compiled

__all__ = ["Batches", "Priorities", "Replay"]

_LEAST = 1e-6
"""Constant added to every absolute TD error, so that every transition can be drawn again."""


class Batches(NamedTuple):
    """K batches of B transitions with observations of D numbers."""

    seen: NDArray[np.float32]
    """(K, 2 B, D + 1): observations, then next observations; the last column is 1."""
    action: NDArray[Any]
    """(K, B) of int64, or (K, B, A) of float32."""
    reward: NDArray[np.float32]
    """(K, B)."""
    discount: NDArray[np.float32]
    """(K, B): factor of the value of the next state: gamma, or 0 if the episode terminated."""
    weight: NDArray[np.float32]
    """(K, B): weight of the transition in the loss: 1/B, times an importance weight."""


class Replay:
    """The last `capacity` transitions, with observations of `inputs` numbers.

    A sample consists of `batches` (K) times `size` (B) transitions; B is at most the capacity. An action
    is an integer, or `numbers` (A) float32 numbers.
    """

    def __init__(
        self, capacity: int, inputs: int, batches: int, size: int, numbers: int | None = None
    ) -> None:
        self.capacity = capacity
        self._next = 0
        self._length = 0
        # Both observations are in one array, so that one `take` gathers both: row i is the observation,
        # and row capacity + i is the next observation.
        self._seen = np.ones((2 * capacity, inputs + 1), np.float32)
        one, kind = ((), np.int64) if numbers is None else ((numbers,), np.float32)
        self._action: NDArray[Any] = np.zeros((capacity, *one), kind)
        self._reward = np.zeros(capacity, np.float32)
        self._discount = np.zeros(capacity, np.float32)
        self._rows = np.zeros((batches, 2, size), np.int64)
        shape = (batches, size)
        self.sampled = Batches(
            np.ones((batches, 2 * size, inputs + 1), np.float32),
            np.zeros((*shape, *one), kind),
            np.zeros(shape, np.float32),
            np.zeros(shape, np.float32),
            np.full(shape, 1 / size, np.float32),
        )

    def __len__(self) -> int:
        return self._length

    def push_batch(
        self,
        observation: NDArray[np.float32],
        action: NDArray[Any],
        reward: NDArray[np.float32],
        next_observation: NDArray[np.float32],
        discount: NDArray[np.float32],
    ) -> NDArray[np.int64]:
        """Overwrite the oldest rows with N transitions, at most the capacity; return these rows.

        `discount` multiplies the next state's value: gamma, or 0 if the episode terminated.
        """
        count, done = len(action), 0
        first = self._next
        while done < count:  # twice if the ring wraps around
            here = slice(self._next, min(self._next + count - done, self.capacity))
            there = slice(done, done + here.stop - here.start)
            self._seen[here, :-1] = observation[there]
            self._seen[self.capacity + here.start : self.capacity + here.stop, :-1] = (
                next_observation[there]
            )
            self._action[here] = action[there]
            self._reward[here] = reward[there]
            self._discount[here] = discount[there]
            done = there.stop
            self._next = here.stop % self.capacity
        self._length = min(self._length + count, self.capacity)
        return np.arange(first, first + count) % self.capacity

    def sample(self, rows: NDArray[np.int64]) -> Batches:
        """Gather the transitions of `rows`, shape (K, B); the next call reuses the arrays.

        The weights are left unchanged.
        """
        out = self.sampled
        self._rows[:, 0] = rows
        np.add(rows, self.capacity, out=self._rows[:, 1])
        both = self._rows.reshape(len(rows), -1)
        # With "clip" NumPy writes straight to `out`; the rows are legal, so nothing is clipped.
        np.take(self._seen, both, axis=0, out=out.seen, mode="clip")
        np.take(self._action, rows, axis=0, out=out.action, mode="clip")
        np.take(self._reward, rows, out=out.reward, mode="clip")
        np.take(self._discount, rows, out=out.discount, mode="clip")
        return out

    def uniform(self, generator: np.random.Generator) -> Batches:
        """Gather K batches of transitions, drawn uniformly with replacement."""
        shape = self._rows[:, 0].shape
        return self.sample(generator.integers(self._length, size=shape))

    def checkpoint(self) -> dict[str, NDArray[Any]]:
        """Return copies of the whole memory, including free rows, for :meth:`restore`."""
        return {
            "seen": self._seen.copy(),
            "action": self._action.copy(),
            "reward": self._reward.copy(),
            "discount": self._discount.copy(),
            "length": np.array(self._length),
            "next": np.array(self._next),
        }

    def restore(self, checkpoint: Mapping[str, NDArray[Any]]) -> None:
        """Restore a :meth:`checkpoint` of a replay memory with the same capacity and inputs."""
        self._seen[:] = checkpoint["seen"]
        self._action[:] = checkpoint["action"]
        self._reward[:] = checkpoint["reward"]
        self._discount[:] = checkpoint["discount"]
        self._length, self._next = int(checkpoint["length"]), int(checkpoint["next"])


class Priorities:
    """The priorities of the rows of a replay memory.

    `exponent` is alpha in the paper: from 0 (uniform) to 1 (proportional to the TD error).
    """

    def __init__(self, capacity: int, exponent: float = 0.6) -> None:
        self.exponent = exponent
        self._leaves = 1 << (capacity - 1).bit_length()
        # Node k is the sum of nodes 2 k and 2 k + 1; the leaves are the second half. After a
        # million updates in float64, a node still equals the sum of its parts to 1e-9.
        self._tree = np.zeros(2 * self._leaves)
        # A similar tree of maxima; a leaf is 0 until its row has been replayed.
        self._highest = np.zeros(2 * self._leaves)

    @property
    def total(self) -> float:
        """The sum of all priorities."""
        return float(self._tree[1])

    def of(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the priorities of rows, which are 0 for empty rows."""
        return self._tree[self._leaves + rows]

    def add(self, rows: NDArray[np.int64]) -> None:
        """Give new rows the highest priority among the rows replayed so far, or 1 if there are none."""
        priority = np.full(len(rows), self._highest[1] or 1.0)
        _store(self._tree, self._highest, self._leaves, rows, priority, measured=False)

    def update(self, rows: NDArray[np.int64], td_error: NDArray[np.float32]) -> None:
        """Set the priorities of rows from their TD errors; for a repeated row, the last error counts."""
        priority = (np.abs(td_error).astype(np.float64).ravel() + _LEAST) ** self.exponent
        _store(self._tree, self._highest, self._leaves, rows.ravel(), priority, measured=True)

    def draw(self, batches: int, size: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """Draw K batches of B rows with replacement; each row of a batch is from a separate stratum."""
        mass = (np.arange(size) + generator.random((batches, size))) * (self.total / size)
        rows = np.empty((batches, size), np.int64)
        _find(self._tree, self._leaves, mass.ravel(), rows.ravel())
        return rows

    def weights(self, rows: NDArray[np.int64], stored: int, exponent: float) -> NDArray[np.float32]:
        """Return the importance weights of K batches of rows; the largest of each batch is 1.

        `stored` is the number of rows in memory; `exponent` is beta in the paper, from 0 (no correction)
        to 1.
        """
        weight = (stored * self.of(rows) / self.total) ** -exponent
        share: NDArray[np.float64] = weight / weight.max(axis=1, keepdims=True)
        return share.astype(np.float32)

    def checkpoint(self) -> dict[str, NDArray[Any]]:
        """Return copies of the state that :meth:`restore` needs."""
        return {"tree": self._tree.copy(), "highest": self._highest.copy()}

    def restore(self, checkpoint: Mapping[str, NDArray[Any]]) -> None:
        """Restore a :meth:`checkpoint` of priorities with the same capacity."""
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
    tree: NDArray[np.float64], leaves: int, mass: NDArray[np.float64], rows: NDArray[np.int64]
) -> None:
    for k in range(len(rows)):
        left, node = mass[k], 1
        while node < leaves:
            node *= 2
            # Never descend into an empty right half, even if rounding makes the mass exceed the sum.
            if left >= tree[node] and tree[node + 1] > 0:
                left -= tree[node]
                node += 1
        rows[k] = node - leaves
