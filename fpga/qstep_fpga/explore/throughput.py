"""Updates per clock of the lane, from its hold rule alone."""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import njit
from numpy.typing import NDArray

from qstep.baselines.numba_table import walk
from qstep.baselines.problem import World
from qstep.envs.gridworld import GridWorld

__all__ = ["independent", "offered_clocks", "walker"]

_COUNT = 1_000_000
_SEED = 2026
_GRID = "\n".join(["S.......", *6 * ["........"], ".......G"])


def offered_clocks(
    loop_depth: int,
    state: NDArray[np.integer],
    action: NDArray[np.integer],
    next_state: NDArray[np.integer],
) -> int:
    """Return in how many clocks the lane is offered a transition, until it has taken all of them.

    The rule is that of ``qs_hazard``: a transition that needs the entry or the row that another one
    updates leaves the issue register `loop_depth` clocks after that one, or later.

    Parameters
    ----------
    loop_depth : int
        1..3.
    state, action, next_state : ndarray of int, shape (n,)
        Transitions in order, at least one; each is offered as soon as the one before it is taken.

    Notes
    -----
    Equal to the counts at the pins of the RTL: ``LaneThroughput`` in ``tb/uvm`` compares them.
    """
    return int(_offered(loop_depth, state, action, next_state))


@cache
def independent(loop_depth: int, states: int, actions: int) -> float:
    """Return the updates per clock of a million transitions drawn at random from the whole table."""
    rng = np.random.default_rng(_SEED)
    state, next_state = rng.integers(states, size=(2, _COUNT), dtype=np.int32)
    action = rng.integers(actions, size=_COUNT, dtype=np.int32)
    return _COUNT / offered_clocks(loop_depth, state, action, next_state)


@cache
def walker(loop_depth: int) -> float:
    """Return the updates per clock of a million random steps of one walker on an 8x8 grid."""
    env = GridWorld(_GRID)
    stream = walk(World(*env.transition_model(), env.start), _COUNT)
    return _COUNT / offered_clocks(loop_depth, stream.state, stream.action, stream.next_state)


@njit(cache=True)
def _offered(loop_depth, state, action, next_state):  # type: ignore[no-untyped-def]
    left = np.zeros(len(state), np.int64)  # clock in which each leaves the issue register
    taken = 0  # clock in which the next one is taken
    for i in range(len(state)):
        left[i] = taken + 1
        for j in range(max(0, i - loop_depth + 1), i):
            if state[j] == next_state[i] or (state[j] == state[i] and action[j] == action[i]):
                left[i] = max(left[i], left[j] + loop_depth)
        if i < len(state) - 1:
            taken = left[i]
    return taken + 1
