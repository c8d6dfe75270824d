"""Files that are written whole or not at all, and the folders for them."""

from __future__ import annotations

import os
from pathlib import Path

from qstep.errors import FileFormatError

__all__ = ["make_folder", "make_room", "write_atomically"]


def make_folder(path: Path) -> None:
    """Make a folder and those above it; one that exists is left as it is.

    Raises
    ------
    FileFormatError
        It cannot be made there.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise FileFormatError(f"{path}: cannot be made: {cause}") from cause


def make_room(path: Path) -> None:
    """Make the folder of a file that is written later, and refuse now what could not be written.

    Raises
    ------
    FileFormatError
        The folder cannot be made or is not to be written to, or the file itself is a folder.
    """
    make_folder(path.parent)
    if path.is_dir():
        raise FileFormatError(f"{path}: cannot be written: it is a folder")
    if not os.access(path.parent, os.W_OK):
        raise FileFormatError(f"{path}: cannot be written: its folder takes no files")


def write_atomically(path: str | Path, data: bytes) -> None:
    """Put a file in place so that a crash at any moment leaves the old one or the new one.

    Raises
    ------
    FileFormatError
        The file cannot be written there.
    """
    path = Path(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            with beside.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except OSError as cause:
        raise FileFormatError(f"{path}: cannot be written: {cause.strerror or cause}") from cause


def _sync_folder(folder: Path) -> None:
    """Make a rename outlive a power cut."""
    if os.name != "posix":  # elsewhere a folder cannot be opened, nor need it be
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
