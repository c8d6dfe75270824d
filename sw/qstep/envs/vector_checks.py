"""Argument checks of all vector environments, and restoring of their checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qstep.envs.splitmix import SplitMix64
from qstep.errors import EnvironmentSpaceError

__all__ = [
    "check_action",
    "checked_actions",
    "checked_num_envs",
    "restore_arrays",
    "words",
]


def checked_num_envs(num_envs: int) -> int:
    """Return the number of environments; raises EnvironmentSpaceError unless it is 1 or more."""
    if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:
        raise EnvironmentSpaceError(f"num_envs is {num_envs!r}; it must be an integer, 1 or more")
    return num_envs


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
    EnvironmentSpaceError
        An array is missing, or has another number of environments or another type.
    """
    for name, array in arrays.items():
        if name not in checkpoint:
            raise EnvironmentSpaceError(f"the checkpoint has no {name!r}")
        given = checkpoint[name]
        if (given.dtype, given.shape) != (array.dtype, array.shape):
            raise EnvironmentSpaceError(
                f"{name} of the checkpoint is {given.dtype} of shape {given.shape}; it must be "
                f"{array.dtype} of shape {array.shape}"
            )
    for name, array in arrays.items():
        array[:] = checkpoint[name]
