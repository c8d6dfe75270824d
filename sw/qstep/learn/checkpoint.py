"""What a run of `qstep train` is made of: its episodes, and the point from which it goes on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep.checkpoint import Checkpoint
from qstep.config import Config
from qstep.devices.base import checked_table
from qstep.errors import CheckpointError
from qstep.learn.evaluate import Evaluation
from qstep.noise import NoiseState

__all__ = ["Episode", "TableCheckpoint"]

_PENDING_TYPES = (np.int32, np.int32, np.float64, np.int32, np.bool_)
_EPISODE_TYPES = (np.int64, np.float64, np.float64, np.int64, np.bool_, np.float64)


@dataclass(frozen=True, slots=True)
class Episode:
    """One training episode.

    Attributes
    ----------
    number : int
        Counted from 1.
    epsilon : float
        With which it explored.
    total : float
        Undiscounted return.
    length : int
        Steps.
    terminated : bool
        It terminated rather than was truncated.
    success : bool or None
        See :func:`qstep.learn.evaluate.is_success`.
    """

    number: int
    epsilon: float
    total: float
    length: int
    terminated: bool
    success: bool | None


@dataclass(frozen=True, slots=True)
class TableCheckpoint:
    """A run at the end of an episode.

    Attributes
    ----------
    table : ndarray of int32, shape (S, A)
        Raw values, as last read from the device.
    noise : NoiseState
        The device's rounding noise at that time.
    generators : tuple of dict
        States of the PCG64 generators for acting and for evaluation.
    pending : tuple of (state, action, reward, next state, terminated)
        Transitions that the device has not been sent yet.
    episode : int
        Training episodes that are done.
    evaluations : tuple of Evaluation
    history : sequence of Episode
        The first `episode` entries belong to this checkpoint; a running learner appends to the same
        list, which is what makes taking a checkpoint cheap. Read :attr:`episodes` instead.
    """

    table: NDArray[np.int32]
    noise: NoiseState
    generators: tuple[dict[str, Any], ...]
    pending: tuple[tuple[int, int, float, int, bool], ...] = ()
    episode: int = 0
    evaluations: tuple[Evaluation, ...] = ()
    history: Sequence[Episode] = ()

    @property
    def episodes(self) -> Sequence[Episode]:
        """The episodes that are done."""
        return self.history[: self.episode]

    def packed(self) -> Checkpoint:
        """Return it as a file takes it."""
        head = {
            "noise": asdict(self.noise),
            "generators": self.generators,
            "evaluations": [asdict(evaluation) for evaluation in self.evaluations],
        }
        arrays = {
            "table": self.table,
            **_columns("pending", self.pending, _PENDING_TYPES),
            **_columns("episodes", [astuple(e) for e in self.episodes], _EPISODE_TYPES),
        }
        return Checkpoint(head, arrays)

    @classmethod
    def unpacked(cls, checkpoint: Checkpoint, config: Config) -> TableCheckpoint:
        """Return what :meth:`packed` has packed.

        Raises
        ------
        CheckpointError
            A part is missing, or is not what it must be for a table of `config`.
        """
        head, arrays = checkpoint.head, checkpoint.arrays
        try:
            history = [_episode(*row) for row in _rows(arrays, "episodes", _EPISODE_TYPES)]
            if [episode.number for episode in history] != list(range(1, len(history) + 1)):
                raise ValueError("its episodes are not numbered from 1")
            acting, evaluating = head["generators"]
            for state in (acting, evaluating):
                np.random.PCG64().state = state
            return cls(
                table=checked_table(config, arrays["table"]),
                noise=NoiseState(**head["noise"]),
                generators=(acting, evaluating),
                pending=tuple(_rows(arrays, "pending", _PENDING_TYPES)),
                episode=len(history),
                evaluations=tuple(Evaluation(**entry) for entry in head["evaluations"]),
                history=history,
            )
        except Exception as cause:  # what a part may be instead has no end
            why = f"{type(cause).__name__}: {cause}"
            raise CheckpointError(
                f"the checkpoint does not hold a run of qstep train ({why})"
            ) from cause


def _episode(*row: Any) -> Episode:
    """Return an episode from its row of numbers, where NaN stands for a success that is not known."""
    success = None if math.isnan(row[-1]) else bool(row[-1])
    return replace(Episode(*row), success=success)


def _columns(
    prefix: str, rows: Sequence[tuple[Any, ...]], types: Sequence[type]
) -> dict[str, NDArray[Any]]:
    return {
        f"{prefix}_{k}": np.array([row[k] for row in rows], dtype) for k, dtype in enumerate(types)
    }


def _rows(
    arrays: dict[str, NDArray[Any]], prefix: str, types: Sequence[type]
) -> list[tuple[Any, ...]]:
    columns = [arrays[f"{prefix}_{k}"] for k in range(len(types))]
    for column, dtype in zip(columns, types, strict=True):
        if column.dtype != dtype or column.ndim != 1:
            raise TypeError(f"a column of {prefix} is {column.dtype} of shape {column.shape}")
    return list(zip(*(column.tolist() for column in columns), strict=True))
