"""Frames: a header, a payload and a CRC-32, encoded with COBS (``docs/link.md``, "Frame")."""

from __future__ import annotations

import zlib
from typing import NamedTuple

from cobs import cobs

from qstep.spec.protocol import CRC, HEADER, OVERHEAD

__all__ = ["DELIMITER", "Frame", "FrameReader", "decode_frame", "encode_frame"]

DELIMITER = b"\0"
"""The byte that ends a frame. A delimiter without data is an empty frame, which is ignored."""


class Frame(NamedTuple):
    """A frame that has passed its CRC and length checks; `type` may be unknown."""

    type: int
    seq: int
    epoch: int
    payload: bytes


def encode_frame(kind: int, seq: int, epoch: int, payload: bytes | memoryview) -> bytes:
    """Return the encoded bytes of a frame, including the delimiter."""
    body = HEADER.pack(kind, seq, epoch, len(payload)) + payload
    return bytes(cobs.encode(body + CRC.pack(zlib.crc32(body)))) + DELIMITER


def decode_frame(data: bytes) -> Frame | None:
    """Return the frame in `data` (without its delimiter), or None if it is damaged."""
    try:
        body = cobs.decode(data)
    except cobs.DecodeError:
        return None
    if len(body) < OVERHEAD:
        return None
    kind, seq, epoch, length = HEADER.unpack(body)
    (crc,) = CRC.unpack(body[-CRC.size :])
    if length != len(body) - OVERHEAD or crc != zlib.crc32(memoryview(body)[: -CRC.size]):
        return None
    return Frame(kind, seq, epoch, body[HEADER.size : -CRC.size])


class FrameReader:
    """Splits a byte stream into frames; damaged frames are dropped and counted in `errors`.

    A frame of more than `limit` decoded bytes, including header and CRC, is dropped. The buffer never
    exceeds the encoded size of the largest frame.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._longest = limit + limit // 254 + 1
        self._rest = b""
        self._overlong = False
        self.errors = 0

    def forget(self) -> None:
        """Drop any partial frame after a timeout, so that the next byte starts a new frame."""
        self._rest, self._overlong = b"", False

    def feed(self, data: bytes) -> list[Frame]:
        """Process received bytes, in chunks of any size, and return the completed frames."""
        *whole, rest = (self._rest + data).split(DELIMITER)
        frames = []
        for part in whole:
            overlong, self._overlong = self._overlong, False
            if not part and not overlong:
                continue
            frame = None if overlong else decode_frame(part)
            if frame is None or OVERHEAD + len(frame.payload) > self._limit:
                self.errors += 1
            else:
                frames.append(frame)
        if self._overlong or len(rest) > self._longest:
            self._overlong, rest = True, b""
        self._rest = rest
        return frames
