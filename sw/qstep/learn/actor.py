"""Actors for the learner: one environment in Python, or many compiled ones in turns.

An actor acts epsilon-greedily on a given table, piece by piece, and returns the transitions that the
device is to learn from, in order. :class:`GymActor` steps one Gymnasium environment in Python.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from qstep.learn.evaluate import MAX_SEED, Evaluation, epsilon_greedy, evaluate, is_success
from qstep.learn.host_checkpoint import Columns, Episode
from qstep.spec.epsilon import Epsilon

__all__ = ["Actor", "GymActor", "Stretch"]


class Stretch(NamedTuple):
    """The transitions of an actor's steps, one or more, and the episodes that ended in them."""

    columns: Columns
    episodes: list[Episode]


class Actor(ABC):
    """Acts in one or more environments; its generators are the learner's.

    A share of `epsilon` is one of `horizon` episodes.
    """

    resting = True
    """Whether the next stretch depends only on :meth:`arrays` now."""

    def __init__(
        self,
        epsilon: Epsilon,
        horizon: int,
        acting: np.random.Generator,
        evaluating: np.random.Generator,
    ) -> None:
        self._schedule, self._horizon = epsilon, horizon
        self._acting, self._evaluating = acting, evaluating

    def begin(self) -> None:  # noqa: B027  # nothing to do where every episode is seeded
        """Draw the starts of the first episodes."""

    @abstractmethod
    def act(self, table: NDArray[np.int32], done: int, steps: int, episodes: int) -> Stretch:
        """Act on a table after `done` ended episodes, for at most so many steps and ended episodes."""

    def explore(self, epsilon: Epsilon) -> None:
        """Explore so from now on; where epsilon is constant within an episode, from the next one on."""
        self._schedule = epsilon

    @abstractmethod
    def evaluate(self, table: NDArray[np.int32], episodes: int, done: int) -> Evaluation:
        """Play some episodes greedily, without effect on the unfinished ones of :meth:`act`."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return copies of the state between two stretches, for :meth:`restore`."""
        return {}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:  # noqa: B027
        """Continue from :meth:`arrays`; raises CheckpointError for those of other environments."""


class GymActor(Actor):
    """One environment, reseeded for every episode so that its state need not be saved.

    Epsilon is constant within an episode, and a stretch ends with it. `env` and `evaluation_env` are
    two of the same kind; :func:`~qstep.learn.evaluate.is_success` explains `success_reward`.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        evaluation_env: gym.Env[Any, Any],
        epsilon: Epsilon,
        horizon: int,
        success_reward: float | None,
        acting: np.random.Generator,
        evaluating: np.random.Generator,
    ) -> None:
        super().__init__(epsilon, horizon, acting, evaluating)
        self._env, self._evaluation_env = env, evaluation_env
        self._success_reward = success_reward
        self._epsilon = self._total = 0.0
        self._state = self._length = 0

    def act(self, table: NDArray[np.int32], done: int, steps: int, episodes: int) -> Stretch:
        """See :meth:`Actor.act`."""
        if self.resting:
            self._begin(done)
        rows: list[tuple[int, int, float, int, bool]] = []
        ended: list[Episode] = []
        while len(rows) < steps and not ended:
            action = epsilon_greedy(table, self._state, self._epsilon, self._acting)
            following, given, terminated, truncated, info = self._env.step(action)
            reward = float(given)
            rows.append((self._state, action, reward, int(following), bool(terminated)))
            self._state = int(following)
            self._total += reward
            self._length += 1
            if terminated or truncated:
                success = is_success(info, terminated, reward, self._success_reward)
                what = (self._epsilon, self._total, self._length, terminated, success)
                ended.append(Episode(done + 1, *what))
        self.resting = bool(ended)
        return Stretch(tuple(np.array(column) for column in zip(*rows, strict=True)), ended)

    def evaluate(self, table: NDArray[np.int32], episodes: int, done: int) -> Evaluation:
        """See :meth:`Actor.evaluate`."""
        return evaluate(
            self._evaluation_env, table, episodes, self._evaluating, self._success_reward, done
        )

    def _begin(self, done: int) -> None:
        self._epsilon = self._schedule.at(done, self._horizon)
        state, _ = self._env.reset(seed=int(self._acting.integers(MAX_SEED)))
        self._state = int(state)
        self._total = 0.0
        self._length = 0
