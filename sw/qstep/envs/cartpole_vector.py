"""`CartPoleVectorEnv`: many environments of Gymnasium's CartPole-v1 at once, compiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qstep.envs.cartpole_kernels import ACTIONS, INPUTS, CartPoles, observe, restart, step
from qstep.envs.vector import VectorStep
from qstep.envs.vector_checks import (
    check_action,
    checked_actions,
    checked_num_envs,
    restore_arrays,
    words,
)

__all__ = ["CartPoleVectorEnv"]


class CartPoleVectorEnv:
    """N environments of CartPole-v1 in one compiled call: a :class:`~qstep.envs.vector.VectorEnv`.

    From the same start state and with the same actions each equals Gymnasium's environment in all its
    float64 numbers, observations, rewards and ends. Two things are its own. Start states are
    drawn by :class:`~qstep.envs.splitmix.SplitMix64`: place, speed, angle and angular speed in this
    order, each 0.05 * (``below(2^31)`` / 2^30 - 1). And a step that terminates is not called
    truncated where it is the 500th as well, so that a learner need not ask which of the two counts.

    Every step pays 1, also the last one; the score is the steps of the episode so far.

    Environment i starts with generator ``seed + i`` and goes on with it from episode to episode.

    Parameters
    ----------
    num_envs : int
        1 or more.
    seed : int
        0..2^64-`num_envs`.

    Raises
    ------
    EnvironmentSpaceError
        A parameter is out of its range.

    Examples
    --------
    >>> envs = CartPoleVectorEnv(4, seed=7)
    >>> envs.observation.shape
    (4, 4)
    >>> envs.step([0, 0, 1, 1]).reward.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    inputs = INPUTS
    actions = ACTIONS

    def __init__(self, num_envs: int, seed: int = 0) -> None:
        self._poles = CartPoles.empty(checked_num_envs(num_envs))
        # Two of them: the one that was acted on is kept while the other one is written.
        self._seen = tuple(np.zeros((num_envs, INPUTS), np.float32) for _ in range(2))
        self._step = VectorStep(
            np.zeros((num_envs, INPUTS), np.float32),
            np.ones(num_envs, np.float32),
            np.zeros(num_envs, np.bool_),
            np.zeros(num_envs, np.bool_),
            np.zeros(num_envs, np.int32),
        )
        self._cosines, self._sines = np.zeros(num_envs), np.zeros(num_envs)
        self._actions = np.zeros(num_envs, np.int64)
        self.reset(seed)

    @property
    def num_envs(self) -> int:
        """N."""
        return len(self._actions)

    @property
    def observation(self) -> NDArray[np.float32]:
        """Place, speed, angle and angular speed of every environment now, shape (N, 4)."""
        return self._seen[0]

    def reset(self, seed: int) -> NDArray[np.float32]:
        """Start over as new environments with that seed would; return the observation."""
        self._poles.word[:] = words(seed, self.num_envs)
        for i in range(self.num_envs):
            restart(self._poles, i)
        return self._observe_all()

    def step(self, actions: ArrayLike) -> VectorStep:
        """Push every cart.

        Parameters
        ----------
        actions : array_like of int, shape (N,)
            0 to the left, 1 to the right.

        Raises
        ------
        EnvironmentSpaceError
            Shape, type or a value is wrong; then nothing has moved.
        """
        given = checked_actions(actions, self.num_envs)
        self._actions[:] = given
        np.cos(self._poles.theta, out=self._cosines)
        np.sin(self._poles.theta, out=self._sines)
        bad = step(
            self._poles, self._actions, self._cosines, self._sines, self._seen[1], self._step
        )
        check_action(bad, given, ACTIONS)
        self._seen = self._seen[::-1]
        return self._step

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Return copies of all that the episodes depend on, for :meth:`restore`."""
        return {name: array.copy() for name, array in self._poles._asdict().items()}

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
        """Go on from a :meth:`snapshot`; return the observation.

        Raises
        ------
        EnvironmentSpaceError
            An array is missing, or is of another number of environments or another type; then nothing
            has changed.
        """
        restore_arrays(self._poles._asdict(), snapshot)
        return self._observe_all()

    def _observe_all(self) -> NDArray[np.float32]:
        for i in range(self.num_envs):
            observe(self._poles, i, self._seen[0])
        return self.observation
