"""Tabular Q-learning with a NumPy array: the dictionary's program with a matrix as its table.

The loop stays in Python, so each step costs several NumPy calls on only four numbers. This makes the
program slower than the dictionary.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qstep.envs.gridworld import DeterministicModel
from qstep_bench.baselines.learning import LEARNING, Learning
from qstep_bench.baselines.problem import Stream

__all__ = ["learn", "replay"]


def learn(model: DeterministicModel, updates: int, how: Learning = LEARNING) -> NDArray[np.float64]:
    """Walk through `model` and return the table, float64 of shape (S, A).

    See :class:`~qstep_bench.baselines.learning.Learn`.
    """
    actions = model.next_state.shape[1]
    q = np.zeros(model.next_state.shape)
    alpha, gamma, epsilon = how.alpha, how.gamma, how.epsilon
    rng = np.random.default_rng(how.seed)

    state = model.start
    for _ in range(updates):
        action = rng.integers(actions) if rng.random() < epsilon else np.argmax(q[state])

        next_state = model.next_state[state, action]
        terminated = model.terminated[state, action]
        best = 0.0 if terminated else np.max(q[next_state])
        target = model.reward[state, action] + gamma * best
        q[state, action] += alpha * (target - q[state, action])

        state = model.start if terminated else next_state
    return q


def replay(
    q: NDArray[np.float64], stream: Stream, *, alpha: float = 0.5, gamma: float = 0.9
) -> None:
    """Apply recorded transitions to `q`, float64 of shape (S, A), in order."""
    for state, action, reward, next_state, terminated in zip(*stream, strict=True):
        best = 0.0 if terminated else np.max(q[next_state])
        target = reward + gamma * best
        q[state, action] += alpha * (target - q[state, action])
