"""Checkpoints, and the run folders that contain them.

A checkpoint is one file with the complete state that is needed to resume a run.

The file is an ordinary ``.npz`` without pickles; its comment is the SHA-256 of everything before it, so
a truncated or modified file is rejected. Writing is atomic: after a crash, either the old or the new
file exists.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import zipfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep._io.files import locked, make_folder, write_atomically
from qstep._io.npz import decoded
from qstep.errors import CheckpointError, FileFormatError, RunFolderError

__all__ = [
    "Checkpoint",
    "check_identity",
    "check_parts",
    "read_checkpoint",
    "run_folder",
    "save_checkpoint",
    "whole",
]

_KIND = "qstep checkpoint 3"
_DIGEST_BYTES = 64
_HEAD = "head"
_MOST_NAMED = 5
"""Maximum number of differences listed in an error message."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a run between steps.

    Attributes
    ----------
    head : dict
        Plain values: counters, generator states, seconds.
    arrays : dict of str to ndarray
        Arrays by name; the name ``head`` is reserved.
    """

    head: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def save_checkpoint(path: str | Path, checkpoint: Checkpoint, identity: dict[str, Any]) -> None:
    """Write a checkpoint atomically.

    Parameters
    ----------
    path : str or Path
        The file, replaced if it exists; its folder must exist.
    checkpoint : Checkpoint
    identity : dict of plain values
        Description of the run; :func:`check_identity` rejects the file for any other run.

    Raises
    ------
    FileFormatError
        The file cannot be written; an earlier file is untouched.
    """
    head = json.dumps({"kind": _KIND, "identity": identity, "head": checkpoint.head})
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{_HEAD: np.array(head)}, **checkpoint.arrays)
    with zipfile.ZipFile(buffer, "a") as file:
        file.comment = b"0" * _DIGEST_BYTES
    content = buffer.getvalue()[:-_DIGEST_BYTES]
    write_atomically(path, content + hashlib.sha256(content).hexdigest().encode())


def read_checkpoint(path: str | Path) -> tuple[dict[str, Any], Checkpoint]:
    """Read a checkpoint of any run; return (identity, checkpoint).

    Raises
    ------
    CheckpointError
        The file is missing or damaged, is not a checkpoint, or has another version.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as cause:
        raise CheckpointError(f"{path}: cannot be read: {cause}") from cause
    content, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    if hashlib.sha256(content).hexdigest().encode() != digest:
        raise CheckpointError(
            f"{path}: damaged, or not a checkpoint; its SHA-256 does not match its {len(data)} bytes"
        )
    # A correct digest does not make the content valid.
    with whole(f"{path}: not a checkpoint, or a checkpoint of another version"):
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            # Uncompressed members cannot expand beyond the size of the file.
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in file.infolist()):
                raise ValueError("a part is compressed")
            arrays = {
                name.removesuffix(".npy"): decoded(file.read(name)) for name in file.namelist()
            }
        # Encode first: NumPy also creates strings with invalid code points, which encoding rejects.
        head = json.loads(str(arrays.pop(_HEAD)).encode())
        if head["kind"] == _KIND and not all(
            isinstance(head[name], dict) for name in ("identity", "head")
        ):
            raise TypeError("identity or head is not a dictionary")
    if head["kind"] != _KIND:
        raise CheckpointError(f"{path}: is a {head['kind']!r}; this version reads {_KIND!r}")
    return head["identity"], Checkpoint(head["head"], arrays)


def check_identity(path: str | Path, there: dict[str, Any], identity: dict[str, Any]) -> None:
    """Raise CheckpointError if a checkpoint's identity, `there`, differs from `identity`.

    The message lists the first differing fields with both values in full.
    """
    here = json.loads(json.dumps(identity))  # tuples become lists, as in the file
    differing = [
        f"{name} is {old!r} there and {new!r} here"
        for name, old, new in _differences("", there, here)
    ]
    if differing:
        more = len(differing) - _MOST_NAMED
        tail = [f"{more} more differ"] if more > 0 else []
        raise CheckpointError(
            f"{path}: belongs to another run: {'; '.join(differing[:_MOST_NAMED] + tail)}"
        )


def _differences(name: str, there: Any, here: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the differing parts of two trees, each named by its path from the root."""
    prefix = f"{name}." if name else ""
    if isinstance(there, dict) and isinstance(here, dict):
        for key in [*here, *(key for key in there if key not in here)]:
            yield from _differences(f"{prefix}{key}", there.get(key), here.get(key))
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for key, (old, new) in enumerate(zip(there, here, strict=True)):
            yield from _differences(f"{prefix}{key}", old, new)
    elif there != here:
        yield name, there, here


def check_parts(
    there: Mapping[str, Any], here: Mapping[str, Any], any_length: Collection[str] = ()
) -> None:
    """Check a checkpoint's head or arrays against those of a valid checkpoint.

    Parameters
    ----------
    there : mapping
        Parts of the checkpoint; extra parts are allowed.
    here : mapping
        Parts of the valid checkpoint.
    any_length : collection of str
        Names of arrays that may have any number of rows.

    Raises
    ------
    CheckpointError
        A part is missing or has the wrong type or shape; the message names it.
    """
    for name, part in here.items():
        if name not in there:
            raise CheckpointError(f"the checkpoint has no {name!r}")
        found, wanted = (_what(it, name in any_length) for it in (there[name], part))
        if found != wanted:
            raise CheckpointError(f"{name} of the checkpoint is {found}; it must be {wanted}")
        if isinstance(part, dict):
            check_parts(there[name], part)


@contextlib.contextmanager
def whole(wrong: str, *passed: type[Exception]) -> Iterator[None]:
    """Raise CheckpointError, with `wrong` and the reason, if reading a checkpoint's parts fails.

    A part can be malformed in any way, so any exception counts as a failure. Only exceptions of the
    types in `passed` propagate unchanged.
    """
    try:
        yield
    except passed:
        raise
    except Exception as cause:
        raise CheckpointError(f"{wrong} ({type(cause).__name__}: {cause})") from cause


def _what(part: Any, any_length: bool) -> str:
    if not isinstance(part, np.ndarray):
        return type(part).__name__
    shape = [str(size) for size in part.shape]
    if any_length:
        shape[:1] = ["n"]
    return f"{part.dtype} of shape [{', '.join(shape)}]"


@contextlib.contextmanager
def run_folder(folder: Path, resume: bool, overwrite: bool) -> Iterator[Path]:
    """Create a run's folder, and lock it against other runs until the context ends.

    A new folder is removed if it stays empty.

    Parameters
    ----------
    folder : Path
    resume, overwrite : bool
        Whether to resume an existing run, and whether to replace it.

    Yields
    ------
    Path
        Path of the checkpoint.

    Raises
    ------
    RunFolderError
        Another process, identified in the message, is using the folder; the folder contains a run or a
        result of :meth:`Result.save`, and neither `resume` nor `overwrite` is set; or both are set.
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
                    f"{folder}: {holder} is using this folder; wait until it ends, or use "
                    "--out to choose another folder"
                ) from holder
            except OSError as cause:
                raise FileFormatError(
                    f"{folder}: cannot be written: {cause.strerror or cause}"
                ) from cause
            file = folder / "checkpoint.npz"
            written = file.exists() or (folder / "report.json").exists()
            if written and not (resume or overwrite):
                raise RunFolderError(
                    f"{folder} already contains a run; use --resume to continue it, --overwrite to "
                    "replace it, or --out to choose another folder"
                )
            yield file
    finally:
        with contextlib.suppress(OSError):  # it is not empty
            for place in absent:
                place.rmdir()
