"""`CartPoleVectorEnv`: a compiled vector environment of Gymnasium's CartPole-v1."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from qstep.envs import cartpole_kernels
from qstep.envs.vector import CompiledVectorEnv
from qstep.spec.checks import integer

__all__ = ["CartPoleVectorEnv"]


class CartPoleVectorEnv(CompiledVectorEnv):
    """N CartPole-v1 environments, stepped in one call: ``gymnasium.make_vec("qstep/CartPole-v0")``.

    With the same start state and actions, each environment matches Gymnasium's exactly in its float64
    state, observations, rewards and ends of episodes. There are two differences.
    :class:`~qstep.envs.splitmix.SplitMix64` draws the start states: position, velocity, angle and
    angular velocity in this order, each 0.05 * (``below(2^31)`` / 2^30 - 1). A step that terminates is
    never also truncated, not even the 500th, so a learner need not decide which flag counts.

    Action 0 pushes left, 1 pushes right. Every step has reward 1, including the last.

    Environment i draws from a generator with seed ``seed + i`` in all episodes. Autoreset and memory
    work as in :class:`~qstep.envs.vector.CompiledVectorEnv`.

    Parameters
    ----------
    num_envs : int
        1 or more.

    Raises
    ------
    ConfigError
        `num_envs` is out of range.

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
        shown = np.zeros((num_envs, cartpole_kernels.INPUTS), np.float32)
        super().__init__(num_envs, space, cartpole_kernels, (shown,))
        self._cosine, self._sine = np.zeros((2, num_envs))

    def _advance(self) -> None:
        np.cos(self._arrays.theta, out=self._cosine)
        np.sin(self._arrays.theta, out=self._sine)
        given = (self._arrays, self._actions, self._shown, self._out)
        self._kernels.step(*given, self._cosine, self._sine)
