"""The folder of a run: one run at a time, and a run replaces another only on request."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from qstep._io.files import locked, make_folder
from qstep.errors import FileFormatError, RunFolderError

__all__ = ["run_folder"]


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
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(locked(folder / "lock"))
            except BlockingIOError as holder:
                raise RunFolderError(
                    f"{folder}: {holder} is working on a run there; wait until it ends, or use "
                    "--out to choose another folder"
                ) from holder
            except OSError as cause:
                raise FileFormatError(
                    f"{folder}: cannot be written: {cause.strerror or cause}"
                ) from cause
            file = folder / "checkpoint.npz"
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
