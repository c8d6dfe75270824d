"""The compiled part of `VectorActor`: acting on a table in any environment that has kernels.

The loops use three functions of an environment: :func:`restart`, :func:`move` and :func:`row`.
`envs` is a structure of arrays, `Snakes` or `CartPoles`, whose type selects them when a loop is
compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from qstep._io.compiled import compiled
from qstep.envs import cartpole_kernels, snake_kernels
from qstep.envs.cartpole_kernels import CartPoles
from qstep.envs.snake_rules import Snakes
from qstep.envs.splitmix_kernels import below
from qstep.spec.epsilon import falling_linearly

__all__ = ["CHANCES", "Ends", "Turns", "act", "move", "play", "restart", "row"]

CHANCES = 1 << 31
"""Range of the draw that is compared with epsilon: a power of two, so no draw is discarded."""

_KERNELS: dict[type, Any] = {Snakes: snake_kernels, CartPoles: cartpole_kernels}

_epsilon = compiled(falling_linearly)


class Turns(NamedTuple):
    """The state of N environments that act in turns, and the generator of their policy.

    Attributes
    ----------
    word : ndarray of uint64, shape (1,)
        Generator.
    turn : ndarray of int64, shape (1,)
        Environment whose turn it is.
    total : ndarray of float64, shape (N,)
        Return of each environment's episode so far.
    length : ndarray of int64, shape (N,)
        Its steps so far.
    """

    word: NDArray[np.uint64]
    turn: NDArray[np.int64]
    total: NDArray[np.float64]
    length: NDArray[np.int64]

    @classmethod
    def empty(cls, num_envs: int) -> Self:
        """Return the state before any environment has stepped."""
        return cls(
            word=np.zeros(1, np.uint64),
            turn=np.zeros(1, np.int64),
            total=np.zeros(num_envs),
            length=np.zeros(num_envs, np.int64),
        )


class Ends(NamedTuple):
    """Episodes in the order in which they ended.

    Attributes
    ----------
    total : ndarray of float64, shape (n,)
        Returns.
    length : ndarray of int64, shape (n,)
        Steps.
    terminated : ndarray of bool, shape (n,)
        False where the episode was truncated.
    """

    total: NDArray[np.float64]
    length: NDArray[np.int64]
    terminated: NDArray[np.bool_]

    @classmethod
    def empty(cls, episodes: int) -> Self:
        """Return room for this many episodes."""
        return cls(np.zeros(episodes), np.zeros(episodes, np.int64), np.zeros(episodes, np.bool_))


def restart(envs: Any, i: int) -> None:
    """Begin an episode in environment `i`."""
    _KERNELS[type(envs)].restart(envs, i)


def move(
    envs: Any, i: int, action: int
) -> tuple[float, bool, bool]:  # pragma: no cover: Numba takes its overload
    """Step environment `i`; return reward, terminated and truncated."""
    reward, terminated, truncated = _KERNELS[type(envs)].move(envs, i, action)
    return reward, terminated, truncated


def row(envs: Any, i: int) -> int:  # pragma: no cover: Numba takes its overload
    """Return the row of the table for environment `i`."""
    return int(_KERNELS[type(envs)].row(envs, i))


@overload(restart, inline="always")
def _(envs, i):  # type: ignore[no-untyped-def]
    kernel = _KERNELS[envs.instance_class].restart
    return lambda envs, i: kernel(envs, i)


@overload(move, inline="always")
def _(envs, i, action):  # type: ignore[no-untyped-def]
    kernel = _KERNELS[envs.instance_class].move
    return lambda envs, i, action: kernel(envs, i, action)


@overload(row, inline="always")
def _(envs, i):  # type: ignore[no-untyped-def]
    kernel = _KERNELS[envs.instance_class].row
    return lambda envs, i: kernel(envs, i)


@compiled
def _greedy(q, state):  # type: ignore[no-untyped-def]
    """Return the lowest action with the maximum of a row."""
    best = 0
    for action in range(1, q.shape[1]):
        if q[state, action] > q[state, best]:
            best = action
    return best


@compiled
def act(envs, turns, q, schedule, done, out, ends):  # type: ignore[no-untyped-def]
    """Step the environments in turns, epsilon-greedily on `q`, until `out` or `ends` is full.

    `schedule` are start, end and the episodes over which epsilon falls; `done` is the number of
    episodes before. An environment whose episode ends is restarted. Returns how many transitions and
    ends were written.
    """
    made = ended = 0
    while made < len(out[0]) and ended < len(ends.total):
        i = turns.turn[0]
        state = row(envs, i)
        epsilon = _epsilon(schedule[0], schedule[1], schedule[2], done + ended)
        if below(turns.word, 0, CHANCES) < epsilon * CHANCES:
            action = below(turns.word, 0, q.shape[1])
        else:
            action = _greedy(q, state)
        reward, terminated, truncated = move(envs, i, action)
        out[0][made], out[1][made], out[2][made] = state, action, reward
        out[3][made], out[4][made] = row(envs, i), terminated
        made += 1
        turns.total[i] += reward
        turns.length[i] += 1
        if terminated or truncated:
            ends.total[ended], ends.length[ended] = turns.total[i], turns.length[i]
            ends.terminated[ended] = terminated
            ended += 1
            turns.total[i], turns.length[i] = 0.0, 0
            restart(envs, i)
        turns.turn[0] = (i + 1) % len(turns.length)
    return made, ended


@compiled
def play(envs, q, ends):  # type: ignore[no-untyped-def]
    """Begin an episode in each environment and play it greedily on `q`."""
    for i in range(len(ends.total)):
        restart(envs, i)
        ended = False
        while not ended:
            reward, terminated, truncated = move(envs, i, _greedy(q, row(envs, i)))
            ends.total[i] += reward
            ends.length[i] += 1
            ends.terminated[i] = terminated
            ended = terminated or truncated
