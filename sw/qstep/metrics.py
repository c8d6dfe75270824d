"""Metrics of a run: what a learner tells while it learns, and two ways to write it down.

A writer is any callable of a step and of numbers by name (:class:`Metrics`), so a function of one's own,
or a list's ``append`` behind a lambda, will do as well. A *step* is counted as the learner counts: steps
of all environments together, or on the device of each agent.
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
    """What a learner calls."""

    def __call__(self, step: int, values: Mapping[str, float], /) -> object:
        """Take numbers by name as they are after so many steps, which never become fewer in a run."""


class CsvMetrics:
    """Writes a table of three columns, ``step``, ``name`` and ``value``: one row a number.

    Each row is in the file as soon as it is told. A NaN is written as an empty value.

    Parameters
    ----------
    path : Path
        Its folder is made if it does not exist.
    append : bool
        Go on with a file that is there; else it is replaced.

    Raises
    ------
    FileFormatError
        The file cannot be written.
    """

    def __init__(self, path: Path, append: bool = False) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            goes_on = append and path.exists()
            self._file = path.open(
                "a" if goes_on else "w", encoding="utf-8", newline="", buffering=1
            )
        except OSError as cause:
            raise FileFormatError(f"{path}: metrics cannot be written: {cause}") from cause
        self._rows = csv.writer(self._file, lineterminator="\n")
        if not goes_on:
            self._rows.writerow(("step", "name", "value"))

    def __call__(self, step: int, values: Mapping[str, float], /) -> None:
        """Write a row for each number."""
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
        Gets a file of its own; those that are there stay.

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
        """Write a scalar for each number."""
        for name, value in values.items():
            if not math.isnan(value):
                self._writer.add_scalar(name, float(value), step)

    def close(self) -> None:
        """Write what is still to be written."""
        self._writer.close()


@contextmanager
def write_metrics(target: Path | None, append: bool = False) -> Iterator[Metrics | None]:
    """Yield what writes to a CSV file, or to a folder for TensorBoard; None where there is no target.

    Parameters
    ----------
    target : Path or None
        A file if it ends in ``.csv``, else a folder.
    append : bool
        Go on with a file that is there.

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
