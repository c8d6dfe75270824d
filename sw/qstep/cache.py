"""Built files, kept between runs.

An entry is one file named ``KEY-CHECKSUM.suffix``: whoever finds it can tell whether it is whole. Some
are shared objects that will be loaded, and a checksum says nothing of who made them: neither an entry
nor the folder may be anything that another user can write.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path, PosixPath
from typing import Any

import platformdirs

from qstep.errors import QStepError
from qstep.locks import lock

__all__ = ["Kept", "fetch", "find", "folder", "prepare"]

_LOCK = "lock"
_SCRATCH = "build-"
_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class Kept(PosixPath):
    """A file of the cache; pickled for another machine, it takes its content to the cache there."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (self.name, self.read_bytes())


def folder() -> Path:
    """Return the cache folder: the environment variable QSTEP_CACHE, else the user's own."""
    chosen = os.environ.get("QSTEP_CACHE")
    return Path(chosen) if chosen else platformdirs.user_cache_path("qstep")


def prepare() -> Path:
    """Return the cache folder, made if it is absent, for this user alone.

    Raises
    ------
    QStepError
        It cannot be made, is another user's, or others may write it.
    """
    place = folder()
    with _failures_named(place):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = place.stat()
    if not _is_private(status):
        raise QStepError(
            f"cache folder {place} is another user's, or others may write it: what is loaded from it "
            "could be theirs; take their permission away (chmod go-w), or set QSTEP_CACHE"
        )
    return place


def fetch(key: str, suffix: str, make: Callable[[Path], Path]) -> Kept:
    """Return the file kept under `key`, made first if it is not there or damaged.

    A cache that cannot be written serves the entries that it has.

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
        The cache folder cannot be written, is another user's, or others may write it.
    """
    place = prepare()
    found, damaged = _look(place, key, suffix)
    if found is not None:
        return Kept(found)
    for entry in damaged:
        why = "is damaged, or others may write it"
        print(f"qstep: {entry} {why}; building it again", file=sys.stderr, flush=True)
    with _scratch(place) as scratch:
        made = make(scratch)
        made.chmod(made.stat().st_mode & ~_BY_OTHERS)
        return Kept(_keep(place, key, suffix, made))


def find(key: str, suffix: str) -> Kept | None:
    """Return the file kept under `key`, if it is there and whole; errors as for :func:`fetch`."""
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
    """Return a whole entry of a key, if there is one, and what else has its name."""
    damaged: list[Path] = []
    for entry in place.glob(f"{key}-*{suffix}"):
        content = _content(entry)
        if content is not None and entry.name == _name(key, suffix, content):
            return entry, damaged
        damaged.append(entry)
    return None, damaged


def _keep(place: Path, key: str, suffix: str, made: Path) -> Path:
    """Move a file into the cache, unless another process was faster, and remove what is damaged.

    Looking and removing are one step to others, so nobody removes what another one has just returned.
    """
    with _locked(place):
        found, damaged = _look(place, key, suffix)
        if found is not None:
            return found
        for entry in damaged:
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        return made.rename(place / _name(key, suffix, made.read_bytes()))


def _content(entry: Path) -> bytes | None:
    """Return what an entry holds; None if it is no file of ours, a link or a pipe for example."""
    with contextlib.suppress(OSError):
        descriptor = os.open(entry, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode) and _is_private(status):
                return file.read()
    return None


def _is_private(status: os.stat_result) -> bool:
    """Whether nobody but this user, and the administrator, may write a file or into a folder."""
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & _BY_OTHERS


@contextlib.contextmanager
def _scratch(place: Path) -> Iterator[Path]:
    """Make an empty folder for a build, once those of builds that were killed are removed."""
    with contextlib.ExitStack() as held:
        with _locked(place):
            for left in place.glob(f"{_SCRATCH}*"):
                with open(left / _LOCK, "ab") as file:
                    if lock(file.fileno()):
                        shutil.rmtree(left)
            scratch = Path(tempfile.mkdtemp(dir=place, prefix=_SCRATCH))
            lock(held.enter_context(open(scratch / _LOCK, "ab")).fileno())
            held.callback(_remove, place, scratch)
        made = scratch / "made"
        made.mkdir()
        yield made


def _remove(place: Path, scratch: Path) -> None:
    with _locked(place):
        shutil.rmtree(scratch)


@contextlib.contextmanager
def _locked(place: Path) -> Iterator[None]:
    """Keep other processes from changing the cache."""
    with _failures_named(place), open(place / _LOCK, "ab") as file:
        lock(file.fileno(), wait=True)
        yield


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
