"""Pictures in files, in the format that the file's name says."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from qstep.errors import FileFormatError
from qstep.files import make_folder, write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["picture_format", "write_picture"]

_FORMATS = ("png", "svg", "pdf", "jpg")
_DPI = 150


def picture_format(path: Path) -> str:
    """Return the format of a picture of that name: what its suffix says, PNG without one.

    Raises
    ------
    FileFormatError
        The suffix is of no format that can be written.
    """
    name = path.suffix.removeprefix(".").lower() or _FORMATS[0]
    if name not in _FORMATS:
        known = ", ".join(f".{known}" for known in _FORMATS)
        raise FileFormatError(f"{path}: no picture ends with {path.suffix!r}; it may be {known}")
    return name


def write_picture(figure: Figure, path: Path) -> None:
    """Write a picture, whole or not at all, and make the folder for it.

    Raises
    ------
    FileFormatError
        It cannot be written there, or its suffix is of no format.
    """
    image = io.BytesIO()
    figure.savefig(image, dpi=_DPI, format=picture_format(path))
    make_folder(path.parent)
    write_atomically(path, image.getvalue())
