"""Transitions: checked arrays of (state, action, reward, next state, terminated), and their files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qstep._io.npz import load_arrays
from qstep.errors import TransitionError
from qstep.mdp.rows import booleans, check_lengths, column, frozen, integers
from qstep.spec.checks import assign
from qstep.spec.config import Config, TableType, checked_config
from qstep.spec.fixed import QFormat

__all__ = ["FIELDS", "Transitions", "checked_transitions"]

FIELDS = ("state", "action", "reward", "next_state", "terminated")
"""Names of the arrays in a transitions file."""

_COLUMNS = ("state", "action", "reward_raw", "next_state", "terminated")

_BLOCK = 1 << 16
"""Number of rewards quantised at a time: half a megabyte of float64."""


def _quantised(format: QFormat, reward: NDArray[Any]) -> NDArray[np.int32]:
    """Quantise block by block, so that intermediate results stay in the cache."""
    if len(reward) <= _BLOCK:
        return format.quantise(reward)
    raw = np.empty(len(reward), np.int32)
    try:
        for first in range(0, len(reward), _BLOCK):
            part = slice(first, first + _BLOCK)
            raw[part] = format.quantise(reward[part])
    except TransitionError:
        format.quantise(reward)  # raises with the index in the whole array, not in the block
        raise  # pragma: no cover: the line before raises
    return raw


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Transitions:
    """Immutable transitions that are legal for the tables of one configuration.

    They are created only by :meth:`from_arrays` and :meth:`load`. All arrays are one-dimensional,
    contiguous, of equal length and read-only, and share no memory with the given arrays.

    Attributes
    ----------
    table_type : TableType
        Rows, columns and number format of the tables to which the transitions can be applied.
    state, action, next_state : ndarray of int32
        Row and column to update, and the row whose maximum enters the target.
    reward_raw : ndarray of int32
        Rewards in the raw units of the format.
    terminated : ndarray of bool
        True if the next state has no value. A *truncated* episode is not terminated: its last
        transition bootstraps like any other.
    """

    table_type: TableType
    state: NDArray[np.int32]
    action: NDArray[np.int32]
    reward_raw: NDArray[np.int32]
    next_state: NDArray[np.int32]
    terminated: NDArray[np.bool_]

    def __init__(self, *given: object, **named: object) -> None:
        raise TransitionError(
            "transitions are made by Transitions.from_arrays(config, ...), which checks them, "
            "or by Transitions.load(path, config)"
        )

    @classmethod
    def _of(cls, table_type: TableType, *columns: NDArray[Any]) -> Transitions:
        """Make transitions from checked columns."""
        made = object.__new__(cls)
        named = zip(_COLUMNS, map(frozen, columns), strict=True)
        assign(made, table_type=table_type, **dict(named))
        return made

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
            Determines the legal ranges and the format of the rewards.
        state, action, next_state : array_like of int, shape (n,)
        reward : array_like of real, shape (n,)
            In real units, quantised as ``floor(x * 2^F + 0.5)``.
        terminated : array_like of bool, shape (n,)

        Raises
        ------
        ConfigError
            `config` is not a Config.
        TransitionError
            The arrays differ in length, have the wrong dtype or dimension, or contain NaN, a value out
            of range or a reward that does not fit. The message names the array, the index and the value.
        """
        checked_config(config)
        columns = (
            integers("state", state, config.states, TransitionError),
            integers("action", action, config.actions, TransitionError),
            _quantised(config.format, column("reward", reward, TransitionError)),
            integers("next_state", next_state, config.states, TransitionError),
            booleans("terminated", terminated, TransitionError),
        )
        check_lengths(dict(zip(FIELDS, columns, strict=True)), TransitionError)
        return cls._of(config.table_type, *columns)

    @classmethod
    def load(cls, path: str | Path, config: Config) -> Transitions:
        """Read a ``.npz`` file with the arrays of :data:`FIELDS` and check them.

        Raises
        ------
        FileFormatError
            The file is absent, not a ``.npz``, lacks an array, or unpacks to more than 2 GiB.
        TransitionError
            As for :meth:`from_arrays`.
        """
        return cls.from_arrays(config, **load_arrays(path, FIELDS))

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """The five arrays, in declaration order."""
        return (self.state, self.action, self.reward_raw, self.next_state, self.terminated)

    def __len__(self) -> int:
        return len(self.state)

    def __getitem__(self, part: slice) -> Transitions:
        """Return a slice of the transitions, as a view unless the slice has a stride.

        Raises
        ------
        TransitionError
            `part` is not a slice: a single transition is ``t[i : i + 1]``.
        """
        if not isinstance(part, slice):
            raise TransitionError(f"transitions are indexed by slices, not by {part!r}")
        columns = (np.ascontiguousarray(column[part]) for column in self.columns)
        return self._of(self.table_type, *columns)


def checked_transitions(config: Config, transitions: Transitions) -> Transitions:
    """Return transitions, or raise TransitionError if they are not for tables of `config`."""
    if not isinstance(transitions, Transitions):
        raise TransitionError(
            f"transitions are {type(transitions).__name__}; make them with Transitions.from_arrays"
        )
    if transitions.table_type != config.table_type:
        raise TransitionError(
            f"transitions are for a table of {transitions.table_type}; "
            f"this table is {config.table_type}"
        )
    return transitions
