"""A cache of built files.

An entry is one file named ``KEY-CHECKSUM.suffix``, so any reader can tell whether it is intact. Some
entries are shared objects, which are loaded as code, and a checksum does not prove who built them.
Therefore, no other user may have write access to the folder or its entries.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs

from qstep._io.files import UNFOLLOWED, locked
from qstep.errors import QStepError

__all__ = ["Kept", "fetch", "find", "folder", "lend", "load", "may_execute", "prepare"]

_LOCK = ".lock"
_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class Kept(type(Path())):  # type: ignore[misc] # the platform's path class
    """A cached file; its pickle includes the content, so that another machine can cache it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (self.name, self.read_bytes())


def folder() -> Path:
    """Return the cache folder: the environment variable QSTEP_CACHE, or the user's default."""
    chosen = os.environ.get("QSTEP_CACHE")
    return Path(chosen) if chosen else platformdirs.user_cache_path("qstep")


def prepare() -> Path:
    """Return the cache folder; create it, private to this user, if it does not exist.

    Raises
    ------
    QStepError
        The folder cannot be created, belongs to another user, or is writable by others.
    """
    place = folder()
    with _failures_named(place):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = place.stat()
    if not _is_private(status):
        raise QStepError(
            f"cache folder {place} belongs to another user or is writable by others, so code loaded "
            "from it could be theirs; remove their permission (chmod go-w), or set QSTEP_CACHE"
        )
    return place


def fetch(key: str, suffix: str, make: Callable[[Path], Path]) -> Kept:
    """Return the file cached under `key`; build it first if it is absent or damaged.

    One process builds it while others wait. Existing entries can be used even if the cache is read-only.

    Parameters
    ----------
    key : str
        Hexadecimal digest of everything that the file depends on.
    suffix : str
        Suffix of the file name, including the dot.
    make : callable
        Function that builds the file in the empty folder passed to it, and returns the path of the file;
        the folder is removed afterwards.

    Raises
    ------
    QStepError
        The cache folder cannot be written, belongs to another user, or is writable by others; or the
        entry is a shared object and its file system is mounted ``noexec``.
    """
    found = find(key, suffix)
    if found is not None:
        return found
    place = folder()
    if suffix == ".so" and not may_execute(place):
        raise QStepError(
            f"cache folder {place} is on a file system that is mounted noexec, so no simulation can be "
            "loaded from it; set QSTEP_CACHE to another folder"
        )
    lend()
    with contextlib.ExitStack() as held:
        with _failures_named(place):
            _remove_left_behind(place)
            held.enter_context(locked(place / f"{key}{_LOCK}", wait=True))
            made, damaged = _look(place, key, suffix)
            if made is not None:
                return Kept(made)
            scratch = held.enter_context(
                tempfile.TemporaryDirectory(dir=place, prefix=f"build-{key}-")
            )
        for entry in damaged:
            why = "is damaged or writable by others"
            print(f"qstep: {entry} {why}; building it again", file=sys.stderr, flush=True)
        made = make(Path(scratch))
        with _failures_named(place):
            made.chmod(made.stat().st_mode & ~_BY_OTHERS)
            for entry in damaged:
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry)
                else:
                    entry.unlink()
            return Kept(made.rename(place / _name(key, suffix, made.read_bytes())))


def load(entry: Path) -> ctypes.CDLL:
    """Load the shared object of an entry.

    Raises
    ------
    QStepError
        The entry cannot be loaded.
    """
    try:
        return ctypes.CDLL(str(entry))
    except OSError as cause:
        raise QStepError(
            f"the cache cannot be used; set QSTEP_CACHE to another folder: {cause}"
        ) from cause


def may_execute(place: Path) -> bool:
    """Return whether code may be loaded from a folder, which must not be mounted ``noexec``."""
    return os.name != "posix" or not os.statvfs(place).f_flag & getattr(os, "ST_NOEXEC", 0)


@cache
def lend() -> None:
    """Set a writable cache folder for the tools that this process starts.

    This is the user's cache folder or, if that is not writable, QStep's cache folder. If neither is
    writable, it is a temporary folder, which is removed when this process ends.
    """
    usual = platformdirs.user_cache_path()
    with contextlib.suppress(OSError):
        usual.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=usual):
            return
    try:
        place = prepare().absolute()
    except QStepError:
        place = Path(tempfile.mkdtemp(prefix="qstep-"))
        atexit.register(shutil.rmtree, place, ignore_errors=True)
    os.environ["XDG_CACHE_HOME"] = str(place)


def find(key: str, suffix: str) -> Kept | None:
    """Return the intact file cached under `key`, or None; raise QStepError as :func:`prepare` does."""
    found, _ = _look(prepare(), key, suffix)
    return None if found is None else Kept(found)


def _received(name: str, content: bytes) -> Kept:
    """Copy a file from another machine's cache into this machine's cache."""

    def make(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    stem, dot, suffix = name.partition(".")
    return fetch(stem.partition("-")[0], dot + suffix, make)


def _look(place: Path, key: str, suffix: str) -> tuple[Path | None, list[Path]]:
    """Return an intact entry of a key, or None, and the damaged entries found before it."""
    damaged: list[Path] = []
    for entry in place.glob(f"{key}-*{suffix}"):
        content = _content(entry)
        if content is not None and entry.name == _name(key, suffix, content):
            return entry, damaged
        damaged.append(entry)
    return None, damaged


def _content(entry: Path) -> bytes | None:
    """Return the content of an entry, or None if it is not a private regular file."""
    with contextlib.suppress(OSError):
        descriptor = os.open(entry, os.O_RDONLY | UNFOLLOWED)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode) and _is_private(status):
                return file.read()
    return None


def _is_private(status: os.stat_result) -> bool:
    """Return whether only this user and the administrator may write to a file or folder."""
    if (
        os.name != "posix"
    ):  # pragma: no cover: user folders are private there, and modes mean nothing
        return True
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & _BY_OTHERS


def _remove_left_behind(place: Path) -> None:
    """Remove the locks and folders of builds that were killed."""
    for lock in place.glob(f"*{_LOCK}"):
        with contextlib.suppress(BlockingIOError), locked(lock) as alone:
            for left in place.glob(f"build-{lock.stem}-*") if alone else ():
                shutil.rmtree(left)


@contextlib.contextmanager
def _failures_named(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as cause:
        raise QStepError(
            f"cache folder {place} cannot be written; set QSTEP_CACHE: {cause}"
        ) from cause


def _name(key: str, suffix: str, content: bytes) -> str:
    return f"{key}-{hashlib.sha256(content).hexdigest()[:16]}{suffix}"
