"""Folders for results: made and checked before the work, and removed again if it fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from qstep._io.files import make_room

__all__ = ["room_for"]


@contextmanager
def room_for(*files: Path | None) -> Iterator[None]:
    """Make the folders of files that are written later; after an error, remove those that are empty.

    Raises
    ------
    FileFormatError
        A file cannot be written there; see :func:`qstep._io.files.make_room`.
    """
    wanted = [file for file in files if file is not None]
    absent = {folder for file in wanted for folder in file.parents if not folder.exists()}
    try:
        for file in wanted:
            make_room(file)
        yield
    except BaseException:
        for folder in sorted(absent, key=lambda folder: len(folder.parts), reverse=True):
            with suppress(OSError):  # it is not empty
                folder.rmdir()
        raise
