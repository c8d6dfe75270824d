"""The files that a finished run leaves in its folder: what was learnt, the history, pictures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from qstep.files import write_atomically

__all__ = ["Results", "write_results"]

Writer: TypeAlias = Callable[[Path], object]
"""Writes a file, or returns False where there is nothing to write."""


class Results(NamedTuple):
    """What a finished run gives.

    Attributes
    ----------
    learnt : dict of str to Writer
        By the file's name, as ``table.npz``.
    history : dict
        Plain values: every episode, every evaluation.
    pictures : dict of str to Writer
        By the file's name.
    """

    learnt: Mapping[str, Writer]
    history: Mapping[str, Any]
    pictures: Mapping[str, Writer]


def write_results(folder: Path, results: Results) -> dict[str, Path]:
    """Write what was learnt, ``history.json`` and the pictures.

    Parameters
    ----------
    folder : Path
        Must exist; files of these names in it are replaced.
    results : Results

    Returns
    -------
    dict of str to Path
        The files by what they hold: ``learning curve`` is in ``learning_curve.png``.

    Raises
    ------
    FileFormatError
        A file cannot be written.
    """

    def write_history(path: Path) -> None:
        write_atomically(path, (json.dumps(results.history) + "\n").encode())

    files = {}
    writers = {**results.learnt, "history.json": write_history, **results.pictures}
    for name, write in writers.items():
        path = folder / name
        if write(path) is False:
            path.unlink(missing_ok=True)  # it is of a run that these results replace
        else:
            files[path.stem.replace("_", " ")] = path
    return files
