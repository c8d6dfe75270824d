"""Metrics of a run: numbers that are reported during learning, and two writers for them.

A writer is any callable that takes a step and numbers by name (:class:`Metrics`); a function or a lambda
around a list's ``append`` works too. A *step* counts the steps of all environments
together or, on the device, the steps per agent.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from qstep._io import extras
from qstep._io.files import write_atomically, written
from qstep.errors import FileFormatError

__all__ = ["CsvMetrics", "Metrics", "TensorBoardMetrics", "write_metrics"]


_COLUMNS = ("step", "name", "value")


class Metrics(Protocol):
    """The callable that receives the metrics of a run."""

    def __call__(self, step: int, values: Mapping[str, float], /) -> object:
        """Receive numbers by name after `step` steps; `step` never decreases during a run."""


class CsvMetrics:
    """Writes a table with the columns ``step``, ``name`` and ``value``, one row per number.

    Each row is written immediately; a NaN becomes an empty value. With `after`, an existing file is
    continued after that step: later rows are dropped, because a resumed run repeats them.

    Raises FileFormatError if the file cannot be written, or if a file to continue is not a metrics file.
    """

    def __init__(self, path: Path, after: int | None = None) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            kept = "" if after is None else _rows_until(after, path)
            if kept:
                write_atomically(path, kept.encode())
            self._file = path.open("a" if kept else "w", encoding="utf-8", newline="", buffering=1)
            written.append(path)
            self._rows = csv.writer(self._file, lineterminator="\n")
            if not kept:
                self._rows.writerow(_COLUMNS)
        except OSError as cause:
            raise FileFormatError(f"{path}: metrics cannot be written: {cause}") from cause

    def __call__(self, step: int, values: Mapping[str, float], /) -> None:
        """Write one row per number."""
        for name, value in values.items():
            self._rows.writerow((step, name, "" if math.isnan(value) else repr(float(value))))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _rows_until(last: int, path: Path) -> str:
    """Return the header and the rows up to step `last`; empty if the file is absent or empty."""
    if not path.exists():
        return ""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines.pop()  # a killed run wrote part of a row
    if lines and lines[0].rstrip("\n") != ",".join(_COLUMNS):
        raise FileFormatError(
            f"{path}: is not a table of metrics: it begins with {lines[0].strip()!r}"
        )
    kept = lines[:1]
    for line in lines[1:]:
        step = line.partition(",")[0]
        if not step.isdecimal():
            raise FileFormatError(f"{path}: line {len(kept) + 1} does not begin with a step")
        if int(step) > last:
            break
        kept.append(line)
    return "".join(kept)


class TensorBoardMetrics:
    """Writes scalars for TensorBoard to a new file in a folder; a NaN is omitted.

    Raises ToolMissingError without TensorBoard, and FileFormatError if the folder cannot be written.
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
        """Write buffered scalars and close the file."""
        self._writer.close()


@contextmanager
def write_metrics(target: Path | None, after: int | None = None) -> Iterator[Metrics | None]:
    """Yield a writer to a ``.csv`` file or to a TensorBoard folder; None if `target` is None.

    `after` is as for :class:`CsvMetrics`. If writing fails later, for example because the disk is full,
    the run continues without metrics, and the error is raised at the end of the context.

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
    writer = CsvMetrics(target, after) if is_file else TensorBoardMetrics(target)
    failures: list[OSError] = []

    def write(step: int, values: Mapping[str, float], /) -> None:
        if not failures:
            try:
                writer(step, values)
            except OSError as failure:
                failures.append(failure)

    try:
        yield write
    finally:
        try:
            writer.close()
        except OSError as failure:
            failures.append(failure)
    if failures:
        raise FileFormatError(f"{target}: metrics are incomplete: {failures[0]}")
