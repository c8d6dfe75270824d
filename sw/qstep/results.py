"""The files of a finished run in its folder: what was learnt, the history, pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from qstep.files import write_atomically
from qstep.json_text import json_text
from qstep.plotting import Draw, WritePictures

__all__ = ["Results", "write_results"]

Writer: TypeAlias = Callable[[Path], object]
"""Writes a file."""


class Results(NamedTuple):
    """The results of a finished run.

    Attributes
    ----------
    learnt : dict of str to Writer
        Writers by file name, such as ``table.npz``.
    history : dict
        Plain values: every episode, every evaluation.
    pictures : dict of str to Draw or None
        Pictures by file name; None if there is nothing to draw.
    """

    learnt: Mapping[str, Writer]
    history: Mapping[str, Any]
    pictures: Mapping[str, Draw | None]


def write_results(folder: Path, results: Results, write_pictures: WritePictures) -> dict[str, Path]:
    """Write what was learnt, ``history.json`` and the pictures.

    Parameters
    ----------
    folder : Path
        Must exist; files with these names are replaced.
    results : Results
    write_pictures : WritePictures

    Returns
    -------
    dict of str to Path
        The files by their content: ``learning curve`` is ``learning_curve.png``.

    Raises
    ------
    FileFormatError
        A file cannot be written.
    """

    for name, write in results.learnt.items():
        write(folder / name)
    write_atomically(
        folder / "history.json", (json_text(results.history, indent=None) + "\n").encode()
    )
    drawn = {folder / name: draw for name, draw in results.pictures.items() if draw is not None}
    write_pictures(drawn)
    for name in results.pictures:
        if folder / name not in drawn:
            (folder / name).unlink(
                missing_ok=True
            )  # these results replace the run that it belongs to
    files = [*(folder / name for name in (*results.learnt, "history.json")), *drawn]
    return {file.stem.replace("_", " "): file for file in files}
