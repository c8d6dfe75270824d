"""The steps of agents, as a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from qstep._io.files import write_atomically
from qstep._io.npz import archived
from qstep.golden.agents_fast import Trace
from qstep.spec.agents import Algorithm
from qstep.spec.config import Config

__all__ = ["save_trace"]


def save_trace(path: str | Path, config: Config, lived: Sequence[Trace]) -> None:
    """Write the steps of a run, in the order of their application, as a ``.npz`` file.

    Its arrays have one length: ``agent``, ``state``, ``action``, ``reward`` (float64), ``next_state``,
    ``terminated``, ``truncated`` and ``explored``, and with Double Q-learning also ``table``.

    Raises
    ------
    FileFormatError
        The file cannot be written.
    """
    assert config.acting is not None
    columns = Trace(*(np.concatenate(parts) for parts in zip(*lived, strict=True)))._asdict()
    columns["reward"] = config.format.to_float(columns["reward"])
    if config.acting.algorithm is not Algorithm.DOUBLE_Q_LEARNING:
        del columns["table"]
    write_atomically(path, archived(columns))
