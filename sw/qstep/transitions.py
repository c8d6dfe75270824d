"""Transitions: checked arrays of (state, action, reward, next state, terminated), and their file."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qstep.config import Config
from qstep.errors import FileFormatError, TransitionError
from qstep.fixed import QFormat

__all__ = ["FIELDS", "Transitions", "load_arrays"]

FIELDS = ("state", "action", "reward", "next_state", "terminated")
"""Names of the arrays in a transitions file."""

_BLOCK = 1 << 16
"""Rewards that are quantised at once: half a megabyte of float64."""


def _column(name: str, values: ArrayLike) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError as cause:  # lists in it are not equally long
        raise TransitionError(f"{name} is not one-dimensional: {cause}") from cause


def _integers(name: str, array: NDArray[Any], limit: int) -> NDArray[np.int32]:
    if array.dtype.kind not in "iu":
        raise TransitionError(f"{name} has dtype {array.dtype}; it must be integers")
    if len(array) and (array.min() < 0 or array.max() >= limit):
        where = int(np.flatnonzero((array < 0) | (array >= limit))[0])
        raise TransitionError(
            f"{name}[{where}] is {array[where]}; it must be from 0 to {limit - 1}"
        )
    return np.ascontiguousarray(array, dtype=np.int32)


def _quantised(format: QFormat, reward: NDArray[Any]) -> NDArray[np.int32]:
    """Quantise block by block, so that what is written on the way stays in the cache."""
    if len(reward) <= _BLOCK:
        return format.quantise(reward)
    raw = np.empty(len(reward), np.int32)
    try:
        for first in range(0, len(reward), _BLOCK):
            part = slice(first, first + _BLOCK)
            raw[part] = format.quantise(reward[part])
    except TransitionError:
        format.quantise(reward)  # its message counts from the first reward, not from the block's
        raise
    return raw


@dataclass(frozen=True, slots=True)
class Transitions:
    """Transitions that are known to be legal for one configuration.

    Make them with :meth:`from_arrays` or :meth:`load`; all arrays are one-dimensional, contiguous and
    equally long.

    Attributes
    ----------
    state, action, next_state : ndarray of int32
        Row and column that is updated, and the row whose maximum is the target.
    reward_raw : ndarray of int32
        Rewards in the raw units of the configuration's format.
    terminated : ndarray of bool
        True where the next state has no value. A *truncated* episode is not terminated: its last
        transition bootstraps as any other.
    """

    state: NDArray[np.int32]
    action: NDArray[np.int32]
    reward_raw: NDArray[np.int32]
    next_state: NDArray[np.int32]
    terminated: NDArray[np.bool_]

    @classmethod
    def from_arrays(
        cls,
        config: Config,
        state: ArrayLike,
        action: ArrayLike,
        reward: ArrayLike,
        next_state: ArrayLike,
        terminated: ArrayLike,
    ) -> Transitions:
        """Check arrays against a configuration and quantise the rewards.

        Parameters
        ----------
        config : Config
            Gives the legal ranges and the format of the rewards.
        state, action, next_state : array_like of int, shape (n,)
        reward : array_like of real, shape (n,)
            In real units, quantised as ``floor(x * 2^F + 0.5)``.
        terminated : array_like of bool, shape (n,)

        Raises
        ------
        TransitionError
            Unequal lengths, wrong dtype or dimension, NaN, a value out of range, a reward that does
            not fit; the message names the array, the index and the value.
        """
        given = dict(zip(FIELDS, (state, action, reward, next_state, terminated), strict=True))
        arrays = {name: _column(name, values) for name, values in given.items()}
        for name, array in arrays.items():
            if array.ndim != 1:
                raise TransitionError(f"{name} has shape {array.shape}; it must be one-dimensional")
        lengths = {name: len(array) for name, array in arrays.items()}
        if len(set(lengths.values())) != 1:
            listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise TransitionError(f"arrays differ in length ({listed}); they must be equally long")
        if arrays["terminated"].dtype != np.bool_:
            raise TransitionError(
                f"terminated has dtype {arrays['terminated'].dtype}; it must be bool"
            )
        return cls(
            state=_integers("state", arrays["state"], config.states),
            action=_integers("action", arrays["action"], config.actions),
            reward_raw=_quantised(config.format, arrays["reward"]),
            next_state=_integers("next_state", arrays["next_state"], config.states),
            terminated=np.ascontiguousarray(arrays["terminated"]),
        )

    @classmethod
    def load(cls, path: str | Path, config: Config) -> Transitions:
        """Read a ``.npz`` file of the arrays named in :data:`FIELDS` and check them.

        Raises
        ------
        FileFormatError
            The file is absent, not a ``.npz``, or lacks an array.
        TransitionError
            As for :meth:`from_arrays`.
        """
        return cls.from_arrays(config, **load_arrays(path, FIELDS))

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """The five arrays, in the order in which they are declared."""
        return (self.state, self.action, self.reward_raw, self.next_state, self.terminated)

    def __len__(self) -> int:
        return len(self.state)

    def __getitem__(self, part: slice) -> Transitions:
        """Return a view of some of the transitions."""
        return Transitions(*(column[part] for column in self.columns))


def load_arrays(path: str | Path, names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Read the named arrays of a ``.npz`` file; nothing is unpickled.

    Raises
    ------
    FileFormatError
        The file is absent, not a ``.npz``, damaged, pickled, or lacks one of the arrays.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            there = archive.namelist()
            missing = [name for name in names if f"{name}.npy" not in there]
            if missing:
                raise FileFormatError(
                    f"{path}: lacks {', '.join(missing)}; it must hold {', '.join(names)}"
                )
            return {name: _decoded(archive.read(f"{name}.npy")) for name in names}
    except FileFormatError:
        raise
    except Exception as cause:  # damage shows as any of a dozen kinds, and no library lists its own
        why = str(cause) or type(cause).__name__
        raise FileFormatError(f"{path}: cannot be read as a .npz file: {why}") from cause


def _decoded(member: bytes) -> NDArray[Any]:
    """Decode a member that was read whole: only then has zipfile compared its checksum."""
    array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(member), allow_pickle=False)
    return array
