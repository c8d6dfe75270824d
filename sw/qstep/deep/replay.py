"""The replay memory, fast: a ring of arrays, allocated once.

N transitions go in with one copy per array; K batches come out with one `take` per array, into arrays
that are also allocated once. Memory and time per step are the same from the first transition to the
last. The replay is in the host's memory; samples are moved to the network's device.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qstep.errors import ConfigError

__all__ = ["Replay", "Sample"]


class Sample(NamedTuple):
    """K batches of B transitions, in the layout of :class:`qstep.deep.q_loss.Batches`.

    Attributes
    ----------
    seen : ndarray of float32, shape (K, 2 B, D + 1)
        In each batch the observations, then the next observations; the last column is 1.
    action : ndarray of int64, shape (K, B)
    reward, discount : ndarray of float32, shape (K, B)
    """

    seen: NDArray[np.float32]
    action: NDArray[np.int64]
    reward: NDArray[np.float32]
    discount: NDArray[np.float32]


class Replay:
    """The last transitions, and batches of them.

    Parameters
    ----------
    capacity : int
        Transitions, 1 or more. Once full, the oldest are overwritten.
    inputs : int
        Numbers of an observation, D.
    batches, size : int
        K and B of what :meth:`sample` returns.

    Raises
    ------
    ConfigError
        A number is not positive, or a batch is larger than the memory.
    """

    def __init__(self, capacity: int, inputs: int, batches: int, size: int) -> None:
        for name, value in (
            ("capacity", capacity),
            ("inputs", inputs),
            ("batches", batches),
            ("batch", size),
        ):
            if value < 1:
                raise ConfigError(f"{name} of the replay is {value}; it must be 1 or more")
        if size > capacity:
            raise ConfigError(
                f"a batch of {size} is larger than the replay of {capacity}; make it smaller"
            )
        self.capacity = capacity
        self._place = 0
        self._length = 0
        # Both observations are in one array, so that one `take` gathers both: row i is the observation,
        # row capacity + i the next one.
        self._seen = np.ones((2 * capacity, inputs + 1), np.float32)
        self._action = np.zeros(capacity, np.int64)
        self._reward = np.zeros(capacity, np.float32)
        self._discount = np.zeros(capacity, np.float32)
        self._rows = np.zeros((batches, 2, size), np.int64)
        shape = (batches, size)
        self.sampled = Sample(
            np.ones((batches, 2 * size, inputs + 1), np.float32),
            np.zeros(shape, np.int64),
            np.zeros(shape, np.float32),
            np.zeros(shape, np.float32),
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
        """Store N transitions, N at most the capacity; return their rows.

        Parameters
        ----------
        observation, next_observation : ndarray of float32, shape (N, D)
        action : ndarray of int, shape (N,)
        reward, discount : ndarray of float32, shape (N,)
            Discount for the next value: gamma, or 0 where the transition terminated.

        Raises
        ------
        ConfigError
            There are more transitions than rows.
        """
        count, done = len(action), 0
        if count > self.capacity:
            raise ConfigError(
                f"{count} transitions at once do not fit the replay of {self.capacity}"
            )
        first = self._place
        while done < count:  # twice where the ring wraps around
            here = slice(self._place, min(self._place + count - done, self.capacity))
            there = slice(done, done + here.stop - here.start)
            self._seen[here, :-1] = observation[there]
            self._seen[self.capacity + here.start : self.capacity + here.stop, :-1] = (
                next_observation[there]
            )
            self._action[here] = action[there]
            self._reward[here] = reward[there]
            self._discount[here] = discount[there]
            done = there.stop
            self._place = here.stop % self.capacity
        self._length = min(self._length + count, self.capacity)
        return np.arange(first, first + count) % self.capacity

    def sample(self, rows: NDArray[np.int64]) -> Sample:
        """Gather the transitions of some rows, shape (K, B); the arrays are reused by the next call."""
        out = self.sampled
        self._rows[:, 0] = rows
        np.add(rows, self.capacity, out=self._rows[:, 1])
        both = self._rows.reshape(len(rows), -1)
        # With "clip" NumPy writes straight to `out`; the rows are legal, so nothing is clipped.
        np.take(self._seen, both, axis=0, out=out.seen, mode="clip")
        np.take(self._action, rows, out=out.action, mode="clip")
        np.take(self._reward, rows, out=out.reward, mode="clip")
        np.take(self._discount, rows, out=out.discount, mode="clip")
        return out

    def uniform(self, generator: np.random.Generator) -> Sample:
        """Gather K batches of transitions, drawn uniformly with repetition."""
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
            "place": np.array(self._place),
        }

    def restore(self, checkpoint: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a :meth:`checkpoint` of a replay with the same capacity and inputs."""
        self._seen[:] = checkpoint["seen"]
        self._action[:] = checkpoint["action"]
        self._reward[:] = checkpoint["reward"]
        self._discount[:] = checkpoint["discount"]
        self._length, self._place = int(checkpoint["length"]), int(checkpoint["place"])
