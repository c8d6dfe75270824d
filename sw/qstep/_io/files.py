"""Atomically written files, file locks and folders."""

from __future__ import annotations

import codecs
import contextlib
import json
import math
import os
import re
import secrets
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from filelock import lock_descriptor

from qstep.errors import FileFormatError

__all__ = [
    "UNFOLLOWED",
    "json_text",
    "locked",
    "make_folder",
    "make_room",
    "read_text",
    "write_atomically",
    "written",
]

UNFOLLOWED = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags to open a file without following a link or waiting for a pipe; Windows has neither flag."""

written: list[Path] = []
"""Files that this process has written; an interrupted command lists them."""

_NAME_BYTES = 300


def make_folder(path: Path) -> None:
    """Create a folder and its parents; leave an existing one unchanged.

    Raises
    ------
    FileFormatError
        The folder cannot be created.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise FileFormatError(f"{path}: cannot be created: {cause}") from cause


def make_room(path: Path) -> None:
    """Create the folder of a file to be written later; raise an error now if it cannot be written.

    Raises
    ------
    FileFormatError
        The folder cannot be created or is not writable, or `path` is itself a folder.
    """
    make_folder(path.parent)
    try:
        mode = _mode(path)
    except OSError as cause:
        raise FileFormatError(f"{path}: cannot be written: {cause.strerror or cause}") from cause
    if mode is not None and stat.S_ISDIR(mode):
        raise FileFormatError(f"{path}: cannot be written: it is a folder")
    if mode is not None and not stat.S_ISREG(mode):
        return  # a device or a pipe does not need a writable folder
    if not os.access(path.parent, os.W_OK):
        raise FileFormatError(f"{path}: cannot be written: its folder is not writable")


def read_text(path: str | Path, most: int) -> str:
    """Read a short text file: UTF-8, or UTF-16 with a byte order mark, as Windows programs may write.

    Raises
    ------
    OSError, ValueError
        The file cannot be read, is not text, or has more than `most` bytes.
    """
    with open(Path(path), "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"it has more than {most} bytes")
    is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if is_utf16 else "utf-8-sig")


def write_atomically(path: str | Path, data: bytes) -> None:
    """Write a file so that a crash at any moment leaves either the old or the new one.

    A symbolic link is kept and its target is replaced. Devices, pipes and sockets are written directly.
    Temporary files that killed processes left while writing the same file are removed.

    Raises
    ------
    FileFormatError
        The file cannot be written.
    """
    try:
        path = Path(path)
        mode = _mode(path)
        if mode is None or stat.S_ISREG(mode):
            _replace(Path(os.path.realpath(path)), 0o666 if mode is None else mode, data)
        else:
            path.write_bytes(data)
        written.append(path)
    except (OSError, TypeError, ValueError) as cause:
        why = getattr(cause, "strerror", None) or cause
        raise FileFormatError(f"{path}: cannot be written: {why}") from cause


@contextlib.contextmanager
def locked(path: Path, wait: bool = False) -> Iterator[bool]:
    """Create and lock a file, which is removed at the end; killing the process releases the lock.

    Parameters
    ----------
    path : Path
        The lock file; while locked, it contains the ID and host of this process.
    wait : bool
        Whether to wait until the lock is free.

    Yields
    ------
    bool
        False if the file system does not support locks, so that other processes may run concurrently.

    Raises
    ------
    BlockingIOError
        Another process, identified in the message, holds the lock, and `wait` is false.
    OSError
        The file cannot be created.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | UNFOLLOWED, 0o644)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            free = _lock(descriptor, wait)
            if free is False:
                holder = file.read(_NAME_BYTES).decode(errors="replace")
                raise BlockingIOError(holder or "another process")
            if _is_linked(descriptor):
                file.truncate()
                file.write(f"process {os.getpid()} of {socket.gethostname()}".encode())
                try:
                    yield free is True
                finally:
                    with contextlib.suppress(OSError):  # its folder may be gone
                        path.unlink()
                return


def _lock(descriptor: int, wait: bool = False) -> bool | None:
    """Lock an open file until it is closed; return whether it was free, or None if locking failed."""
    try:
        return lock_descriptor(descriptor, blocking=wait)
    except OSError:
        return None


def _is_linked(descriptor: int) -> bool:
    """Return whether an open file still exists in its folder; another process may have removed it."""
    return os.fstat(descriptor).st_nlink > 0


def _mode(path: Path) -> int | None:
    """Return the type and permissions of a path's target, or None if it does not exist."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _replace(path: Path, mode: int, data: bytes) -> None:
    """Create or replace a regular file by renaming a temporary file in its folder."""
    _remove_left_behind(path)
    beside, descriptor = _open_beside(path, stat.S_IMODE(mode))
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _open_beside(path: Path, mode: int) -> tuple[Path, int]:
    """Create and lock a temporary file in a file's folder, under an unpredictable name."""
    while True:
        beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        if _lock(descriptor) is not False and _is_linked(descriptor):
            return beside, descriptor
        os.close(descriptor)


def _remove_left_behind(path: Path) -> None:
    """Remove unlocked files that :func:`_open_beside` created in processes that were later killed."""
    ours = re.compile(re.escape(f".{path.name}.") + "[0-9a-f]{16}")
    for name in filter(ours.fullmatch, os.listdir(path.parent)):
        beside = path.with_name(name)
        # Skip files that no longer exist or belong to another user, and links.
        with contextlib.suppress(OSError):
            descriptor = os.open(beside, os.O_WRONLY | UNFOLLOWED)
            try:
                if _lock(descriptor):
                    beside.unlink()
            finally:
                os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Flush a folder to disk, so that a rename survives a power failure."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def json_text(value: Any, indent: int | None = 2) -> str:
    """Return plain values as JSON text; a float that is NaN or infinite becomes ``null``.

    Examples
    --------
    >>> json_text({"mean": float("nan"), "low": -1.5}, indent=None)
    '{"mean": null, "low": -1.5}'
    """
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(own) for own in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
