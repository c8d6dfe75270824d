"""The folder of a run: one run at a time, and no run replaces another unless told to."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from qstep._io.files import is_linked, lock, make_folder
from qstep.errors import FileFormatError, RunFolderError

__all__ = ["run_folder"]

_CHECKPOINT = "checkpoint.npz"
_LOCK = "lock"
_NAME_BYTES = 300


@contextlib.contextmanager
def run_folder(folder: Path, resume: bool, overwrite: bool) -> Iterator[Path]:
    """Create the folder of a run, and keep other runs out of it until the end.

    A folder that stays empty is removed again.

    Parameters
    ----------
    folder : Path
    resume, overwrite : bool
        Whether an existing run is resumed, or may be replaced.

    Yields
    ------
    Path
        The checkpoint: if that file exists, the folder holds a run.

    Raises
    ------
    RunFolderError
        Another process, which the message names, is running there; or the folder holds a run and
        neither `resume` nor `overwrite`, or both, are given.
    FileFormatError
        The folder cannot be created or written.
    """
    if resume and overwrite:
        raise RunFolderError(
            "--resume continues a run and --overwrite replaces it; give one of them"
        )
    absent = [place for place in (folder, *folder.parents) if not place.exists()]
    make_folder(folder)
    try:
        with _locked(folder):
            file = folder / _CHECKPOINT
            if file.exists() and not (resume or overwrite):
                raise RunFolderError(
                    f"{folder} already contains a run; use --resume to continue it, --overwrite to "
                    "replace it, or --out to choose another folder"
                )
            yield file
    finally:
        with contextlib.suppress(OSError):  # it is not empty
            for place in absent:
                place.rmdir()


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which ends with the process; after success the lock file is removed."""
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
                    f"{folder}: {holder or 'another process'} is at a run there; wait for its end, or "
                    "use --out to choose another folder"
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
