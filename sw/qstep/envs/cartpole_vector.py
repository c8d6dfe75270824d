"""`CartPoleVectorEnv`: many environments of Gymnasium's CartPole-v1 at once, compiled."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from qstep.envs.cartpole_kernels import ACTIONS, INPUTS, CartPoles, Outcome, observe, restart, step
from qstep.envs.compiled_vector import CompiledVectorEnv
from qstep.spec.checks import integer

__all__ = ["CartPoleVectorEnv"]


class CartPoleVectorEnv(CompiledVectorEnv):
    """N environments of CartPole-v1 in one compiled call: ``gymnasium.make_vec("qstep/CartPole-v0")``.

    From the same start state and with the same actions, each equals Gymnasium's environment in all
    float64 numbers, observations, rewards and ends. There are two differences. Start states are drawn by
    :class:`~qstep.envs.splitmix.SplitMix64`: place, speed, angle and angular speed in this order, each
    0.05 * (``below(2^31)`` / 2^30 - 1). And a step that terminates is never truncated, even if it is the
    500th, so that a learner need not ask which of the two counts.

    Action 0 pushes to the left, 1 to the right. Every step pays 1, including the last one.

    Environment i starts with generator ``seed + i`` and keeps it from episode to episode.
    Autoreset and memory are those of
    :class:`~qstep.envs.compiled_vector.CompiledVectorEnv`.

    Parameters
    ----------
    num_envs : int
        1 or more.

    Raises
    ------
    ConfigError
        `num_envs` is out of its range.

    Examples
    --------
    >>> envs = CartPoleVectorEnv(4)
    >>> envs.reset(seed=7)[0].shape
    (4, 4)
    >>> envs.step([0, 0, 1, 1])[1].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    def __init__(self, num_envs: int) -> None:
        num_envs = integer("num_envs", num_envs, 1)
        space = gym.make("CartPole-v1").observation_space
        super().__init__(num_envs, space, ACTIONS, CartPoles.empty(num_envs))
        self._cosines, self._sines = np.zeros(num_envs), np.zeros(num_envs)
        self._seen = np.zeros((num_envs, INPUTS), np.float32)
        self._out = Outcome(
            np.zeros((num_envs, INPUTS), np.float32),
            np.ones(num_envs, np.float32),
            np.zeros(num_envs, np.bool_),
            np.zeros(num_envs, np.bool_),
        )

    def _restart(self, index: int) -> None:
        restart(self._arrays, index)

    def _observe(self, index: int) -> None:
        observe(self._arrays, index, self._seen)

    def _shown(self) -> NDArray[np.float32]:
        return self._seen

    def _advance(self) -> int:
        np.cos(self._arrays.theta, out=self._cosines)
        np.sin(self._arrays.theta, out=self._sines)
        bad: int = step(
            self._arrays, self._actions, self._cosines, self._sines, self._seen, self._out
        )
        return bad

    def _outcome(self) -> tuple[NDArray[Any], ...]:
        return self._out
