"""Metrics of a run: what a learner reports while it learns, and two writers for it.

A writer is any callable that takes a step and numbers by name (:class:`Metrics`); a function or a lambda
around a list's ``append`` works too. A *step* is what the learner counts: steps of all environments
together, or on the device steps of each agent.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from qstep import extras
from qstep.errors import FileFormatError

__all__ = ["CsvMetrics", "Metrics", "TensorBoardMetrics", "write_metrics"]


class Metrics(Protocol):
    """The callable that a learner reports to."""

    def __call__(self, step: int, values: Mapping[str, float], /) -> object:
        """Take numbers by name after `step` steps; the count never falls during a run."""


class CsvMetrics:
    """Writes a table with the columns ``step``, ``name`` and ``value``, one row per number.

    Each row is written to the file at once. A NaN becomes an empty value.

    Parameters
    ----------
    path : Path
        The file; its folder is created if necessary.
    append : bool
        Append to an existing file; otherwise it is replaced.

    Raises
    ------
    FileFormatError
        The file cannot be written.
    """

    def __init__(self, path: Path, append: bool = False) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # A killed run may have left an empty file.
            goes_on = append and path.exists() and path.stat().st_size > 0
            self._file = path.open(
                "a" if goes_on else "w", encoding="utf-8", newline="", buffering=1
            )
        except OSError as cause:
            raise FileFormatError(f"{path}: metrics cannot be written: {cause}") from cause
        self._rows = csv.writer(self._file, lineterminator="\n")
        if not goes_on:
            self._rows.writerow(("step", "name", "value"))

    def __call__(self, step: int, values: Mapping[str, float], /) -> None:
        """Write one row per number."""
        for name, value in values.items():
            self._rows.writerow((step, name, "" if math.isnan(value) else repr(float(value))))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class TensorBoardMetrics:
    """Writes scalars that TensorBoard shows: ``tensorboard --logdir FOLDER``. A NaN is left out.

    Parameters
    ----------
    folder : Path
        The folder gets a new file; existing ones stay.

    Raises
    ------
    ToolMissingError
        TensorBoard is not installed: ``pip install 'qstep[tensorboard]'``.
    FileFormatError
        The folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        summary = extras.load("tensorboard.summary", "tensorboard")
        try:
            self._writer: Any = summary.Writer(str(folder))
        except OSError as cause:
            raise FileFormatError(f"{folder}: metrics cannot be written: {cause}") from cause

    def __call__(self, step: int, values: Mapping[str, float], /) -> None:
        """Write one scalar per number."""
        for name, value in values.items():
            if not math.isnan(value):
                self._writer.add_scalar(name, float(value), step)

    def close(self) -> None:
        """Write what is still buffered."""
        self._writer.close()


@contextmanager
def write_metrics(target: Path | None, append: bool = False) -> Iterator[Metrics | None]:
    """Yield a writer to a CSV file or to a folder for TensorBoard; None without a target.

    Parameters
    ----------
    target : Path or None
        A file if it ends in ``.csv``, otherwise a folder.
    append : bool
        Append to an existing file.

    Raises
    ------
    FileFormatError, ToolMissingError
        See :class:`CsvMetrics` and :class:`TensorBoardMetrics`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.csv"
    ...     with write_metrics(path) as metrics:
    ...         metrics(100, {"episode_return": -3.0})
    ...     print(path.read_text(), end="")
    step,name,value
    100,episode_return,-3.0
    """
    if target is None:
        yield None
        return
    is_file = target.suffix == ".csv"
    writer = CsvMetrics(target, append) if is_file else TensorBoardMetrics(target)
    try:
        yield writer
    finally:
        writer.close()
