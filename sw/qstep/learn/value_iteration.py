"""Value iteration: the exact optimum of an environment whose transition model is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from qstep.envs.gridworld import GridWorld
from qstep.errors import ConfigError

__all__ = ["Solution", "TransitionModel", "solve", "transition_model"]

_TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True)
class TransitionModel:
    """What every action does in every state: K outcomes each, of which some have probability 0.

    Attributes
    ----------
    probability, reward : ndarray of float64, shape (S, A, K)
    next_state : ndarray of int32, shape (S, A, K)
    terminated : ndarray of bool, shape (S, A, K)
    start : ndarray of float64, shape (S,)
        Probability that an episode starts in a state.
    """

    probability: NDArray[np.float64]
    next_state: NDArray[np.int32]
    reward: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    start: NDArray[np.float64]

    @property
    def success_reward(self) -> float | None:
        """The highest reward with which an episode can terminate; None where none terminates."""
        seen = self.visited(np.ones(self.reward.shape[:2], np.bool_))
        final = self.reward[self.terminated & (self.probability > 0) & seen[:, None, None]]
        return float(final.max()) if final.size else None

    def visited(self, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the states (shape (S,)) that a policy can be in when it has to act.

        Parameters
        ----------
        allowed : ndarray of bool, shape (S, A)
            The actions that the policy may take in each state.
        """
        seen = self.start > 0
        frontier = seen
        while frontier.any():
            taken = allowed & frontier[:, None]
            leads = (self.probability > 0) & ~self.terminated & taken[..., None]
            reached = np.zeros_like(seen)
            reached[self.next_state[leads]] = True
            frontier = reached & ~seen
            seen = seen | frontier
        return seen


@dataclass(frozen=True, slots=True)
class Solution:
    """The optimum of a transition model.

    Attributes
    ----------
    values : ndarray of float64, shape (S,)
        Optimal value of each state.
    q : ndarray of float64, shape (S, A)
        Optimal value of each action in each state.
    optimal : ndarray of bool, shape (S, A)
        The actions that are optimal, all of them where several tie.
    """

    values: NDArray[np.float64]
    q: NDArray[np.float64]
    optimal: NDArray[np.bool_]


def transition_model(env: gym.Env[Any, Any]) -> TransitionModel | None:
    """Return the model of a :class:`GridWorld` or of an environment with Gymnasium's table ``P``.

    Returns None for any other environment, and where states or actions do not count from 0.
    """
    inner = env.unwrapped
    if isinstance(inner, GridWorld):
        grid = inner.deterministic_model()
        start = np.zeros(len(grid.reward))
        start[inner.start] = 1.0
        return TransitionModel(
            probability=np.ones((*grid.reward.shape, 1)),
            next_state=grid.next_state[..., None],
            reward=grid.reward[..., None],
            terminated=grid.terminated[..., None],
            start=start,
        )
    table = getattr(inner, "P", None)
    distribution = getattr(inner, "initial_state_distrib", None)
    spaces = (inner.observation_space, inner.action_space)
    if not isinstance(table, dict) or distribution is None:
        return None
    if not all(isinstance(space, Discrete) and space.start == 0 for space in spaces):
        return None
    return _from_table(table, np.asarray(distribution, np.float64))


def _from_table(
    table: dict[int, dict[int, list[tuple[float, int, float, bool]]]], start: NDArray[np.float64]
) -> TransitionModel:
    states, actions = len(table), len(table[0])
    most = max(len(outcomes) for row in table.values() for outcomes in row.values())
    shape = (states, actions, most)
    model = TransitionModel(
        np.zeros(shape),
        np.zeros(shape, np.int32),
        np.zeros(shape),
        np.zeros(shape, np.bool_),
        start,
    )
    for state, row in table.items():
        for action, outcomes in row.items():
            for k, outcome in enumerate(outcomes):
                at = state, action, k
                (
                    model.probability[at],
                    model.next_state[at],
                    model.reward[at],
                    model.terminated[at],
                ) = outcome
    return model


def solve(model: TransitionModel, gamma: float) -> Solution:
    """Iterate ``Q = E[reward + gamma * max Q[next]]`` from 0 until no value moves by 1e-10.

    Parameters
    ----------
    model : TransitionModel
    gamma : float
        Discount, from 0 to below 1, so that the iteration contracts.

    Raises
    ------
    ConfigError
        gamma is out of that range.
    """
    if not 0.0 <= gamma < 1.0:
        raise ConfigError(f"gamma is {gamma}; value iteration needs it from 0 to below 1")
    reward = (model.probability * model.reward).sum(axis=2)
    weight = gamma * model.probability * ~model.terminated
    q = reward
    change = np.inf
    while change > _TOLERANCE:
        new = reward + (weight * q.max(axis=1)[model.next_state]).sum(axis=2)
        change = np.abs(new - q).max()
        q = new
    values = q.max(axis=1)
    # The error of q is below the tolerance over 1 - gamma, and so is that of a tie.
    slack = 2 * _TOLERANCE / (1 - gamma)
    return Solution(values, q, q >= values[:, None] - slack)
