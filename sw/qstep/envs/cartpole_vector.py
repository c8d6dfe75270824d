"""`CartPoleVectorEnv`: many environments of Gymnasium's CartPole-v1 at once, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qstep.envs.cartpole_kernels import ACTIONS, INPUTS, CartPoles, observe, restart, step
from qstep.envs.compiled_vector import CompiledVectorEnv
from qstep.envs.vector import VectorStep
from qstep.envs.vector_checks import checked_num_envs

__all__ = ["CartPoleVectorEnv"]


class CartPoleVectorEnv(CompiledVectorEnv):
    """N environments of CartPole-v1 in one compiled call: a :class:`~qstep.envs.vector.VectorEnv`.

    From the same start state and with the same actions each equals Gymnasium's environment in all its
    float64 numbers, observations, rewards and ends. Two things are its own. Start states are
    drawn by :class:`~qstep.envs.splitmix.SplitMix64`: place, speed, angle and angular speed in this
    order, each 0.05 * (``below(2^31)`` / 2^30 - 1). And a step that terminates is not called
    truncated where it is the 500th as well, so that a learner need not ask which of the two counts.

    Action 0 pushes to the left, 1 to the right. Every step pays 1, also the last one; the score is the
    steps of the episode so far.

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
        poles = CartPoles.empty(checked_num_envs(num_envs))
        self._cosines, self._sines = np.zeros(num_envs), np.zeros(num_envs)
        super().__init__(
            poles,
            (
                (np.zeros((num_envs, INPUTS), np.float32),),
                (np.zeros((num_envs, INPUTS), np.float32),),
            ),
            VectorStep(
                np.zeros((num_envs, INPUTS), np.float32),
                np.ones(num_envs, np.float32),
                np.zeros(num_envs, np.bool_),
                np.zeros(num_envs, np.bool_),
                np.zeros(num_envs, np.int32),
            ),
            seed,
        )

    @property
    def observation(self) -> NDArray[np.float32]:
        """Place, speed, angle and angular speed of every environment now, shape (N, 4)."""
        return self._seen[0][0]

    def _restart(self, index: int) -> None:
        restart(self._arrays, index)

    def _observe(self, index: int) -> None:
        observe(self._arrays, index, *self._seen[0])

    def _advance(self) -> int:
        np.cos(self._arrays.theta, out=self._cosines)
        np.sin(self._arrays.theta, out=self._sines)
        bad: int = step(
            self._arrays, self._actions, self._cosines, self._sines, *self._seen[1], self._step
        )
        return bad
