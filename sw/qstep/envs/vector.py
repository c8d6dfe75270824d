"""Argument checks of all vector environments, and restoring of their checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import ArrayLike, NDArray

from qstep._io.checkpoint import check_parts
from qstep.envs.splitmix import SplitMix64
from qstep.errors import EnvironmentSpaceError

__all__ = [
    "check_action",
    "check_autoreset",
    "checked_actions",
    "final_values",
    "led_to",
    "restore_arrays",
    "words",
]


def words(seed: int, num_envs: int) -> list[int]:
    """Return the words of the generators of N environments: those of seed, seed + 1, and so on."""
    return [SplitMix64(seed + i).word for i in range(num_envs)]


def checked_actions(actions: ArrayLike, num_envs: int) -> NDArray[Any]:
    """Return the actions as an array; raises EnvironmentSpaceError on another shape or type."""
    given = np.asarray(actions)
    if given.shape != (num_envs,) or not np.issubdtype(given.dtype, np.integer):
        raise EnvironmentSpaceError(
            f"actions are {given.dtype} of shape {given.shape}; they must be integers of shape "
            f"{(num_envs,)}"
        )
    return given


def check_action(bad: int, given: NDArray[Any], actions: int) -> None:
    """Raise EnvironmentSpaceError where `bad`, from a kernel, is an environment and not -1."""
    if bad >= 0:
        raise EnvironmentSpaceError(
            f"action of environment {bad} is {given[bad]}; it must be from 0 to {actions - 1}"
        )


def restore_arrays(
    arrays: Mapping[str, NDArray[Any]], checkpoint: Mapping[str, NDArray[Any]]
) -> None:
    """Write a checkpoint into the arrays from which it was taken, completely or not at all.

    Raises
    ------
    CheckpointError
        An array is missing, or has another number of environments or another type.
    """
    check_parts(checkpoint, arrays)
    for name, array in arrays.items():
        array[:] = checkpoint[name]


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
