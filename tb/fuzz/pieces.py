"""Decodes fuzzing inputs into pieces of a stream, so that mutations get past the CRC check.

Random changes to a stream break the CRC of a frame, so nothing after the CRC check would ever be tested.
Therefore an input is a list of instructions that produce frames with a good CRC, damaged frames and bare
bytes.
"""

import zlib
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from cobs import cobs

from qstep.device.link.frames import DELIMITER, encode_frame
from qstep.spec.protocol import CRC, HEADER

__all__ = ["Bytes", "Kind", "Piece", "damaged", "mislengthed", "pieces"]


class Bytes:
    """Reads numbers and bytes from an input; past its end, numbers are 0 and byte strings are empty."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        """Number of bytes not yet read."""
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        """Return the next bytes, fewer at the end."""
        part = self._data[self._at : self._at + count]
        self._at += len(part)
        return part

    def number(self, size: int = 1) -> int:
        """Return the next number of `size` bytes, least significant first."""
        return int.from_bytes(self.take(size), "little")

    def string(self) -> bytes:
        """Return up to 255 bytes, whose number is given by the byte before them."""
        return self.take(self.number())


class Kind(IntEnum):
    """Kinds of pieces."""

    REQUEST = 0  # in sequence
    OUT_OF_SEQUENCE = 1
    OTHER_EPOCH = 2
    HELLO = 3
    DAMAGED = 4
    BARE = 5
    RESET = 6
    WRONG_LENGTH = 7


class Piece(NamedTuple):
    """A part of a stream.

    Parameters
    ----------
    kind : Kind
    number : int
        Value that is added to the sequence number or the length, or XORed with the epoch; or the bit to
        flip.
    type : int
        Type of the frame.
    payload : bytes
        Payload of the frame, or bare bytes.
    alone : bool
        Whether the following pieces wait until this one has been answered.
    """

    kind: Kind
    number: int
    type: int
    payload: bytes
    alone: bool

    def frame(self, seq: int, epoch: int) -> bytes:
        """Return the piece's bytes for a session's next sequence number and epoch; empty for a reset."""
        kind = self.kind
        if kind is Kind.BARE:
            return self.payload
        if kind is Kind.RESET:
            return b""
        if kind is Kind.HELLO:
            return encode_frame(1, 0, 0, self.payload)
        seq += self.number * (kind is Kind.OUT_OF_SEQUENCE)
        epoch ^= self.number * (kind is Kind.OTHER_EPOCH)
        whole = encode_frame(self.type, seq % (1 << 16), epoch, self.payload)
        if kind is Kind.DAMAGED:
            return damaged(whole, self.number)
        return mislengthed(whole, self.number) if kind is Kind.WRONG_LENGTH else whole


def damaged(frame: bytes, bit: int) -> bytes:
    """Return a frame with one bit flipped."""
    at, bit = divmod(bit % (8 * len(frame)), 8)
    return frame[:at] + bytes([frame[at] ^ 1 << bit]) + frame[at + 1 :]


def mislengthed(frame: bytes, more: int) -> bytes:
    """Return a frame with a wrong length in its header, and a good CRC."""
    body: bytes = cobs.decode(frame[:-1])[: -CRC.size]
    kind, seq, epoch, length = HEADER.unpack(body)
    body = HEADER.pack(kind, seq, epoch, (length + more) % (1 << 16)) + body[HEADER.size :]
    return bytes(cobs.encode(body + CRC.pack(zlib.crc32(body)))) + DELIMITER


def pieces(source: Bytes) -> Iterator[Piece]:
    """Yield the pieces that an input encodes."""
    while source.left:
        first = source.number()
        kind = Kind(first % len(Kind))
        number = source.number(2) if kind in _NUMBERED else 0
        of_type = source.number() if kind in _TYPED else 0
        payload = b"" if kind is Kind.RESET else source.string()
        yield Piece(kind, number, of_type, payload, alone=first >= 128)


_NUMBERED = (Kind.OUT_OF_SEQUENCE, Kind.OTHER_EPOCH, Kind.DAMAGED, Kind.WRONG_LENGTH)
_TYPED = (Kind.REQUEST, *_NUMBERED)
