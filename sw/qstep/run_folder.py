"""The folder of a run: one run at a time, and none replaces another without being told to."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from qstep.errors import FileFormatError, RunFolderError
from qstep.files import make_folder
from qstep.locks import is_linked, lock

__all__ = ["run_folder"]

_CHECKPOINT = "checkpoint.npz"
_LOCK = "lock"
_NAME_BYTES = 300


@contextlib.contextmanager
def run_folder(folder: Path, resume: bool, overwrite: bool) -> Iterator[Path]:
    """Make a folder for what a run writes, and keep other runs out of it until the end.

    A folder in which nothing was written is removed again.

    Parameters
    ----------
    folder : Path
    resume, overwrite : bool
        Whether that run is gone on with, or may be replaced.

    Yields
    ------
    Path
        Of the checkpoint: where that is, the folder holds a run.

    Raises
    ------
    RunFolderError
        Another process is at a run there, which the message names; or a run is there and not one of
        `resume` and `overwrite` says what is to become of it.
    FileFormatError
        The folder cannot be made or written.
    """
    if resume and overwrite:
        raise RunFolderError(
            "--resume goes on with a run and --overwrite replaces it; give one of them"
        )
    absent = [place for place in (folder, *folder.parents) if not place.exists()]
    make_folder(folder)
    try:
        with _locked(folder):
            file = folder / _CHECKPOINT
            if file.exists() and not (resume or overwrite):
                raise RunFolderError(
                    f"{folder}: holds a run already: go on with it by --resume, replace it by "
                    "--overwrite, or take another folder by --out"
                )
            yield file
    finally:
        with contextlib.suppress(OSError):  # it is not empty
            for place in absent:
                place.rmdir()


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which ends with the process, and is removed if it ends well."""
    path = folder / _LOCK
    try:
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
            free = lock(descriptor) is not False
            if free and is_linked(descriptor):
                break
            holder = os.read(descriptor, _NAME_BYTES).decode(errors="replace")
            os.close(descriptor)
            if not free:
                raise RunFolderError(
                    f"{folder}: {holder or 'another process'} is at a run there: wait for its end, "
                    "or take another folder by --out"
                )
        os.truncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()} of {socket.gethostname()}".encode())
    except OSError as cause:
        raise FileFormatError(f"{folder}: cannot be written: {cause.strerror or cause}") from cause
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # the folder may be gone
            path.unlink()
        os.close(descriptor)
