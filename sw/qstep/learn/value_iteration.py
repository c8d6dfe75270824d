"""Value iteration: the exact optimum of an environment whose transition model is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from qstep.envs.gridworld import GridWorld
from qstep.errors import ConfigError

if TYPE_CHECKING:
    from qstep.acting.world import World

__all__ = [
    "Solution",
    "TransitionModel",
    "model_of",
    "policy_values",
    "solve",
    "transition_model",
]

_TOLERANCE = 1e-10
"""Of the largest value: what is closer is a tie."""

_SWEEPS = 64
"""Of value iteration, before the first look at the exact values of a policy; then twice as many."""

_MOST_BY_CHANCE = 4096
"""States of a model with chance: the equations of their values are solved as a full matrix."""

_NEGLIGIBLE = 1e-17


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


def model_of(world: World) -> TransitionModel:
    """Return the model of a world, its probabilities as they are on a device."""
    shape = (world.states, world.actions, world.outcomes)
    rank = np.arange(len(world.state)) - world.first[world.state * world.actions + world.action]
    at = world.state, world.action, rank
    model = TransitionModel(
        np.zeros(shape),
        np.zeros(shape, np.int32),
        np.zeros(shape),
        np.zeros(shape, np.bool_),
        np.zeros(world.states),
    )
    model.probability[at] = world.probability
    model.next_state[at] = world.next_state
    model.reward[at] = world.reward
    model.terminated[at] = world.terminated
    model.start[world.start_state] = world.start_weight / world.start_weight.sum()
    return model


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
    """Return the optimum: sweeps of value iteration, then the exact values of the greedy policy.

    It ends when no action improves on those by more than 1e-10 of the largest value. How long that takes
    depends on how far rewards travel, not on gamma: sweeps alone would take 20 million where an episode
    need not end and gamma is 0.999999.

    Parameters
    ----------
    model : TransitionModel
    gamma : float
        Discount, from 0 to below 1, so that every policy has a value.

    Raises
    ------
    ConfigError
        gamma is out of that range; or there is chance in more than 4096 states.
    """
    if not 0.0 <= gamma < 1.0:
        raise ConfigError(f"gamma is {gamma}; value iteration needs it from 0 to below 1")
    reward = (model.probability * model.reward).sum(axis=2)
    weight = gamma * model.probability * ~model.terminated

    def backed_up(values: NDArray[np.float64]) -> NDArray[np.float64]:
        q: NDArray[np.float64] = reward + (weight * values[model.next_state]).sum(axis=2)
        return q

    q = reward
    sweeps = _SWEEPS
    while True:
        for _ in range(sweeps):
            q = backed_up(q.max(axis=1))
        values = policy_values(model, q.argmax(axis=1), gamma)
        q = backed_up(values)
        slack = _TOLERANCE * max(1.0, float(np.abs(values).max()))
        if (q.max(axis=1) <= values + slack).all():
            return Solution(values, q, q >= values[:, None] - 2 * slack)
        sweeps *= 2


def policy_values(
    model: TransitionModel, policy: NDArray[np.int64], gamma: float
) -> NDArray[np.float64]:
    """Return what the states are worth, shape (S,), under a policy: its action in each of them.

    Raises ConfigError as :func:`solve` does.
    """
    states = np.arange(len(policy))
    probability = model.probability[states, policy]
    values: NDArray[np.float64] = (probability * model.reward[states, policy]).sum(axis=1)
    weight = gamma * probability * ~model.terminated[states, policy]
    following = model.next_state[states, policy]
    if (probability.max(axis=1) < 1.0).any():
        if len(states) > _MOST_BY_CHANCE:
            raise ConfigError(
                f"the model has chance in {len(states)} states; it can be solved for up to "
                f"{_MOST_BY_CHANCE}"
            )
        equations = np.eye(len(states))
        np.subtract.at(equations, (states[:, None], following), weight)
        return np.linalg.solve(equations, values).astype(np.float64, copy=False)
    # Without chance: the rewards of 1, 2, 4, ... steps, each from two halves.
    certain = probability.argmax(axis=1)
    following, weight = following[states, certain], weight[states, certain]
    while weight.max() > _NEGLIGIBLE:
        values = values + weight * values[following]
        weight, following = weight * weight[following], following[following]
    return values
