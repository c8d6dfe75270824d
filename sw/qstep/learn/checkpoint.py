"""Checkpoints: all that the rest of a run depends on, in one file that is whole or refused.

The file is an ordinary ``.npz`` (nothing pickled), sealed: see `qstep.seal`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep.errors import CheckpointError
from qstep.learn.evaluate import Evaluation
from qstep.noise import NoiseState
from qstep.seal import check_head, read_sealed, write_sealed

__all__ = ["Episode", "Snapshot", "load_checkpoint", "save_checkpoint"]

_KIND = "qstep checkpoint 1"

_PENDING_TYPES = (np.int32, np.int32, np.float64, np.int32, np.bool_)
_EPISODE_TYPES = (np.int64, np.float64, np.float64, np.int64, np.bool_, np.bool_)


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
    success : bool
        See :func:`qstep.learn.evaluate.is_success`.
    """

    number: int
    epsilon: float
    total: float
    length: int
    terminated: bool
    success: bool


@dataclass(frozen=True, slots=True)
class Snapshot:
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
        The first `episode` entries belong to this snapshot; a running learner appends to the same
        list, which is what makes taking a snapshot cheap. Read :attr:`episodes` instead.
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


def save_checkpoint(path: str | Path, snapshot: Snapshot, identity: dict[str, Any]) -> None:
    """Write a snapshot, atomically.

    Parameters
    ----------
    path : str or Path
        Replaced if it exists; its folder must exist.
    snapshot : Snapshot
    identity : dict of plain values
        What the run is; :func:`load_checkpoint` refuses the file for any other.

    Raises
    ------
    FileFormatError
        The file cannot be written; what was there before is untouched.
    """
    head = {
        "kind": _KIND,
        "identity": identity,
        "noise": asdict(snapshot.noise),
        "generators": snapshot.generators,
        "evaluations": [asdict(evaluation) for evaluation in snapshot.evaluations],
    }
    arrays = {
        "head": np.array(json.dumps(head)),
        "table": snapshot.table,
        **_columns("pending", snapshot.pending, _PENDING_TYPES),
        **_columns("episodes", [astuple(e) for e in snapshot.episodes], _EPISODE_TYPES),
    }
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    write_sealed(path, buffer.getvalue())


def load_checkpoint(path: str | Path, identity: dict[str, Any]) -> Snapshot:
    """Read a snapshot, all of it or nothing.

    Raises
    ------
    CheckpointError
        The file is absent, damaged or no such checkpoint; or it is of another run, and then the
        message names each field of `identity` that differs with both values.
    """
    with np.load(io.BytesIO(read_sealed(path)), allow_pickle=False) as archive:
        if "head" not in archive:
            raise CheckpointError(f"{path}: is no checkpoint of qstep train; it has no head.npy")
        head = json.loads(str(archive["head"]))
        check_head(path, head, _KIND, identity)
        history = [Episode(*row) for row in _rows(archive, "episodes", len(_EPISODE_TYPES))]
        return Snapshot(
            table=archive["table"],
            noise=NoiseState(**head["noise"]),
            generators=tuple(head["generators"]),
            pending=tuple(_rows(archive, "pending", len(_PENDING_TYPES))),
            episode=len(history),
            evaluations=tuple(Evaluation(**entry) for entry in head["evaluations"]),
            history=history,
        )


def _columns(
    prefix: str, rows: Sequence[tuple[Any, ...]], types: Sequence[type]
) -> dict[str, NDArray[Any]]:
    return {
        f"{prefix}_{k}": np.array([row[k] for row in rows], dtype) for k, dtype in enumerate(types)
    }


def _rows(archive: Any, prefix: str, columns: int) -> list[tuple[Any, ...]]:
    return list(zip(*(archive[f"{prefix}_{k}"].tolist() for k in range(columns)), strict=True))
