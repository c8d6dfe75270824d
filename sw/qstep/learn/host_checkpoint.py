"""The state of a run in which the host acts: its episodes, and checkpoints to resume from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qstep._io.checkpoint import Checkpoint, check_parts, whole
from qstep.learn.evaluate import Evaluation
from qstep.spec.config import Config, checked_table
from qstep.spec.random import NoiseState

__all__ = ["PENDING_TYPES", "Columns", "Episode", "TableCheckpoint", "episode_columns"]

Columns: TypeAlias = tuple[NDArray[Any], ...]
"""Transitions: state, action, reward, next state and terminated, of equal length."""

PENDING_TYPES = (np.int32, np.int32, np.float64, np.int32, np.bool_)
_EPISODE_TYPES = (np.int64, np.float64, np.float64, np.int64, np.bool_, np.float64)
"""Types of the columns in a file."""

_ACTOR = "actor_"


@dataclass(frozen=True, slots=True)
class Episode:
    """One training episode.

    `number` counts from 1, `total` is the undiscounted return, `length` is in steps, and `success` is
    the result of :func:`qstep.learn.evaluate.is_success`.
    """

    number: int
    epsilon: float
    total: float
    length: int
    terminated: bool
    success: bool | None


@dataclass(frozen=True, slots=True)
class TableCheckpoint:
    """The state of a run between episodes of a single environment, or between steps of several.

    `table` (raw, shape (S, A)) and `noise` are as last read from the device. The batches in `pending`
    have not been sent to the device yet. `generators` are the states of the PCG64 generators for acting
    and for evaluation; `actor` is the state of the environments, empty if they are reseeded for every
    episode. `history` is the list of the running learner itself, so that a checkpoint is cheap; only its
    first `episode` entries belong to this checkpoint.
    """

    table: NDArray[np.int32]
    noise: NoiseState
    generators: tuple[dict[str, Any], ...]
    pending: tuple[Columns, ...] = ()
    actor: dict[str, NDArray[Any]] = field(default_factory=dict)
    episode: int = 0
    evaluations: tuple[Evaluation, ...] = ()
    history: Sequence[Episode] = ()

    @property
    def episodes(self) -> Sequence[Episode]:
        """The finished episodes."""
        return self.history[: self.episode]

    def packed(self) -> Checkpoint:
        """Return the checkpoint as it is stored in a file."""
        head = {
            "noise": asdict(self.noise),
            "generators": self.generators,
            "evaluations": [asdict(evaluation) for evaluation in self.evaluations],
        }
        pending = map(np.concatenate, zip(*self.pending, strict=True))
        arrays = {
            "table": self.table,
            **{_ACTOR + name: array for name, array in self.actor.items()},
            **_named("pending", _typed(pending, PENDING_TYPES)),
            **_named("episodes", episode_columns(self.episodes).values()),
        }
        return Checkpoint(head, arrays)

    @classmethod
    def unpacked(cls, checkpoint: Checkpoint, config: Config) -> TableCheckpoint:
        """Rebuild a checkpoint from the result of :meth:`packed`; its table must fit `config`.

        Raises CheckpointError if a part is missing or wrong.
        """
        head, arrays = checkpoint.head, checkpoint.arrays
        with whole("the checkpoint does not hold a run of qstep train"):
            pending = _columns(arrays, "pending", PENDING_TYPES)
            columns = _columns(arrays, "episodes", _EPISODE_TYPES)
            rows = zip(*(column.tolist() for column in columns), strict=True)
            history = [_episode(*row) for row in rows]
            if [episode.number for episode in history] != list(range(1, len(history) + 1)):
                raise ValueError("its episodes are not numbered from 1")
            acting, evaluating = head["generators"]
            for state in (acting, evaluating):
                np.random.PCG64().state = state
            return cls(
                table=checked_table(config, arrays["table"]),
                noise=NoiseState(**head["noise"]),
                generators=(acting, evaluating),
                pending=(pending,) if len(pending[0]) else (),
                actor={
                    name.removeprefix(_ACTOR): array
                    for name, array in arrays.items()
                    if name.startswith(_ACTOR)
                },
                episode=len(history),
                evaluations=tuple(Evaluation(**entry) for entry in head["evaluations"]),
                history=history,
            )


def _episode(*row: Any) -> Episode:
    """Return an episode from its row of numbers, in which NaN means an unknown success."""
    success = None if math.isnan(row[-1]) else bool(row[-1])
    return replace(Episode(*row), success=success)


def _typed(columns: Iterable[Any], types: Sequence[type]) -> Columns:
    """Convert columns to the file's types; if there are none, return empty columns."""
    filled = list(columns) or [()] * len(types)
    return tuple(np.array(column, dtype) for column, dtype in zip(filled, types, strict=True))


def _named(prefix: str, columns: Iterable[NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {f"{prefix}_{k}": column for k, column in enumerate(columns)}


def _columns(arrays: dict[str, NDArray[Any]], prefix: str, types: Sequence[type]) -> Columns:
    """Check and return the columns that :func:`_named` stored under `prefix`."""
    wanted = _named(prefix, _typed((), types))
    check_parts(arrays, wanted, any_length=wanted)
    columns = tuple(arrays[name] for name in wanted)
    if len(set(map(len, columns))) > 1:
        raise ValueError(f"columns of {prefix} differ in length")
    return columns


def episode_columns(episodes: Sequence[Episode]) -> dict[str, NDArray[Any]]:
    """Return the columns of the history; ``success`` is NaN if it is not defined."""
    names = ("number", "epsilon", "return", "length", "terminated", "success")
    rows = map(attrgetter(*Episode.__slots__), episodes)
    return dict(zip(names, _typed(zip(*rows, strict=True), _EPISODE_TYPES), strict=True))
