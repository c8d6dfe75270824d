"""Columns of data from any source: checked, copied and read-only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from qstep.errors import QStepError

__all__ = ["booleans", "columns", "frozen", "integers"]


def columns(
    given: Mapping[str, ArrayLike], empty: Mapping[str, DTypeLike], error: type[QStepError]
) -> dict[str, NDArray[Any]]:
    """Return one-dimensional arrays of equal length.

    Parameters
    ----------
    given : mapping
        The columns, by the names used in error messages.
    empty : mapping
        The type of each column if it is an empty list, which has no type of its own.
    error : type
        Raised if an array is not one-dimensional or has another length.
    """
    arrays = {name: _column(name, values, empty[name], error) for name, values in given.items()}
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) != 1:
        listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise error(f"arrays differ in length ({listed}); they must be equally long")
    return arrays


def _column(
    name: str, values: ArrayLike, dtype: DTypeLike, error: type[QStepError]
) -> NDArray[Any]:
    if isinstance(values, list | tuple) and not values:
        return np.empty(0, dtype)
    try:
        array = np.asarray(values)
    except ValueError as cause:  # its nested lists differ in length
        raise error(f"{name} is not one-dimensional: {cause}") from cause
    if array.ndim != 1:
        raise error(f"{name} has shape {array.shape}; it must be one-dimensional")
    return array


def integers(
    name: str, array: NDArray[Any], limit: int, error: type[QStepError]
) -> NDArray[np.int32]:
    """Return a copy of integers, all from 0 to `limit` - 1."""
    if array.dtype.kind not in "iu":
        raise error(f"{name} has dtype {array.dtype}; it must be integers")
    # As unsigned, a negative number becomes a large one, so one pass finds both.
    unsigned = array.view(array.dtype.str.replace("i", "u"))
    if len(array) and unsigned.max() >= limit:
        where = int(np.flatnonzero(unsigned >= limit)[0])
        raise error(f"{name}[{where}] is {array[where]}; it must be from 0 to {limit - 1}")
    return np.array(array, dtype=np.int32, order="C")


def booleans(name: str, array: NDArray[Any], error: type[QStepError]) -> NDArray[np.bool_]:
    """Return a copy of booleans, each stored as the byte 0 or 1."""
    if array.dtype != np.bool_:
        raise error(f"{name} has dtype {array.dtype}; it must be bool")
    return np.not_equal(array.view(np.uint8), 0, order="C")


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of an array that cannot be made writable again."""
    array.setflags(write=False)
    return array.view()
