"""Tabular Q-learning with a dictionary, as in most people's first program.

Watkins' Q-learning with epsilon-greedy exploration (Sutton and Barto, 2018, section 6.5). The reward is
that of the state entered, a terminal next state has value 0, and the lowest-numbered action wins ties.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from qstep.envs.gridworld import DeterministicModel
from qstep_bench.baselines.learning import LEARNING, Learning

__all__ = ["Table", "learn", "replay", "to_array", "zeros"]

Table = dict[tuple[int, int], float]
"""Value of each (state, action)."""


def zeros(states: int, actions: int) -> Table:
    """Return a table of zeros."""
    return {(state, action): 0.0 for state in range(states) for action in range(actions)}


def to_array(q: Table) -> NDArray[np.float64]:
    """Return a complete table as an array of shape (S, A)."""
    states, actions = (1 + max(part) for part in zip(*q, strict=True))
    return np.array([[q[s, a] for a in range(actions)] for s in range(states)])


def learn(model: DeterministicModel, updates: int, how: Learning = LEARNING) -> Table:
    """Walk through `model` and return the table; see :class:`~qstep_bench.baselines.learning.Learn`."""
    next_states, rewards, ends = (part.tolist() for part in model[:3])
    actions = range(len(next_states[0]))
    q = zeros(len(next_states), len(actions))
    alpha, gamma, epsilon = how.alpha, how.gamma, how.epsilon
    rng = random.Random(how.seed)

    state = model.start
    for _ in range(updates):
        if rng.random() < epsilon:
            action = rng.choice(actions)
        else:
            action = max(actions, key=lambda a: q[state, a])

        next_state = next_states[state][action]
        terminated = ends[state][action]
        best = 0.0 if terminated else max(q[next_state, a] for a in actions)
        target = rewards[state][action] + gamma * best
        q[state, action] += alpha * (target - q[state, action])

        state = model.start if terminated else next_state
    return q


def replay(
    q: Table,
    transitions: Iterable[tuple[int, int, float, int, bool]],
    actions: int,
    *,
    alpha: float = 0.5,
    gamma: float = 0.9,
) -> None:
    """Apply transitions (state, action, reward, next state, terminated) to `q` in order."""
    columns = range(actions)
    for state, action, reward, next_state, terminated in transitions:
        best = 0.0 if terminated else max(q[next_state, a] for a in columns)
        target = reward + gamma * best
        q[state, action] += alpha * (target - q[state, action])
