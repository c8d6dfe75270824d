"""The files of a finished run in its folder: what was learnt, the history and, last, pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from qstep._io.files import write_atomically
from qstep._io.json_text import json_text
from qstep._io.pictures import Draw, WritePictures

__all__ = ["Results", "draw_results", "write_results"]


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


def write_results(folder: Path, results: Results) -> dict[str, Path]:
    """Write what was learnt and ``history.json``.

    Parameters
    ----------
    folder : Path
        Must exist; files with these names are replaced.
    results : Results

    Returns
    -------
    dict of str to Path
        The files by their content: ``learning curve`` is ``learning_curve.png``. The pictures are
        included, although :func:`draw_results` has yet to draw them.

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
    drawn = [name for name, draw in results.pictures.items() if draw is not None]
    for name in results.pictures.keys() - drawn:
        (folder / name).unlink(missing_ok=True)  # these results replace the run that it belongs to
    files = [folder / name for name in (*results.learnt, "history.json", *drawn)]
    return {file.stem.replace("_", " "): file for file in files}


def draw_results(folder: Path, results: Results, write_pictures: WritePictures) -> None:
    """Draw the pictures of a run whose results are written and told, so that a failure costs no more.

    Raises
    ------
    DrawingError
        A picture cannot be drawn or written; the message names it. The others are there.
    """
    write_pictures(
        {folder / name: draw for name, draw in results.pictures.items() if draw is not None}
    )
