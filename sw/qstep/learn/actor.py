"""Actors: one environment in Python, or many compiled ones stepped round-robin.

An actor acts epsilon-greedily on a given table for a limited number of steps at a time, and returns the
transitions from which the device learns, in order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from qstep.envs.catalogue import Environment
from qstep.envs.splitmix import SplitMix64
from qstep.envs.vector import kept_arrays, restore_arrays, words
from qstep.learn.actor_kernels import KERNELS, Ends, Turns, act, play, restart
from qstep.learn.evaluate import (
    MAX_SEED,
    Evaluation,
    chooser,
    epsilon_greedy,
    evaluate,
    evaluation_of,
    is_success,
)
from qstep.learn.host_checkpoint import PENDING_TYPES, Columns, Episode
from qstep.spec.epsilon import Epsilon

__all__ = ["Actor", "GymActor", "Stretch", "VectorActor"]

_LONGEST = 1 << 16
"""Maximum steps per stretch of compiled environments; Ctrl-C is handled between stretches."""


class Stretch(NamedTuple):
    """The transitions of one or more steps of an actor, and the episodes that ended in these steps."""

    columns: Columns
    episodes: list[Episode]


class Actor(ABC):
    """Acts in one or more environments; all random draws come from the given generators.

    The share in the schedule `epsilon` is relative to `horizon` episodes.
    """

    resting = True
    """Whether :meth:`arrays` is currently the complete state on which the next stretch depends."""

    def __init__(
        self,
        epsilon: Epsilon,
        horizon: int,
        acting: np.random.Generator,
        evaluating: np.random.Generator,
    ) -> None:
        self._schedule, self._horizon = epsilon, horizon
        self._acting, self._evaluating = acting, evaluating

    def begin(self) -> None:  # noqa: B027  # nothing to do if every episode is seeded
        """Draw the start states of the first episodes."""

    @abstractmethod
    def act(self, table: NDArray[np.int32], done: int, steps: int, episodes: int) -> Stretch:
        """Act for at most `steps` steps and `episodes` ended episodes; `done` episodes ended earlier."""

    def explore(self, epsilon: Epsilon) -> None:
        """Change epsilon now, or from the next episode if epsilon is constant within an episode."""
        self._schedule = epsilon

    @abstractmethod
    def evaluate(self, table: NDArray[np.int32], episodes: int, done: int) -> Evaluation:
        """Play episodes greedily, without affecting the unfinished episodes of :meth:`act`."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return a copy of the state between stretches, as arrays for :meth:`restore`."""
        return {}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:  # noqa: B027
        """Continue from :meth:`arrays`; raise CheckpointError if they belong to other environments."""


class GymActor(Actor):
    """Actor in one environment that is reseeded for every episode, so its state need not be saved.

    Epsilon is constant within an episode, and a stretch ends with the episode. `env` and
    `evaluation_env` are two copies of one environment; `success_reward` is as for
    :func:`~qstep.learn.evaluate.is_success`.
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
            *(self._evaluation_env, chooser(table), episodes),
            *(self._evaluating, self._success_reward, done),
        )

    def _begin(self, done: int) -> None:
        self._epsilon = self._schedule.at(done, self._horizon)
        state, _ = self._env.reset(seed=int(self._acting.integers(MAX_SEED)))
        self._state = int(state)
        self._total = 0.0
        self._length = 0


class VectorActor(Actor):
    """Actor in N environments of one kind, which are stepped round-robin with one table.

    Environment 0 steps first. Episodes are counted in the order in which they end, and a step's
    epsilon depends on the number of episodes that ended before it. Environment i draws from generator
    ``seed + i``, as in the vector environments. The policy has one generator: a step draws
    ``below(2^31)``; if the draw is below epsilon * 2^31, the step explores and draws its action.

    `record` describes an environment with kernels. An episode is truncated after `max_episode_steps`
    unless that is 0. `acting` seeds the environments and the policy; `evaluating` seeds the environments
    of an evaluation.
    """

    def __init__(
        self,
        record: Environment,
        num_envs: int,
        max_episode_steps: int,
        epsilon: Epsilon,
        horizon: int,
        acting: np.random.Generator,
        evaluating: np.random.Generator,
    ) -> None:
        super().__init__(epsilon, horizon, acting, evaluating)
        self._kernels, self._success_length = KERNELS[record.kernels], record.success_length
        self._limit = max_episode_steps
        self._envs = self._kernels.ARRAYS.empty(num_envs)
        self._turns = Turns.empty(num_envs)
        # These calls take no steps. They load the machine code before the run, or compile it the
        # first time.
        self._act(np.zeros((1, 1), np.int32), 0, _columns(0), Ends.empty(0))
        play(self._kernels.ARRAYS.empty(0), np.zeros((1, 1), np.int32), self._limit, Ends.empty(0))

    def begin(self) -> None:
        """Seed the environments and the policy."""
        num_envs = len(self._envs.word)
        self._envs.word[:] = words(int(self._acting.integers(MAX_SEED)), num_envs)
        self._turns.word[:] = SplitMix64(int(self._acting.integers(MAX_SEED))).word
        for i in range(num_envs):
            restart(self._envs, i)

    def act(self, table: NDArray[np.int32], done: int, steps: int, episodes: int) -> Stretch:
        """See :meth:`Actor.act`."""
        steps = min(steps, _LONGEST)
        columns, ends = _columns(steps), Ends.empty(min(steps, episodes))
        made, ended = self._act(_writable(table), done, columns, ends)
        over = [
            Episode(number + 1, self._schedule.at(number, self._horizon), *end)
            for number, end in enumerate(self._ended(ends, ended), done)
        ]
        return Stretch(tuple(column[:made] for column in columns), over)

    def evaluate(self, table: NDArray[np.int32], episodes: int, done: int) -> Evaluation:
        """See :meth:`Actor.evaluate`; each episode has a separate environment."""
        envs = self._kernels.ARRAYS.empty(episodes)
        envs.word[:] = words(int(self._evaluating.integers(MAX_SEED)), episodes)
        ends = Ends.empty(episodes)
        play(envs, _writable(table), self._limit, ends)
        return evaluation_of(done, self._ended(ends, episodes))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return a copy of the state of the environments and of the round-robin (:class:`Turns`)."""
        return {name: array.copy() for name, array in self._kept().items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """See :meth:`Actor.restore`."""
        restore_arrays(self._kept(), arrays)

    def _act(
        self, table: NDArray[np.int32], done: int, columns: Columns, ends: Ends
    ) -> tuple[int, int]:
        schedule = self._schedule.line(self._horizon)
        made, ended = act(
            self._envs, self._turns, table, schedule, self._limit, done, columns, ends
        )
        return made, ended

    def _kept(self) -> dict[str, NDArray[Any]]:
        envs, turns = kept_arrays(self._kernels, self._envs), self._turns._asdict()
        return {f"envs_{name}": array for name, array in envs.items()} | {
            f"turns_{name}": array for name, array in turns.items()
        }

    def _ended(self, ends: Ends, count: int) -> Iterator[tuple[float, int, bool, bool | None]]:
        """Yield return, length, terminated and success of the first `count` episodes."""
        least = self._success_length
        for total, length, terminated in zip(
            *(column[:count].tolist() for column in ends), strict=True
        ):
            success = None if least is None else length >= least and not terminated
            yield total, length, terminated, success


def _columns(steps: int) -> Columns:
    return tuple(np.empty(steps, dtype) for dtype in PENDING_TYPES)


def _writable(table: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return a table with the type and layout for which the loops are compiled."""
    return np.require(table, np.int32, ["C", "W"])
