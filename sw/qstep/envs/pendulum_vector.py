"""`PendulumVectorEnv`: many environments of Gymnasium's Pendulum-v1 at once."""

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
    """N environments of Pendulum-v1 in one call: ``gymnasium.make_vec("qstep/Pendulum-v0")``.

    From the same start state and with the same actions, each equals Gymnasium's environment in all
    numbers; rewards are rounded to float32. Start states are drawn by
    :class:`~qstep.envs.splitmix.SplitMix64`: the angle, then the angular speed, which are pi and 1 times
    (``below(2^31)`` / 2^30 - 1).

    Environment i starts with generator ``seed + i`` and keeps it from episode to episode.
    Autoreset and memory are those of :class:`~qstep.envs.vector.CompiledVectorEnv`. An action is a
    torque of -2..2 N m, float32 of shape (1,); one beyond counts as the nearest of these.

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
