"""Pictures in files, in the format given by the file's name."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from qstep.errors import FileFormatError
from qstep.files import make_folder, write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Draw", "WritePictures", "image", "picture_format", "write_picture", "write_pictures"]

_FORMATS = ("png", "svg", "pdf", "jpg")
_DPI = 150

Draw: TypeAlias = Callable[[], "Figure"]
"""Draws a picture."""

WritePictures: TypeAlias = Callable[[Mapping[Path, Draw]], None]
"""Draws pictures and writes them: :func:`write_pictures`, or what :mod:`qstep.drawing` has for it."""


def picture_format(path: Path) -> str:
    """Return the format of a picture by the suffix of its name, PNG without one.

    Raises
    ------
    FileFormatError
        The suffix belongs to no format that can be written.
    """
    name = path.suffix.removeprefix(".").lower() or _FORMATS[0]
    if name not in _FORMATS:
        known = ", ".join(f".{known}" for known in _FORMATS)
        raise FileFormatError(f"{path}: no picture ends with {path.suffix!r}; it may be {known}")
    return name


def image(figure: Figure, format_: str) -> bytes:
    """Return the file of a picture."""
    file = io.BytesIO()
    # The best compression would save a fifth of the file for a fifth of the picture's time.
    options: dict[str, Any] = {"pil_kwargs": {"compress_level": 1}} if format_ == "png" else {}
    figure.savefig(file, dpi=_DPI, format=format_, **options)
    return file.getvalue()


def write_picture(figure: Figure, path: Path) -> None:
    """Write a picture completely or not at all, and create its folder.

    Raises
    ------
    FileFormatError
        The file cannot be written, or its suffix belongs to no format.
    """
    data = image(figure, picture_format(path))
    make_folder(path.parent)
    write_atomically(path, data)


def write_pictures(pictures: Mapping[Path, Draw]) -> None:
    """Draw pictures and write them, as :func:`write_picture` does."""
    for path, draw in pictures.items():
        write_picture(draw(), path)
