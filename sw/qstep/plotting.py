"""Pictures in files, in the format given by the file's name."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from qstep.errors import DrawingError, FileFormatError, QStepError
from qstep.files import make_folder, write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "Draw",
    "WritePictures",
    "image",
    "picture_format",
    "write_images",
    "write_picture",
    "write_pictures",
]

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


def image(draw: Draw, format_: str) -> bytes | str:
    """Return the file of a picture, or why it cannot be drawn."""
    file = io.BytesIO()
    # The best compression would save a fifth of the file for a fifth of the picture's time.
    options: dict[str, Any] = {"pil_kwargs": {"compress_level": 1}} if format_ == "png" else {}
    try:
        draw().savefig(file, dpi=_DPI, format=format_, **options)
    except Exception as cause:  # whatever it is, it must not cost the results
        return f"{type(cause).__name__}: {cause}"
    return file.getvalue()


def write_images(images: Mapping[Path, bytes | str]) -> None:
    """Write what :func:`image` returned; an old picture of other results does not stay.

    Errors are those of :func:`write_pictures`.
    """
    failures = []
    for path, data in images.items():
        try:
            if isinstance(data, str):
                if path.is_file():
                    path.unlink()
                raise DrawingError(f"{path} cannot be drawn: {data}")
            make_folder(path.parent)
            write_atomically(path, data)
        except (OSError, QStepError) as failure:
            failures.append(str(failure))
    if failures:
        raise DrawingError("; ".join(failures))


def write_picture(figure: Figure, path: Path) -> None:
    """Write a figure, as :func:`write_pictures` does."""
    write_pictures({path: lambda: figure})


def write_pictures(pictures: Mapping[Path, Draw]) -> None:
    """Draw pictures and write each completely or not at all, and create its folder.

    Raises
    ------
    DrawingError
        Pictures cannot be drawn or written; the message names them. The others are written.
    FileFormatError
        The suffix of a name belongs to no format.
    """
    formats = {path: picture_format(path) for path in pictures}
    write_images({path: image(draw, formats[path]) for path, draw in pictures.items()})
