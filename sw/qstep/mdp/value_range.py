"""The values that a number format has to hold while a world is learned from tables of 0."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qstep.mdp.world import World

__all__ = ["ValueRange", "value_range"]

_PRECISION = 0.01
"""How accurate a value has to be, as a share of the largest one."""

_SWEEPS = 64
"""Sweeps before the first estimate of what is left; then twice as many."""

_MOST_SWEEPS, _MOST_OUTCOMES = 1 << 14, 1 << 27
"""Most sweeps, and most outcomes in all of them: about a second."""

_NOTHING = 1e-9
"""A share of the largest value that is only rounding."""


class ValueRange(NamedTuple):
    """The range of rewards and values.

    Attributes
    ----------
    low, high : float
        0 is between them. If values have no bound, this is the range of those of `steps` steps.
    steps : int
        0 if values have a bound.
    """

    low: float
    high: float
    steps: int = 0

    @property
    def largest(self) -> float:
        """The largest magnitude."""
        return max(-self.low, self.high)

    @property
    def is_endless(self) -> bool:
        """Values have no bound."""
        return self.steps > 0


def value_range(
    world: World, discount: float, epsilon: float = 0.0, horizon: int = 1000
) -> ValueRange:
    """Return the range of all rewards and of the values that learning passes through, to 1 %.

    Those are the values of the best epsilon-greedy policy with 1, 2, 3, ... steps to go, in the states
    that agents reach. Value iteration from 0 passes through all of them. A long tail is extrapolated.

    Parameters
    ----------
    world : World
    discount : float
        From 0 to 1, the one that is learned.
    epsilon : float
        0 for an algorithm that learns the greedy policy; otherwise, the largest epsilon.
    horizon : int
        Steps of an episode without a limit, for values that have no bound.
    """
    low, high = min(0.0, float(world.reward.min())), max(0.0, float(world.reward.max()))
    reached = world.visited(np.ones((world.states, world.actions), np.bool_))
    states, number = int(reached.sum()), np.cumsum(reached) - 1
    # By action, then by state, so that the maximum over actions is one of whole arrays.
    rows = np.lexsort((world.state, world.action))
    rows = rows[reached[world.state[rows]]]
    pair = world.action[rows] * states + number[world.state[rows]]
    first = np.searchsorted(pair, np.arange(world.actions * states))
    probability, ends = world.probability[rows], world.terminated[rows]
    reward = np.add.reduceat(probability * world.reward[rows], first)
    weight = discount * probability * ~ends
    following = np.where(ends, 0, number[world.next_state[rows]])
    steps = world.max_episode_steps or horizon
    most = min(_MOST_SWEEPS, max(_SWEEPS, _MOST_OUTCOMES // len(rows)))
    values: NDArray[np.float64] = np.zeros(states)
    within = low, high
    done = 0
    while True:
        sizes = []
        for _ in range(max(_SWEEPS, done)):
            q = (np.add.reduceat(weight * values[following], first) + reward).reshape(-1, states)
            new = q.max(axis=0)
            if epsilon:
                new = (1 - epsilon) * new + epsilon * q.mean(axis=0)
            change, values = new - values, new
            sizes.append(float(abs(change).max()))
            low, high = min(low, float(q.min())), max(high, float(q.max()))
            done += 1
            if done == steps:
                within = low, high
        scale = max(-low, high)
        if sizes[-1] <= _NOTHING * scale:
            return ValueRange(low, high)
        # Each change is at most `discount` times the one before.
        ratio = min(discount, (sizes[-1] / sizes[0]) ** (1 / (len(sizes) - 1)))
        down, up = min(0.0, float(change.min())), max(0.0, float(change.max()))
        if ratio < 1 - _NOTHING:
            left = ratio / (1 - ratio)
            if done >= most or max(-down, up) * left <= _PRECISION * scale:
                return ValueRange(low + down * left, high + up * left)
        elif done >= states:  # a path to an end would have been found
            if done < steps:
                within = low + down * (steps - done), high + up * (steps - done)
            return ValueRange(*within, steps)
        elif done >= most:
            left = states - done
            return ValueRange(low + down * left, high + up * left)
