"""Sealed files: a zip whose comment is the SHA-256 of all before it, whole or refused.

An ordinary zip reader opens them. A file that was cut short or changed anywhere is refused, and because
it is written beside its place and renamed, at every moment either the old or the new one is there.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

from qstep.errors import CheckpointError
from qstep.files import write_atomically

__all__ = ["check_head", "read_sealed", "write_sealed"]

_DIGEST_BYTES = 64


def write_sealed(path: str | Path, archive: bytes) -> None:
    """Seal a zip without a comment and put it in place.

    Raises
    ------
    FileFormatError
        The file cannot be written; what was there before is untouched.
    """
    buffer = io.BytesIO(archive)
    with zipfile.ZipFile(buffer, "a") as file:
        file.comment = b"0" * _DIGEST_BYTES
    content = buffer.getvalue()[:-_DIGEST_BYTES]
    write_atomically(path, content + hashlib.sha256(content).hexdigest().encode())


def read_sealed(path: str | Path) -> bytes:
    """Return the zip, once its seal is found whole.

    Raises
    ------
    CheckpointError
        The file is absent, damaged or not sealed.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as cause:
        raise CheckpointError(f"{path}: cannot be read: {cause}") from cause
    content, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    if hashlib.sha256(content).hexdigest().encode() != digest:
        raise CheckpointError(
            f"{path}: damaged or no checkpoint; its SHA-256 does not match its {len(data)} bytes"
        )
    return data


def check_head(path: str | Path, head: dict[str, Any], kind: str, here: dict[str, Any]) -> None:
    """Compare what a file says it is, and of which run, with what it should be.

    Parameters
    ----------
    path : str or Path
    head : dict of plain values
        What the file says: its ``kind`` and its ``identity``.
    kind : str
        The one that is read here.
    here : dict of plain values
        The identity of the run that goes on.

    Raises
    ------
    CheckpointError
        The kind is another one; or the identities differ, and then the message names each field with
        both values.
    """
    if head.get("kind") != kind:
        raise CheckpointError(f"{path}: is a {head.get('kind')!r}; this version reads {kind!r}")
    there = head["identity"]
    here = json.loads(json.dumps(here))  # tuples become lists, as they have in the file
    differing = [
        f"{name} is {there.get(name)!r} in it and {here.get(name)!r} here"
        for name in sorted({*there, *here})
        if there.get(name) != here.get(name)
    ]
    if differing:
        raise CheckpointError(f"{path}: is of another run: {'; '.join(differing)}")
