"""N environments at once, as Gymnasium's ``VectorEnv``: made by name, read as transitions."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from numpy.typing import NDArray

from qstep.envs import make_any
from qstep.envs.vector_checks import checked_num_envs
from qstep.errors import EnvironmentSpaceError

__all__ = ["check_autoreset", "final_values", "led_to", "make_vector"]


def make_vector(env_id: str, num_envs: int) -> VectorEnv[Any, Any, Any]:
    """Make N environments that reset within the step that ends an episode.

    QStep's environments with a compiled form step in one call, others one after the other.

    Parameters
    ----------
    env_id : str
        As for :func:`qstep.envs.make_any`, or ``qstep/CartPole-v0``.
    num_envs : int
        1 or more.

    Raises
    ------
    EnvironmentSpaceError
        The environment is unknown or cannot be made, or the number is out of range.
    """
    checked_num_envs(num_envs)
    spec = gym.registry.get(env_id) if env_id.startswith("qstep/") else None
    if spec is not None and spec.vector_entry_point is not None:
        return gym.make_vec(env_id, num_envs)
    return SyncVectorEnv(
        [lambda: make_any(env_id)] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP
    )


def check_autoreset(envs: VectorEnv[Any, Any, Any]) -> None:
    """Raise EnvironmentSpaceError unless a finished episode is reset within the same step."""
    mode = envs.metadata.get("autoreset_mode")
    if mode is not AutoresetMode.SAME_STEP:
        raise EnvironmentSpaceError(
            f"autoreset_mode of the environments is {mode}; it must be {AutoresetMode.SAME_STEP}"
        )


def led_to(observation: NDArray[Any], info: dict[str, Any]) -> NDArray[Any]:
    """Return the outcome of each action for its transition, with the shape of `observation`.

    With ``AutoresetMode.SAME_STEP``, a step's observation is that of the new episode if one has
    ended; the outcome of the old episode's last action is in the info.

    Parameters
    ----------
    observation : ndarray, shape (N, ...)
    info : dict
        Both from one step. Neither is changed.
    """
    if "final_obs" not in info:
        return observation
    ended = info["_final_obs"]
    reached = observation.copy()
    reached[ended] = np.stack(info["final_obs"][ended])
    return reached


def final_values(info: dict[str, Any], name: str) -> NDArray[Any] | None:
    """Return a value of a step's final infos, shape (N,), valid where an episode ended; or None."""
    values: NDArray[Any] | None = info.get("final_info", {}).get(name)
    return values
