"""Fuzzes how the driver cuts a stream into frames, against the definition in ``docs/link.md``."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

from tb.fuzz.pieces import Bytes, pieces
from tb.planted import plant_python

from qstep.link import frames as module
from qstep.link.frames import Frame
from qstep.protocol import OVERHEAD

__all__ = ["FAULTS", "prepared"]

LIMIT = 64
"""Largest frame: short, so that frames that are too long are short as well."""


def _one_input(data: bytes) -> None:
    """Feed a stream in pieces of some size; frames and errors must be those of the definition."""
    source = Bytes(data)
    size, stream = 1 + source.number(), b""
    for seq, piece in enumerate(pieces(source)):
        stream += piece.frame(seq, 0x12345678)
    reader = module.FrameReader(LIMIT)
    found = [
        frame for at in range(0, len(stream), size) for frame in reader.feed(stream[at : at + size])
    ]
    expected = [_defined(part) for part in stream.split(b"\0")[:-1] if part]
    assert found == [frame for frame in expected if frame is not None]
    assert reader.errors == expected.count(None)


def _defined(part: bytes) -> Frame | None:
    """Return the frame that is sent as `part`, or None if it must be dropped."""
    body, at = b"", 0
    while at < len(part):
        code = part[at]
        if at + code > len(part):
            return None
        body += part[at + 1 : at + code]
        at += code
        if code < 255 and at < len(part):
            body += b"\0"
    if not OVERHEAD <= len(body) <= LIMIT:
        return None
    kind, seq, epoch, length = (
        int.from_bytes(body[a:b], "little") for a, b in ((0, 1), (1, 3), (3, 7), (7, 9))
    )
    payload, crc = body[9:-4], body[-4:]
    if length != len(payload) or zlib.crc32(body[:-4]).to_bytes(4, "little") != crc:
        return None
    return Frame(kind, seq, epoch, payload)


def prepared() -> tuple[Callable[[bytes], None], None]:
    """Return what tries one input; it needs no counts."""
    return _one_input, None


@contextmanager
def _planted(old: str, new: str) -> Iterator[None]:
    with patch.object(module, "FrameReader", plant_python(module, old, new).FrameReader):
        yield


FAULTS: dict[str, Callable[[], object]] = {
    "the length is not compared": lambda: _planted("length != len(body) - OVERHEAD or ", ""),
    "an overlong frame is forgotten when it ends": lambda: _planted(
        "if not part and not overlong:", "if not part:"
    ),
    "a frame that is too long passes": lambda: _planted(
        " or OVERHEAD + len(frame.payload) > self._limit", ""
    ),
}
