"""Built files, kept between runs.

An entry is one file named ``KEY-CHECKSUM.suffix``, so any reader can tell whether it is whole. Some
entries are shared objects that will be loaded, and a checksum does not say who made them. Therefore no
other user may be able to write an entry or the folder.
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


class Kept(type(Path())):  # type: ignore[misc] # the class of this system's paths
    """A file of the cache; pickled for another machine, it carries its content to the cache there."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (self.name, self.read_bytes())


def folder() -> Path:
    """Return the cache folder: the environment variable QSTEP_CACHE, or the user's default."""
    chosen = os.environ.get("QSTEP_CACHE")
    return Path(chosen) if chosen else platformdirs.user_cache_path("qstep")


def prepare() -> Path:
    """Return the cache folder, created for this user alone if it does not exist.

    Raises
    ------
    QStepError
        It cannot be created, belongs to another user, or others may write to it.
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
    """Return the file kept under `key`, made first if it is absent or damaged.

    One process makes it, and others wait for it. A read-only cache still serves its entries.

    Parameters
    ----------
    key : str
        Hexadecimal digest of everything that the file depends on.
    suffix : str
        Ending of the file's name, with its dot.
    make : callable
        Called with an empty folder that is removed afterwards; returns the file that it made there.

    Raises
    ------
    QStepError
        The cache folder cannot be written, belongs to another user, or others may write to it; or the
        entry is to be loaded, and the file system is mounted ``noexec``.
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
            why = "is damaged, or others may write it"
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
    """Return the shared object of an entry, loaded.

    Raises
    ------
    QStepError
        It cannot be loaded.
    """
    try:
        return ctypes.CDLL(str(entry))
    except OSError as cause:
        raise QStepError(
            f"the cache cannot be used; set QSTEP_CACHE to another folder: {cause}"
        ) from cause


def may_execute(place: Path) -> bool:
    """Whether the file system of a folder is mounted so that code may be loaded from it."""
    return os.name != "posix" or not os.statvfs(place).f_flag & getattr(os, "ST_NOEXEC", 0)


@cache
def lend() -> None:
    """Give the tools that this process starts a folder for caches of their own.

    That is the user's, as usual; where it cannot be written, QStep's; otherwise one that is removed when
    this process ends.
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
    """Return the file kept under `key` if it is present and whole; errors as for :func:`fetch`."""
    found, _ = _look(prepare(), key, suffix)
    return None if found is None else Kept(found)


def _received(name: str, content: bytes) -> Kept:
    """Put a file of another machine's cache into this one's."""

    def make(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    stem, dot, suffix = name.partition(".")
    return fetch(stem.partition("-")[0], dot + suffix, make)


def _look(place: Path, key: str, suffix: str) -> tuple[Path | None, list[Path]]:
    """Return a whole entry of a key, if there is one, and the other files with its name."""
    damaged: list[Path] = []
    for entry in place.glob(f"{key}-*{suffix}"):
        content = _content(entry)
        if content is not None and entry.name == _name(key, suffix, content):
            return entry, damaged
        damaged.append(entry)
    return None, damaged


def _content(entry: Path) -> bytes | None:
    """Return the content of an entry; None if it is not a regular file of ours."""
    with contextlib.suppress(OSError):
        descriptor = os.open(entry, os.O_RDONLY | UNFOLLOWED)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode) and _is_private(status):
                return file.read()
    return None


def _is_private(status: os.stat_result) -> bool:
    """Whether only this user and the administrator may write to a file or folder."""
    if (
        os.name != "posix"
    ):  # pragma: no cover: a user's folders are private there, and modes say nothing
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
