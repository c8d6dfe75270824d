"""Arrays in ``.npz`` files.

Equal arrays give identical files. Nothing is unpickled, or unpacked beyond a size limit.
"""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep.errors import FileFormatError

__all__ = ["MOST_BYTES", "archived", "decoded", "load_arrays"]

MOST_BYTES = 1 << 31
"""Maximum total size of a file's arrays in bytes, enough for 60 million transitions in NumPy's types."""

_PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def archived(arrays: dict[str, NDArray[Any]]) -> bytes:
    """Return the content of a ``.npz`` file, to which NumPy writes no timestamps."""
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def load_arrays(
    path: str | Path, names: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, NDArray[Any]]:
    """Return the arrays `names`, and any `optional` ones, of a ``.npz`` file; all are read-only.

    Raises
    ------
    FileFormatError
        The file is missing, damaged, pickled or not a ``.npz``, it lacks one of the arrays, or it would
        unpack to more than :data:`MOST_BYTES`, which is checked before unpacking.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = {entry.filename: entry for entry in archive.infolist()}
            missing = [name for name in names if f"{name}.npy" not in members]
            if missing:
                raise FileFormatError(
                    f"{path}: lacks {', '.join(missing)}; it must contain {', '.join(names)}"
                )
            there = (name for name in optional if f"{name}.npy" in members)
            wanted = {name: members[f"{name}.npy"] for name in (*names, *there)}
            size = sum(entry.file_size for entry in wanted.values())
            if size > MOST_BYTES:
                raise FileFormatError(
                    f"{path}: unpacks to {size} bytes; it must be at most {MOST_BYTES}"
                )
            return {name: decoded(_unpacked(archive, entry)) for name, entry in wanted.items()}
    except FileFormatError:
        raise
    except FileNotFoundError as cause:
        raise FileFormatError(f"{path}: no such file") from cause
    except Exception as cause:  # a damaged file raises any of a dozen undocumented exceptions
        why = str(cause) or type(cause).__name__
        raise FileFormatError(f"{path}: cannot be read as a .npz file: {why}") from cause


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Read a whole member, because zipfile does not verify the checksum of a partial read.

    At most the size stated in the file is read, so a member cannot unpack to more. Compression methods
    that NumPy does not use are rejected, because zipfile does not apply this limit to them.
    """
    if entry.compress_type not in _PLAIN:
        raise ValueError(f"{entry.filename} is compressed by method {entry.compress_type}")
    with archive.open(entry.filename) as member:
        return member.read(entry.file_size)


def decoded(member: bytes) -> NDArray[Any]:
    """Return the array of a ``.npy`` file, whose length must match its header."""
    file = io.BytesIO(member)
    version = np.lib.format.read_magic(file)
    if version not in _HEADER_READERS:
        raise ValueError(f"version {version} of the .npy format is not supported")
    shape, fortran_order, dtype = _HEADER_READERS[version](file)
    if dtype.hasobject:
        raise ValueError("an array of objects would have to be unpickled")
    start, size = file.tell(), math.prod(shape) * dtype.itemsize
    if len(member) != start + size:
        raise ValueError(f"an array of {size} bytes is stored in {len(member) - start} bytes")
    flat = np.frombuffer(member, dtype, offset=start)
    return flat.reshape(shape, order="F" if fortran_order else "C")
