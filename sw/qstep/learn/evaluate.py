"""Policies that act on a table, and their greedy evaluation: how good a table is without exploring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Evaluation",
    "epsilon_greedy",
    "evaluate",
    "evaluation_of",
    "greedy",
    "is_success",
    "share",
]


def greedy(q: NDArray[Any], state: int) -> int:
    """Return the lowest action with the maximum of a row of the table."""
    return int(q[state].argmax())


def epsilon_greedy(
    q: NDArray[Any], state: int, epsilon: float, generator: np.random.Generator
) -> int:
    """Return a uniformly random action with probability `epsilon`, otherwise the greedy one.

    Draws one number, and a second one if it explores.
    """
    if generator.random() < epsilon:
        return int(generator.integers(q.shape[1]))
    return greedy(q, state)


MAX_SEED = 2**31


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Means over the episodes of one evaluation, which follows `episode` training episodes.

    `mean_return` is undiscounted; `success` and `terminated` are shares, 0..1, `success` None where
    :func:`is_success` is; `mean_length` is in steps.
    """

    episode: int
    mean_return: float
    success: float | None
    terminated: float
    mean_length: float

    @property
    def columns(self) -> dict[str, float | None]:
        """The means by the names of report and history."""
        return {
            "greedy_return": self.mean_return,
            "greedy_success": self.success,
            "greedy_length": self.mean_length,
        }

    @property
    def in_words(self) -> str:
        """One line for the terminal."""
        rate = "" if self.success is None else f"success {self.success:.0%}, "
        return (
            f"episode {self.episode}: greedy return {self.mean_return:.2f}, {rate}"
            f"length {self.mean_length:.1f}"
        )


def is_success(
    info: dict[str, Any], terminated: bool, reward: float, success_reward: float | None
) -> bool | None:
    """Whether an episode with this end reached its goal.

    An environment may say so: ``info["is_success"]``. Otherwise an episode succeeds if it
    terminates with the highest terminal reward: at the goal, not in a hole. The answer is None if
    no transition table gives that reward (`success_reward` is None), because dying also terminates.
    """
    if "is_success" in info:
        return bool(info["is_success"])
    if success_reward is None:
        return None
    return terminated and reward == success_reward


def share(successes: Sequence[bool | None]) -> float | None:
    """Return the share of episodes that succeeded; None if that is unknown for any of them."""
    known = [success for success in successes if success is not None]
    return sum(known) / len(known) if known and len(known) == len(successes) else None


def evaluate(
    env: gym.Env[Any, Any],
    q: NDArray[np.integer],
    episodes: int,
    generator: np.random.Generator,
    success_reward: float | None,
    episode: int = 0,
) -> Evaluation:
    """Play episodes greedily on a table of raw or real values, shape (S, A).

    `env` has states and actions numbered from 0 and is reseeded for each episode from `generator`;
    `success_reward` is that of :func:`is_success`.
    """
    returns = np.zeros(episodes)
    lengths = np.zeros(episodes)
    terminations = np.zeros(episodes, np.bool_)
    successes: list[bool | None] = []
    for k in range(episodes):
        state, _ = env.reset(seed=int(generator.integers(MAX_SEED)))
        terminated = truncated = False
        while not (terminated or truncated):
            state, reward, terminated, truncated, info = env.step(greedy(q, int(state)))
            returns[k] += float(reward)
            lengths[k] += 1
        terminations[k] = terminated
        successes.append(is_success(info, terminated, float(reward), success_reward))
    return evaluation_of(episode, returns, lengths, terminations, successes)


def evaluation_of(
    episode: int,
    returns: NDArray[np.float64],
    lengths: NDArray[Any],
    terminations: NDArray[np.bool_],
    successes: Sequence[bool | None],
) -> Evaluation:
    """Return the means over episodes, one element each."""
    return Evaluation(
        episode,
        float(returns.mean()),
        share(successes),
        float(terminations.mean()),
        float(lengths.mean()),
    )
