"""Columns of data from anywhere: checked, copied, and closed to writers."""

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
    """Return one-dimensional arrays, all equally long.

    Parameters
    ----------
    given : mapping
        By name, as messages say it.
    empty : mapping
        The type of each where it is an empty list, whose content has none.
    error : type
        What is raised where one is not one-dimensional, or has another length.
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
    except ValueError as cause:  # lists in it are not equally long
        raise error(f"{name} is not one-dimensional: {cause}") from cause
    if array.ndim != 1:
        raise error(f"{name} has shape {array.shape}; it must be one-dimensional")
    return array


def integers(
    name: str, array: NDArray[Any], limit: int, error: type[QStepError]
) -> NDArray[np.int32]:
    """Return an own copy of integers that are all from 0 to `limit` - 1."""
    if array.dtype.kind not in "iu":
        raise error(f"{name} has dtype {array.dtype}; it must be integers")
    # Unsigned, a negative number is a large one: one pass finds both.
    unsigned = array.view(array.dtype.str.replace("i", "u"))
    if len(array) and unsigned.max() >= limit:
        where = int(np.flatnonzero(unsigned >= limit)[0])
        raise error(f"{name}[{where}] is {array[where]}; it must be from 0 to {limit - 1}")
    return np.array(array, dtype=np.int32, order="C")


def booleans(name: str, array: NDArray[Any], error: type[QStepError]) -> NDArray[np.bool_]:
    """Return an own copy of booleans, each of which is the byte 0 or 1."""
    if array.dtype != np.bool_:
        raise error(f"{name} has dtype {array.dtype}; it must be bool")
    return np.not_equal(array.view(np.uint8), 0, order="C")


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view of an array through which nobody can write, nor make it writable again."""
    array.setflags(write=False)
    return array.view()
