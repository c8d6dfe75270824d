"""What every kind of boards checks at its door, and how it takes a snapshot back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qstep.envs.boards import Boards
from qstep.envs.splitmix import SplitMix64
from qstep.errors import EnvironmentSpaceError

__all__ = [
    "check_action",
    "check_numbers",
    "checked_actions",
    "checked_boards",
    "restore_arrays",
    "words",
]


def checked_boards(boards: int) -> int:
    """Return the number of boards; raises EnvironmentSpaceError unless it is 1 or more."""
    if isinstance(boards, bool) or not isinstance(boards, int) or boards < 1:
        raise EnvironmentSpaceError(f"boards is {boards!r}; it must be an integer, 1 or more")
    return boards


def words(seed: int, boards: int) -> list[int]:
    """Return the words of the generators of N boards: those of seed, seed + 1, and so on."""
    return [SplitMix64(seed + i).word for i in range(boards)]


def checked_actions(actions: ArrayLike, boards: int) -> NDArray[Any]:
    """Return the actions as an array; raises EnvironmentSpaceError on another shape or type."""
    given = np.asarray(actions)
    if given.shape != (boards,) or not np.issubdtype(given.dtype, np.integer):
        raise EnvironmentSpaceError(
            f"actions are {given.dtype} of shape {given.shape}; they must be integers of shape "
            f"{(boards,)}"
        )
    return given


def check_action(bad: int, given: NDArray[Any], actions: int) -> None:
    """Raise EnvironmentSpaceError where `bad`, from a kernel, is a board and not -1."""
    if bad >= 0:
        raise EnvironmentSpaceError(
            f"action of board {bad} is {given[bad]}; it must be from 0 to {actions - 1}"
        )


def check_numbers(boards: Boards) -> None:
    """Raise EnvironmentSpaceError where observations are indices into a table."""
    if boards.inputs < 1:
        raise EnvironmentSpaceError(
            "the boards show one index; a network needs numbers, for example 'features'"
        )


def restore_arrays(
    arrays: Mapping[str, NDArray[Any]], snapshot: Mapping[str, NDArray[Any]]
) -> None:
    """Write a snapshot into the arrays that it was taken of, all of it or nothing.

    Raises
    ------
    EnvironmentSpaceError
        An array is missing, or is of another number of boards or another type.
    """
    for name, mine in arrays.items():
        if name not in snapshot:
            raise EnvironmentSpaceError(f"the snapshot has no {name!r}")
        given = snapshot[name]
        if (given.dtype, given.shape) != (mine.dtype, mine.shape):
            raise EnvironmentSpaceError(
                f"{name} of the snapshot is {given.dtype} of shape {given.shape}; it must be "
                f"{mine.dtype} of shape {mine.shape}"
            )
    for name, mine in arrays.items():
        mine[:] = snapshot[name]
