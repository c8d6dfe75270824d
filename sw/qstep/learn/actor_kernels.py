"""The compiled part of `VectorActor`: acting on a table in any environment that has kernels.

An environment's kernel module defines ``ARRAYS``, the named tuple type of the state of N environments,
and ``SCRATCH``, the names of the fields that carry no state between steps. Its functions ``restart``,
``move`` and ``row`` take these arrays and an index. The type of `envs` selects the functions when a loop
is compiled.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from qstep._io.compiled import compiled
from qstep.envs.catalogue import ENVIRONMENTS
from qstep.envs.splitmix_kernels import below
from qstep.spec.epsilon import falling_linearly

__all__ = ["CHANCES", "KERNELS", "Ends", "Turns", "act", "move", "play", "restart", "row"]

CHANCES = 1 << 31
"""Range of the draw that is compared with epsilon: a power of two, so no draw is discarded."""

KERNELS: dict[str, Any] = {
    record.kernels: import_module(record.kernels) for record in ENVIRONMENTS if record.kernels
}
"""Kernel modules by their import names."""

_OF = {module.ARRAYS: module for module in KERNELS.values()}
_FILES = tuple(Path(module.__file__) for module in KERNELS.values())

_epsilon = compiled(falling_linearly)


class Turns(NamedTuple):
    """The state of N environments that are stepped round-robin.

    `word` is the state of the policy's random generator, and `turn` the index of the next environment,
    both of shape (1,). `total` and `length` are the return and the number of steps so far of each
    environment's episode, shape (N,).
    """

    word: NDArray[np.uint64]
    turn: NDArray[np.int64]
    total: NDArray[np.float64]
    length: NDArray[np.int64]

    @classmethod
    def empty(cls, num_envs: int) -> Self:
        """Return the state before any environment has stepped."""
        total, length = np.zeros(num_envs), np.zeros(num_envs, np.int64)
        return cls(np.zeros(1, np.uint64), np.zeros(1, np.int64), total, length)


class Ends(NamedTuple):
    """Returns and steps of episodes in the order in which they ended, and whether they terminated."""

    total: NDArray[np.float64]
    length: NDArray[np.int64]
    terminated: NDArray[np.bool_]

    @classmethod
    def empty(cls, episodes: int) -> Self:
        """Return arrays for this many episodes."""
        return cls(np.zeros(episodes), np.zeros(episodes, np.int64), np.zeros(episodes, np.bool_))


def restart(envs: Any, i: int) -> None:
    """Begin an episode in environment `i`."""
    _OF[type(envs)].restart(envs, i)


def move(
    envs: Any, i: int, action: int
) -> tuple[float, bool, bool]:  # pragma: no cover: Numba takes its overload
    """Step environment `i`; return reward, terminated and truncated."""
    reward, terminated, truncated = _OF[type(envs)].move(envs, i, action)
    return reward, terminated, truncated


def row(envs: Any, i: int) -> int:  # pragma: no cover: Numba takes its overload
    """Return the row of the table for environment `i`."""
    return int(_OF[type(envs)].row(envs, i))


@overload(restart, inline="always")
def _(envs, i):  # type: ignore[no-untyped-def]
    kernel = _OF[envs.instance_class].restart
    return lambda envs, i: kernel(envs, i)


@overload(move, inline="always")
def _(envs, i, action):  # type: ignore[no-untyped-def]
    kernel = _OF[envs.instance_class].move
    return lambda envs, i, action: kernel(envs, i, action)


@overload(row, inline="always")
def _(envs, i):  # type: ignore[no-untyped-def]
    kernel = _OF[envs.instance_class].row
    return lambda envs, i: kernel(envs, i)


@compiled
def _greedy(q, state):  # type: ignore[no-untyped-def]
    """Return the lowest action with the maximum value in a row."""
    best = 0
    for action in range(1, q.shape[1]):
        if q[state, action] > q[state, best]:
            best = action
    return best


@compiled(sources=_FILES)
def act(envs, turns, q, schedule, limit, done, out, ends):  # type: ignore[no-untyped-def]
    """Step the environments round-robin, epsilon-greedily on `q`, until `out` or `ends` is full.

    `schedule` contains epsilon's start and end, and the number of episodes over which it falls. An
    episode is truncated after `limit` steps if `limit` is positive. `done` is the number of earlier
    episodes. An environment whose episode ends is restarted. Returns how many transitions and ends were
    written.
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
        if terminated or truncated or 0 < limit <= turns.length[i]:
            ends.total[ended], ends.length[ended] = turns.total[i], turns.length[i]
            ends.terminated[ended] = terminated
            ended += 1
            turns.total[i], turns.length[i] = 0.0, 0
            restart(envs, i)
        turns.turn[0] = (i + 1) % len(turns.length)
    return made, ended


@compiled(sources=_FILES)
def play(envs, q, limit, ends):  # type: ignore[no-untyped-def]
    """Begin an episode in each environment and play it greedily on `q`."""
    for i in range(len(ends.total)):
        restart(envs, i)
        ended = False
        while not ended:
            reward, terminated, truncated = move(envs, i, _greedy(q, row(envs, i)))
            ends.total[i] += reward
            ends.length[i] += 1
            ends.terminated[i] = terminated
            ended = terminated or truncated or 0 < limit <= ends.length[i]
