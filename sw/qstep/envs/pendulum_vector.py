"""`PendulumVectorEnv`: a vector environment of Gymnasium's Pendulum-v1."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from qstep.envs import pendulum_kernels
from qstep.envs.vector import CompiledVectorEnv
from qstep.errors import EnvironmentSpaceError
from qstep.spec.checks import integer

__all__ = ["PendulumVectorEnv"]


class PendulumVectorEnv(CompiledVectorEnv):
    """N Pendulum-v1 environments, stepped in one call: ``gymnasium.make_vec("qstep/Pendulum-v0")``.

    With the same start state and actions, each environment produces exactly the numbers of Gymnasium's;
    rewards are rounded to float32. :class:`~qstep.envs.splitmix.SplitMix64` draws each start state:
    first the angle, pi * (``below(2^31)`` / 2^30 - 1), and then the angular velocity, which has the same
    formula without the factor pi.

    Environment i draws from a generator with seed ``seed + i`` in all episodes. Autoreset and memory
    work as in :class:`~qstep.envs.vector.CompiledVectorEnv`. An action is a torque, float32 of shape
    (1,), clipped to -2..2 N m.

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
    >>> envs = PendulumVectorEnv(2)
    >>> envs.reset(seed=7)[0].shape
    (2, 3)
    >>> envs.step([[0.5], [-2.0]])[3].tolist()
    [False, False]
    """

    def __init__(self, num_envs: int) -> None:
        num_envs = integer("num_envs", num_envs, 1)
        env = gym.make("Pendulum-v1")
        shown = np.zeros((num_envs, pendulum_kernels.INPUTS), np.float32)
        super().__init__(
            num_envs, env.observation_space, pendulum_kernels, (shown,), actions=env.action_space
        )

    def _take(self, given: NDArray[np.generic]) -> None:
        if given.shape != self._actions.shape or given.dtype.kind not in "fiu":
            raise EnvironmentSpaceError(
                f"actions are {given.dtype} of shape {given.shape}; they must be numbers of shape "
                f"{self._actions.shape}"
            )
        finite = np.isfinite(given.astype(np.float32))
        if not finite.all():
            bad = np.argmin(finite)
            raise EnvironmentSpaceError(
                f"action of environment {bad} is {given[bad, 0]}; it must be finite"
            )
        self._actions[:] = given
