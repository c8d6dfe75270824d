"""Tabular Q-learning compiled with Numba, for a fair comparison of one core with hardware.

It runs the algorithm of :mod:`qstep_bench.baselines.dictionary`, including environment and exploration,
in one compiled loop over flat arrays. A loop is compiled for each number of actions, so that the
maximum over a row is unrolled. Random numbers are splitmix64 hashes of a counter, so none depends on the
previous one.

Indices are unsigned: Numba compares signed indices with 0, because negative ones count from the end, and
this comparison would be on the critical path from one state to the next. So all states and actions
passed to a loop must be in range, which is not checked. Two variants were not faster: reusing the
target's greedy action for the next choice, and using select instructions in place of branches.
:mod:`qstep_bench.yardstick` has the same loop in C for comparison.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from qstep._io.compiled import compiled
from qstep.envs.gridworld import DeterministicModel
from qstep.envs.splitmix_kernels import STEP, mix
from qstep_bench.baselines.learning import LEARNING, Learning
from qstep_bench.baselines.problem import Stream

__all__ = ["learn", "replay"]

_U = np.uint64
_LOW = _U(0xFFFFFFFF)


@njit(inline="always")
def _below(bits, bound):  # type: ignore[no-untyped-def]
    """Return a number below `bound` from the upper half of 64 random bits."""
    return ((bits >> _U(32)) * bound) >> _U(32)


@njit(inline="always")
def _best(q, state, row):  # type: ignore[no-untyped-def]
    """Return the maximum of a state's row, and the lowest action with that value."""
    base = state * _U(len(row))
    best, greedy = q[base], _U(0)
    for a in range(1, len(row)):
        value = q[base + _U(a)]
        if value > best:
            best, greedy = value, _U(a)
    return best, greedy


@compiled
def _learn(q, row, model, updates, alpha, gamma, threshold, counter):  # type: ignore[no-untyped-def]
    """Run `updates` steps; `row` is a tuple of A zeros, whose length lets Numba unroll the maximum."""
    next_state, reward, terminated, start = model
    actions = _U(len(row))
    state = start
    for _ in range(updates):
        counter += STEP
        bits = mix(counter)
        if (bits & _LOW) < threshold:
            action = _below(bits, actions)
        else:
            _, action = _best(q, state, row)

        entry = state * actions + action
        target = reward[entry]
        if terminated[entry]:
            state = start
        else:
            state = _U(next_state[entry])
            best, _ = _best(q, state, row)
            target += gamma * best
        q[entry] += alpha * (target - q[entry])


def learn(model: DeterministicModel, updates: int, how: Learning = LEARNING) -> NDArray[np.float64]:
    """Walk through `model` and return the table, float64 of shape (S, A).

    See :class:`~qstep_bench.baselines.learning.Learn`.
    """
    next_state, reward, terminated, start = model
    q = np.zeros(next_state.shape)
    _learn(
        q.reshape(-1),
        (0,) * next_state.shape[1],
        (next_state.reshape(-1), reward.reshape(-1), terminated.reshape(-1), _U(start)),
        updates,
        how.alpha,
        how.gamma,
        _U(round(how.epsilon * 2**32)),
        _U(how.seed),
    )
    return q


@compiled
def _replay(q, row, stream, alpha, gamma):  # type: ignore[no-untyped-def]
    state, action, reward, next_state, terminated = stream
    for i in range(len(state)):
        target = reward[i]
        if not terminated[i]:
            best, _ = _best(q, _U(next_state[i]), row)
            target += gamma * best
        entry = _U(state[i]) * _U(len(row)) + _U(action[i])
        q[entry] += alpha * (target - q[entry])


def replay(
    q: NDArray[np.float64], stream: Stream, *, alpha: float = 0.5, gamma: float = 0.9
) -> None:
    """Apply recorded transitions to `q`, contiguous float64 of shape (S, A), in order.

    The operations and their order are the same as in the dictionary's and NumPy's replay, so the
    resulting tables are identical.
    """
    _replay(q.reshape(-1), (0,) * q.shape[1], tuple(stream), alpha, gamma)
