"""Value iteration: the exact optimum of a world."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qstep.errors import ConfigError
from qstep.mdp.world import World

__all__ = ["Solution", "best_start_value", "is_quick", "policy_values", "solve", "start_value"]

_TOLERANCE = 1e-10
"""Share of the largest value: closer values tie."""

_SWEEPS = 64
"""Sweeps of value iteration before the first look at a policy's exact values; then twice as many."""

_MOST_BY_CHANCE = 4096
"""Most states of a world with chance: its value equations are solved as a full matrix."""

_MOST_QUICKLY = 512
"""Most states for which the matrix is solved in milliseconds."""

_NEGLIGIBLE = 1e-17


@dataclass(frozen=True, slots=True)
class Solution:
    """The optimum of a world.

    Attributes
    ----------
    values : ndarray of float64, shape (S,)
        Optimal value of each state.
    q : ndarray of float64, shape (S, A)
        Optimal value of each action in each state.
    optimal : ndarray of bool, shape (S, A)
        The optimal actions, including all that tie.
    """

    values: NDArray[np.float64]
    q: NDArray[np.float64]
    optimal: NDArray[np.bool_]


def solve(world: World, gamma: float) -> Solution:
    """Return the optimum: sweeps of value iteration, then the exact values of the greedy policy.

    It ends when no action improves on these by more than 1e-10 of the largest value. The time
    depends on how far rewards propagate, not on gamma: sweeps alone would number 20 million if an
    episode need not end and gamma is 0.999999.

    Parameters
    ----------
    world : World
    gamma : float
        Discount, from 0 to below 1, so that every policy has a value.

    Raises
    ------
    ConfigError
        gamma is out of range, or the world has chance and more than 4096 states.
    """
    if not 0.0 <= gamma < 1.0:
        raise ConfigError(f"gamma is {gamma}; value iteration needs it from 0 to below 1")
    shape = world.states, world.actions
    reward = np.add.reduceat(world.probability * world.reward, world.first).reshape(shape)
    weight = gamma * world.probability * ~world.terminated

    def backed_up(values: NDArray[np.float64]) -> NDArray[np.float64]:
        following = np.add.reduceat(weight * values[world.next_state], world.first)
        q: NDArray[np.float64] = reward + following.reshape(shape)
        return q

    q = reward
    sweeps = _SWEEPS
    while True:
        for _ in range(sweeps):
            q = backed_up(q.max(axis=1))
        values = policy_values(world, q.argmax(axis=1), gamma)
        q = backed_up(values)
        slack = _TOLERANCE * max(1.0, float(np.abs(values).max()))
        if (q.max(axis=1) <= values + slack).all():
            return Solution(values, q, q >= values[:, None] - 2 * slack)
        sweeps *= 2


def is_quick(world: World, gamma: float) -> bool:
    """Whether policies have values, cheap enough to compare many while agents learn.

    That is, gamma is below 1, and the world has no chance or at most 512 states.
    """
    certain = len(world.state) == world.states * world.actions
    return gamma < 1 and (certain or world.states <= _MOST_QUICKLY)


def start_value(world: World, policy: NDArray[np.int64], gamma: float) -> float:
    """Return the value of a policy, given as each state's action, where episodes start."""
    return float(world.start @ policy_values(world, policy, gamma))


def best_start_value(world: World, gamma: float) -> float | None:
    """Return the value of the optimal policy where episodes start; None unless :func:`is_quick`."""
    return float(world.start @ solve(world, gamma).values) if is_quick(world, gamma) else None


def policy_values(world: World, policy: NDArray[np.int64], gamma: float) -> NDArray[np.float64]:
    """Return the values of the states, shape (S,), under a policy, given as each state's action.

    Raises ConfigError as :func:`solve` does.
    """
    chosen = policy[world.state] == world.action
    state, following = world.state[chosen], world.next_state[chosen]
    probability = world.probability[chosen]
    values = np.bincount(state, probability * world.reward[chosen]).astype(np.float64, copy=False)
    weight = gamma * probability * ~world.terminated[chosen]
    if len(state) > world.states:
        if world.states > _MOST_BY_CHANCE:
            raise ConfigError(
                f"the world has chance and {world.states} states; it can be solved for up to "
                f"{_MOST_BY_CHANCE}"
            )
        equations = np.eye(world.states)
        np.subtract.at(equations, (state, following), weight)
        return np.linalg.solve(equations, values).astype(np.float64, copy=False)
    # Without chance, one row per state: the rewards of 1, 2, 4, ... steps, each from two halves.
    while weight.max() > _NEGLIGIBLE:
        values = values + weight * values[following]
        weight, following = weight * weight[following], following[following]
    return values
