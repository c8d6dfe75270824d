"""Reading ``.npz`` files: damage and size are checked before any array is built."""

import io
import struct
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qstep._io import npz
from qstep._io.npz import MOST_BYTES, load_arrays
from qstep.errors import FileFormatError

NAMES = ("state", "reward", "terminated")


def arrays(count: int = 2) -> dict[str, Any]:
    """Return typical columns; the rewards do not compress."""
    return {
        "state": np.arange(count),
        "reward": np.random.default_rng(1).normal(0, 20, count),
        "terminated": np.arange(count) % 2 == 0,
    }


def test_arrays_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    given = {**arrays(), "table": np.asfortranarray(np.arange(6).reshape(2, 3)), "text": "ä"}
    np.savez_compressed(path, **given)
    found = load_arrays(path, tuple(given))
    for name, array in found.items():
        assert np.array_equal(array, given[name])
        assert array.dtype == np.asarray(given[name]).dtype


def compressed(path: Path) -> bytearray:
    """Write a compressed file that is mostly deflated data, and return its bytes."""
    np.savez_compressed(path, **arrays(200))
    return bytearray(path.read_bytes())


@pytest.mark.parametrize("flip", [0x01, 0x08, 0x40, 0xFF])
def test_a_compressed_file_with_a_wrong_byte_is_equal_or_refused(tmp_path: Path, flip: int) -> None:
    path = tmp_path / "t.npz"
    whole = compressed(path)
    right = load_arrays(path, NAMES)
    refused = equal = 0
    for at in range(flip % 5, len(whole), 5):  # different positions for each flip
        changed = whole.copy()
        changed[at] ^= flip
        path.write_bytes(changed)
        try:
            arrays = load_arrays(path, NAMES)
        except FileFormatError:
            refused += 1
        else:  # the byte may belong to a date or a permission
            equal += 1
            assert all(np.array_equal(arrays[name], right[name]) for name in NAMES), at
    assert refused > 200
    assert equal > 20


def damaged(field: str, offset: int, value: int) -> Callable[[Path], object]:
    """Return a function that writes a compressed file with a wrong byte."""

    def write(path: Path) -> None:
        changed = compressed(path)
        start = changed.index(b"PK\x01\x02")  # the first member's entry in the central directory
        if field == "data":  # after its header, name and extra
            start = 30 + sum(struct.unpack_from("<HH", changed, 26))
        changed[start + offset] = value
        path.write_bytes(changed)

    return write


def stored(content: bytes) -> Callable[[Path], object]:
    """Return a function that writes an archive with one member."""

    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("state.npy", content)

    return write


NO_NPZ = r"t\.npz: cannot be read as a \.npz file"
OBJECTS = {**arrays(), "state": np.array([0, None], dtype=object)}


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: np.savez(path, state=[0]),
         "lacks reward, terminated; it must contain state, reward, terminated"),
        (lambda path: path.write_bytes(b""), NO_NPZ),
        (lambda path: path.write_bytes(b"not a zip"), NO_NPZ),
        (lambda path: path.write_bytes(b"PK\x03\x04 cut off"), NO_NPZ),
        (lambda path: np.savez(path, **OBJECTS),
         "an array of objects would have to be unpickled"),
        (damaged("data", 0, 0x07),
         f"{NO_NPZ}: Error -3 while decompressing data: invalid block type"),
        (damaged("flags", 8, 0x01),
         f"{NO_NPZ}: File 'state.npy' is encrypted, password required"),
        (damaged("method", 10, 12), f"{NO_NPZ}: state.npy is compressed by method 12"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_npz_is_refused(
    tmp_path: Path, write: Callable[[Path], object], message: str
) -> None:
    write(tmp_path / "t.npz")
    with pytest.raises(FileFormatError, match=message):
        load_arrays(tmp_path / "t.npz", NAMES)


def member(array: np.ndarray, shape: tuple[int, ...], version: tuple[int, int] = (1, 0)) -> bytes:
    """Return a ``.npy`` file whose header claims this shape for an array."""
    header = {"descr": array.dtype.str, "fortran_order": False, "shape": shape}
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, header)
    whole = bytearray(file.getvalue() + array.tobytes())
    whole[6:8] = version
    return bytes(whole)


def claiming(path: Path, size: int) -> None:
    """Write a small file whose directory claims that its array unpacks to `size` bytes."""
    np.savez_compressed(path, state=np.zeros(100_000))
    changed = bytearray(path.read_bytes())
    entry = changed.index(b"PK\x01\x02")
    struct.pack_into("<I", changed, entry + 24, size)
    path.write_bytes(changed)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (stored(member(np.zeros(3), (10**12,))),
         "an array of 8000000000000 bytes is stored in 24 bytes"),
        (stored(member(np.zeros(3), (2,))), "an array of 16 bytes is stored in 24 bytes"),
        (stored(member(np.zeros(3), (-3,))), "an array of -24 bytes is stored in 24 bytes"),
        (stored(member(np.zeros(3), (3,), (3, 0))),
         r"version \(3, 0\) of the \.npy format is not supported"),
        (stored(b""), "EOF: reading magic string"),
        (partial(claiming, size=1000), r"Bad CRC-32 for file .state\.npy"),
        (partial(claiming, size=MOST_BYTES + 1), r"to 2147483649 bytes; .* at most 2147483648"),
    ],
    ids=["more", "less", "negative", "version", "empty", "claim", "limit"],
)  # fmt: skip
def test_an_array_is_as_long_as_it_says(
    tmp_path: Path, write: Callable[[Path], object], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "t.npz")
    if "at most" in message:
        monkeypatch.setattr(npz, "_unpacked", lambda *_: pytest.fail("unpacked"))
    with pytest.raises(FileFormatError, match=message):
        load_arrays(tmp_path / "t.npz", ("state",))
