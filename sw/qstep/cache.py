"""Built files, kept between runs.

An entry is one file named ``KEY-CHECKSUM.suffix``: whoever finds it can tell whether it is whole, and
because it appears by one rename, two processes that build the same thing at once do no harm.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import platformdirs

from qstep.errors import QStepError

__all__ = ["fetch", "folder"]


def folder() -> Path:
    """Return the cache folder: the environment variable QSTEP_CACHE, else the user's own."""
    chosen = os.environ.get("QSTEP_CACHE")
    return Path(chosen) if chosen else platformdirs.user_cache_path("qstep")


def fetch(key: str, suffix: str, make: Callable[[Path], Path]) -> Path:
    """Return the file kept under `key`, made first if it is not there or damaged.

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
        The cache folder cannot be written.
    """
    place = folder()
    try:
        place.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(dir=place, prefix="build-")
    except OSError as cause:
        raise QStepError(
            f"cache folder {place} cannot be written; set QSTEP_CACHE: {cause}"
        ) from cause
    with scratch as name:
        for entry in place.glob(f"{key}-*{suffix}"):
            if entry.name == _name(key, suffix, entry):
                return entry
            print(f"qstep: {entry} is damaged, building it again", file=sys.stderr, flush=True)
            entry.unlink(missing_ok=True)
        made = make(Path(name))
        entry = place / _name(key, suffix, made)
        os.replace(made, entry)
        return entry


def _name(key: str, suffix: str, path: Path) -> str:
    return f"{key}-{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}{suffix}"
