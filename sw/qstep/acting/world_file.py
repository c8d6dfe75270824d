"""World files: the rows of a world as arrays of a ``.npz`` file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qstep.errors import WorldError
from qstep.npz import load_arrays

if TYPE_CHECKING:
    from qstep.acting.world import World

__all__ = ["OUTCOMES", "STARTS", "arrays_of_file", "file_arrays"]

OUTCOMES = ("state", "action", "weight", "next_state", "reward", "terminated")
STARTS = ("start_state", "start_weight")
_LIMIT = "max_episode_steps"
"""Names of the arrays; the last may be absent."""


def file_arrays(world: World) -> dict[str, NDArray[Any]]:
    """Return the arrays of a world's file, by name."""
    arrays = {name: getattr(world, name) for name in OUTCOMES + STARTS}
    return {**arrays, _LIMIT: np.array(world.max_episode_steps, np.int64)}


def arrays_of_file(path: str | Path) -> tuple[dict[str, Any], dict[str, Any], int]:
    """Return outcomes, start states and the limit of steps from a file.

    Raises
    ------
    FileFormatError
        As :meth:`~qstep.acting.world.World.from_file`.
    WorldError
        The limit is not a single integer.
    """
    arrays = load_arrays(path, OUTCOMES + STARTS, optional=(_LIMIT,))
    limit = arrays.pop(_LIMIT, np.array(0))
    if limit.ndim or limit.dtype.kind not in "iu":
        raise WorldError(
            f"{path}: {_LIMIT} has shape {limit.shape} and dtype {limit.dtype}; it must be one integer"
        )
    return {n: arrays[n] for n in OUTCOMES}, {n: arrays[n] for n in STARTS}, int(limit)
