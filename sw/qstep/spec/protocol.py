"""Numbers and layouts of the link protocol (``docs/link.md``), on which driver and hardware must agree.

Both are made from this file; the tests' reference device is written from the document instead.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qstep.spec.config import Config  # which needs LEAST_DIVISOR

__all__ = [
    "AGENT_BITS",
    "ALL_LANES",
    "ANSWER",
    "ANSWERS",
    "ARGUMENTS",
    "BITS_PER_BYTE",
    "BREAK_BITS",
    "BUFFERS",
    "CODES",
    "CODE_BITS",
    "COMMON",
    "CRC",
    "FIRST_AGENT_BIT",
    "HEADER",
    "LEAST_BAUD",
    "LEAST_DIVISOR",
    "MOST_STEPS",
    "OVERHEAD",
    "PROTOCOL_VERSION",
    "REFUSALS",
    "SILENT",
    "WORD_BYTES",
    "Layout",
    "RecordLayout",
    "Region",
    "Request",
    "StatusCode",
    "arguments_of",
    "max_payload",
    "max_words",
    "requests_of",
]

PROTOCOL_VERSION = 3
"""Version of the protocol, as in the answer to HELLO."""

ANSWER = 0x80
"""Added to the type of a request to give the type of its answer."""

BUFFERS = 2
"""How many requests of the largest size fit into the device's receive buffer."""

BITS_PER_BYTE = 10
"""Bits of a byte on the serial line: a start bit, eight data bits, a stop bit."""

BREAK_BITS = 2 * BITS_PER_BYTE
"""A line that stays low for longer than this many bit times is a break, unlike any byte."""

LEAST_BAUD = 9_600
"""The lowest line rate; a break that is long enough for it is a break at every rate."""

LEAST_DIVISOR = 8
"""Least clocks per bit: with fewer, a sender whose rate is 2.6 % off is misread in some phases."""

CODE_BITS = 8
"""Width of a reward code."""

CODES = 1 << CODE_BITS
"""Entries of the device's reward table."""


class Request(IntEnum):
    """Types of requests."""

    HELLO = 0x01
    CONFIGURE = 0x02
    NOISE = 0x03
    REWARDS = 0x04
    CLEAR = 0x05
    LOAD = 0x06
    READ = 0x07
    APPLY_CODED = 0x08
    APPLY_RAW = 0x09
    STATUS = 0x0A
    COUNTERS = 0x0B
    BAUD = 0x0C
    STORE = 0x0D
    FETCH = 0x0E
    RUN = 0x0F
    STOP = 0x10
    PROGRESS = 0x11
    BEGIN = 0x12
    ACT = 0x13


_OF_EVERY_DEVICE = (Request.HELLO, Request.STATUS, Request.COUNTERS, Request.BAUD)
_OF_AGENTS = (Request.STORE, Request.FETCH, Request.STOP, Request.PROGRESS)
_OF_LIVE_WORLDS = (Request.BEGIN, Request.ACT)


def requests_of(config: Config) -> tuple[Request, ...]:
    """Return the requests that a device accepts; with agents they differ from those of a lane."""
    if config.acting is None:
        others = (*_OF_AGENTS, Request.RUN, *_OF_LIVE_WORLDS)
        return tuple(request for request in Request if request not in others)
    steps = _OF_LIVE_WORLDS if config.acting.is_live else (Request.RUN,)
    known = (*_OF_EVERY_DEVICE, *_OF_AGENTS, *steps)
    return tuple(request for request in Request if request in known)


class Region(IntEnum):
    """The memories of a device with agents; for their indexes see ``docs/link.md``, "Regions"."""

    SETTINGS = 0
    CONTEXT = 1
    COUNTERS = 2
    TABLE = 3
    WORLD = 4
    STARTS = 5


AGENT_BITS = 4
"""Bits of an agent's number in an index."""

FIRST_AGENT_BIT = {Region.SETTINGS: 3, Region.CONTEXT: 3, Region.COUNTERS: 4, Region.TABLE: 22}
"""The lowest of these bits, in the regions whose words are an agent's."""


class StatusCode(IntEnum):
    """How a device answered a request."""

    OK = 0
    DUPLICATE = 1
    GAP = 2
    STALE_EPOCH = 3
    BAD_TYPE = 4
    BAD_LENGTH = 5
    OUT_OF_RANGE = 6
    BUSY = 7


REFUSALS = tuple(code for code in StatusCode if code >= StatusCode.BAD_TYPE)
"""Reasons why a session halts."""

_FORMATS = {1: "B", 2: "H", 4: "I", 8: "Q"}


class Layout:
    """Consecutive unsigned numbers of 1, 2, 4 or 8 bytes, low byte first; `size` is their sum."""

    def __init__(self, **sizes: int) -> None:
        self.sizes = sizes
        self._struct = struct.Struct("<" + "".join(_FORMATS[size] for size in sizes.values()))
        self.size = self._struct.size

    def pack(self, *values: int) -> bytes:
        """Return the bytes of the fields' values, which are given in order."""
        return self._struct.pack(*values)

    def unpack(self, data: bytes | memoryview) -> tuple[int, ...]:
        """Return the values of the fields at the start of `data`, in order."""
        return self._struct.unpack_from(data)

    def named(self, data: bytes | memoryview) -> dict[str, int]:
        """Return the values of the fields at the start of `data`, by name."""
        return dict(zip(self.sizes, self.unpack(data), strict=True))


HEADER = Layout(type=1, seq=2, epoch=4, length=2)
"""The fields at the start of a decoded frame; `length` is that of the payload."""

CRC = Layout(crc=4)
"""The fields at the end of a decoded frame."""

OVERHEAD = HEADER.size + CRC.size
"""Bytes of a decoded frame apart from its payload, 13."""

COMMON = Layout(status=1, expected=2, applied=8)
"""The fields at the start of every answer's payload."""

_WORDS = Layout(region=1, index=4, run=1, stride=4, count=2)
_WORDS_OF_LANES = Layout(**_WORDS.sizes, lane=1)

ARGUMENTS: Mapping[Request, Layout] = {request: Layout() for request in Request} | {
    Request.HELLO: Layout(nonce=4),
    Request.CONFIGURE: Layout(alpha=2, kappa=2, rounding=1),
    Request.NOISE: Layout(x=4, w=4),
    Request.REWARDS: Layout(first_code=1),
    Request.LOAD: Layout(first_state=2, first_action=1),
    Request.READ: Layout(first_state=2, first_action=1, count=2),
    Request.BAUD: Layout(divisor=2),
    Request.STORE: _WORDS,
    Request.FETCH: _WORDS,
    Request.RUN: Layout(steps=8),
    Request.BEGIN: Layout(agent=1, state=2),
    Request.ACT: Layout(agent=1, next_state=2, terminated=1, reward=4),
}
"""The fields at the start of a request's payload. Values follow in REWARDS and LOAD, records in APPLY,
words in STORE."""


def arguments_of(config: Config) -> dict[Request, Layout]:
    """Return the fields at the start of the payload of every request that a device accepts, in order.

    They are those of `ARGUMENTS`; in a farm, STORE and FETCH name a lane as well.
    """
    known = {request: ARGUMENTS[request] for request in requests_of(config)}
    if config.lanes > 1:
        known |= {Request.STORE: _WORDS_OF_LANES, Request.FETCH: _WORDS_OF_LANES}
    return known


ANSWERS: Mapping[Request, Layout] = {
    # Every version has `version` at this place and `nonce` at the end, whatever is in between.
    Request.HELLO: Layout(
        version=1,
        digest=8,
        states=4,
        actions=1,
        integer=1,
        fraction=1,
        buffer_bytes=4,
        build=8,
        crc=4,
        nonce=4,
    ),
    Request.STATUS: Layout(crc=4, x=4, w=4),
    Request.COUNTERS: Layout(
        offered_clocks=8,
        accepted=8,
        held=8,
        forwarded=8,
        saturated=8,
        frame_errors=8,
        refused=8,
    ),
    Request.PROGRESS: Layout(job=1),
    Request.BEGIN: Layout(action=1),
    Request.ACT: Layout(action=1),
}
"""The fields after the common part of an answer with status OK. READ's answer continues with values and
FETCH's with words; the others end there."""

WORD_BYTES = 4
"""Bytes of a word of STORE and FETCH."""

ALL_LANES = 0xFF
"""In place of a lane's number: STORE writes the same words to every lane."""

MOST_STEPS = (1 << 48) - 1
"""Of a RUN."""

SILENT = 0x80
"""Added to an agent's number, it is the `job` in PROGRESS of a run that ended because the world did
not answer that agent."""


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """Layout of a record (a transition as bytes of the link) for one configuration and kind of reward.

    A state has 1..16 bits, an action 1..6, a reward 8 as a code and W as a raw value.
    """

    action_bits: int
    state_bits: int
    reward_bits: int

    @classmethod
    def coded(cls, config: Config) -> RecordLayout:
        """Return the layout of APPLY_CODED."""
        return cls(config.action_bits, config.state_bits, CODE_BITS)

    @classmethod
    def raw(cls, config: Config) -> RecordLayout:
        """Return the layout of APPLY_RAW, and of the records that the digest covers."""
        return cls(config.action_bits, config.state_bits, config.format.width)

    @property
    def widths(self) -> dict[str, int]:
        """Bits of each field, low bit first; a continuing record ends before its `state`."""
        return {
            "continues": 1,
            "action": self.action_bits,
            "next_state": self.state_bits,
            "terminated": 1,
            "reward": self.reward_bits,
            "state": self.state_bits,
        }

    @property
    def offsets(self) -> dict[str, int]:
        """Bit at which each field begins."""
        ends = accumulate(self.widths.values(), initial=0)
        return dict(zip(self.widths, ends, strict=False))

    def size(self, *, full: bool) -> int:
        """Return the bytes of a record, 2..9: with its state, or continuing the previous record."""
        bits = self.offsets["state"] + (self.state_bits if full else 0)
        return (bits + 7) // 8


def max_payload(buffer_bytes: int) -> int:
    """Return the largest payload in bytes for a receive buffer of `buffer_bytes`."""
    return buffer_bytes // BUFFERS - OVERHEAD


def max_words(buffer_bytes: int) -> int:
    """Return the most words of 32 bits that an answer to FETCH has, for such a buffer."""
    return (max_payload(buffer_bytes) - COMMON.size) // WORD_BYTES
