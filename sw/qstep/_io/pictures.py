"""Picture files, in the format given by the suffix of the file name."""

from __future__ import annotations

import gc
import io
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from qstep._io.files import make_folder, write_atomically
from qstep.errors import DrawingError, FileFormatError, QStepError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "Draw",
    "WritePictures",
    "drawing",
    "image",
    "picture_format",
    "write_images",
    "write_pictures",
]

_FORMATS = ("png", "svg", "pdf", "jpg")
_DPI = 150

Draw: TypeAlias = Callable[[], "Figure"]
"""A function that draws a picture."""

WritePictures: TypeAlias = Callable[[Mapping[Path, Draw]], None]
"""A function that draws and writes pictures, such as :func:`write_pictures`."""


def picture_format(path: Path) -> str:
    """Return the picture format for a path's suffix, or PNG if it has none.

    Raises
    ------
    FileFormatError
        The suffix is not a supported format.
    """
    name = path.suffix.removeprefix(".").lower() or _FORMATS[0]
    if name not in _FORMATS:
        known = ", ".join(f".{known}" for known in _FORMATS)
        raise FileFormatError(f"{path}: {path.suffix!r} is not a picture format; use {known}")
    return name


def image(draw: Draw, format_: str) -> bytes | str:
    """Return the bytes of a picture file, or the reason why it cannot be drawn."""
    file = io.BytesIO()
    # The best compression would make the file a fifth smaller, but take up a fifth of the drawing time.
    options: dict[str, Any] = {"pil_kwargs": {"compress_level": 1}} if format_ == "png" else {}
    try:
        draw().savefig(file, dpi=_DPI, format=format_, **options)
    except Exception as cause:  # a drawing error must not lose the results
        return f"{type(cause).__name__}: {cause}"
    return file.getvalue()


def write_images(images: Mapping[Path, bytes | str]) -> None:
    """Write the results of :func:`image`; delete an old picture if its new version cannot be drawn.

    Raises DrawingError as :func:`write_pictures` does.
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


def write_pictures(pictures: Mapping[Path, Draw]) -> None:
    """Draw pictures and write each one atomically; create their folders.

    Raises
    ------
    DrawingError
        Some pictures cannot be drawn or written. The message lists them, and the others are written.
    FileFormatError
        A suffix is not a supported format.
    """
    formats = {path: picture_format(path) for path in pictures}
    write_images({path: image(draw, formats[path]) for path, draw in pictures.items()})


@contextmanager
def drawing() -> Iterator[WritePictures]:
    """Start a process that loads Matplotlib; yield a function that writes pictures, to be called once.

    Call it inside the context. Every drawing function is sent to the process, so it must be a
    `functools.partial` of a module-level function. No process is started if Matplotlib is already
    loaded.

    Raises
    ------
    DrawingError
        A picture cannot be drawn or written, or the process failed; all other pictures are written.
    """
    if "matplotlib" in sys.modules:
        yield write_pictures
        return
    # In a separate process group, because Ctrl-C is handled here. The process ends with the context, or
    # when this process ends, which closes its stdin.
    with subprocess.Popen(
        [sys.executable, "-P", "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0 if os.name == "posix" else None,
    ) as process:

        def write(pictures: Mapping[Path, Draw]) -> None:
            jobs = [(picture_format(path), draw) for path, draw in pictures.items()]
            images, said = process.communicate(pickle.dumps(jobs))
            if process.returncode == 0:
                drawn = pickle.loads(images)
            else:
                reason = said.decode(errors="replace").strip().rpartition("\n")[2]
                why = f"the drawing process ended with status {process.returncode} {reason}"
                drawn = [why.rstrip()] * len(jobs)
            write_images(dict(zip(pictures, drawn, strict=True)))

        try:
            yield write
        finally:
            process.kill()


def _serve() -> None:
    """Draw the pictures requested on stdin, and write them to stdout."""
    import matplotlib.backends.backend_agg
    import matplotlib.figure  # noqa: F401

    gc.freeze()  # as at the end of a command; otherwise, Python collects all objects at exit
    asked = sys.stdin.buffer.read()
    if asked:  # empty if the command has ended
        images = [image(draw, format_) for format_, draw in pickle.loads(asked)]
        sys.stdout.buffer.write(pickle.dumps(images))


if __name__ == "__main__":
    _serve()
