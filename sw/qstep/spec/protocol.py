"""Constants and layouts of the link protocol (``docs/link.md``), shared by driver and hardware.

The tests' reference device is an independent implementation of that document.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qstep.spec.config import Config  # not at run time, because it imports this module

__all__ = [
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
    "HEADER",
    "LEAST_BAUD",
    "LEAST_DIVISOR",
    "MOST_STEPS",
    "OVERHEAD",
    "PROTOCOL_VERSION",
    "REFUSALS",
    "REQUESTS",
    "SILENT",
    "WORD_BYTES",
    "Devices",
    "Layout",
    "RecordLayout",
    "Request",
    "RequestSpec",
    "StatusCode",
    "arguments_of",
    "max_payload",
    "max_words",
    "requests_of",
]

PROTOCOL_VERSION = 3
"""Version of the protocol, as in the answer to HELLO."""

ANSWER = 0x80
"""Offset from a request's type to its answer's type."""

BUFFERS = 2
"""Number of maximum-size requests that fit into the device's receive buffer."""

BITS_PER_BYTE = 10
"""Bits per byte on the serial line: a start bit, eight data bits, a stop bit."""

BREAK_BITS = 2 * BITS_PER_BYTE
"""A line that is low for more than this many bit times is a break; no byte lasts that long."""

LEAST_BAUD = 9_600
"""Lowest line rate; a break that is long enough at this rate is long enough at every rate."""

LEAST_DIVISOR = 8
"""Minimum clocks per bit; with fewer, a sender whose rate is 2.6 % off is misread at some phases."""

CODE_BITS = 8
"""Width of a reward code."""

CODES = 1 << CODE_BITS
"""Number of entries in the device's reward table."""


class Request(IntEnum):
    """Request types."""

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


class StatusCode(IntEnum):
    """Status of a device's answer."""

    OK = 0
    DUPLICATE = 1
    GAP = 2
    STALE_EPOCH = 3
    BAD_TYPE = 4
    BAD_LENGTH = 5
    OUT_OF_RANGE = 6
    BUSY = 7


REFUSALS = tuple(code for code in StatusCode if code >= StatusCode.BAD_TYPE)
"""Statuses that halt a session."""

_FORMATS = {1: "B", 2: "H", 4: "I", 8: "Q"}


class Layout:
    """Consecutive unsigned fields of 1, 2, 4 or 8 bytes, low byte first; `size` is the total."""

    def __init__(self, **sizes: int) -> None:
        self.sizes = sizes
        self._struct = struct.Struct("<" + "".join(_FORMATS[size] for size in sizes.values()))
        self.size = self._struct.size

    def pack(self, *values: int) -> bytes:
        """Pack the fields' values, given in order, into bytes."""
        return self._struct.pack(*values)

    def unpack(self, data: bytes | memoryview) -> tuple[int, ...]:
        """Return the values of the fields at the start of `data`, in order."""
        return self._struct.unpack_from(data)

    def named(self, data: bytes | memoryview) -> dict[str, int]:
        """Return the values of the fields at the start of `data`, by name."""
        return dict(zip(self.sizes, self.unpack(data), strict=True))


HEADER = Layout(type=1, seq=2, epoch=4, length=2)
"""The fields at the start of a decoded frame; `length` is the payload's length."""

CRC = Layout(crc=4)
"""The fields at the end of a decoded frame."""

OVERHEAD = HEADER.size + CRC.size
"""Bytes of a decoded frame without its payload, 13."""

COMMON = Layout(status=1, expected=2, applied=8)
"""The fields at the start of every answer's payload."""

WORD_BYTES = 4
"""Bytes per word of STORE and FETCH."""

ALL_LANES = 0xFF
"""Lane number with which STORE writes the same words to every lane."""

MOST_STEPS = (1 << 48) - 1
"""Maximum number of steps of a RUN."""

SILENT = 0x80
"""`job` in PROGRESS is this plus n if the last run ended because the world did not answer agent n."""


_NO_FIELDS = Layout()


class Devices(Enum):
    """The devices that accept a request."""

    EVERY = "every device"
    LANE = "a lane"
    AGENTS = "agents"
    JOBS = "agents, unless the host is their world"
    LIVE = "agents whose world is the host"


@dataclass(frozen=True, slots=True)
class RequestSpec:
    """A request type, as used by driver, hardware and documentation.

    Attributes
    ----------
    devices : Devices
        Devices that accept the request; other devices answer BAD_TYPE.
    arguments : Layout
        The fields at the start of its payload.
    then : str
        Description in the documentation of the payload after these fields.
    answer : Layout
        The fields after the common part of an answer with status OK.
    reply : str
        Description in the documentation of the answer after these fields.
    repeatable : bool
        Whether a repetition of the latest request is answered again, because the first answer may be
        lost.
    least_bytes : int, optional
        Minimum length of a payload that continues after the arguments: a power of two, or 0 for any
        length. If None, the payload ends with the arguments.
    needs_quiet : bool
        Whether the request waits until the device has drained all earlier work.
    """

    devices: Devices
    arguments: Layout = _NO_FIELDS
    then: str = ""
    answer: Layout = _NO_FIELDS
    reply: str = ""
    repeatable: bool = False
    least_bytes: int | None = None
    needs_quiet: bool = True


_WORDS = Layout(region=1, index=4, run=1, stride=4, count=2)
_WORDS_OF_LANES = Layout(**_WORDS.sizes, lane=1)
_VALUES = "values of `value_bytes` each"

REQUESTS: Mapping[Request, RequestSpec] = {
    Request.HELLO: RequestSpec(
        Devices.EVERY,
        Layout(nonce=4),
        # In every protocol version, `version` comes first and `nonce` last.
        answer=Layout(
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
    ),
    Request.CONFIGURE: RequestSpec(Devices.LANE, Layout(alpha=2, kappa=2, rounding=1)),
    Request.NOISE: RequestSpec(Devices.LANE, Layout(x=4, w=4)),
    Request.REWARDS: RequestSpec(
        Devices.LANE,
        Layout(first_code=1),
        f" then up to {CODES} - first_code {_VALUES}",
        least_bytes=1,
    ),
    Request.CLEAR: RequestSpec(Devices.LANE, reply="none; the whole table is 0"),
    Request.LOAD: RequestSpec(
        Devices.LANE,
        Layout(first_state=2, first_action=1),
        f" then n >= 1 {_VALUES}",
        least_bytes=4,
    ),
    Request.READ: RequestSpec(
        Devices.LANE,
        Layout(first_state=2, first_action=1, count=2),
        ", count >= 1",
        reply=f"`count` {_VALUES}",
        repeatable=True,
    ),
    Request.APPLY_CODED: RequestSpec(
        Devices.LANE, then="records with reward codes", least_bytes=0, needs_quiet=False
    ),
    Request.APPLY_RAW: RequestSpec(
        Devices.LANE, then="records with raw rewards", least_bytes=0, needs_quiet=False
    ),
    Request.STATUS: RequestSpec(Devices.EVERY, answer=Layout(crc=4, x=4, w=4), repeatable=True),
    Request.COUNTERS: RequestSpec(
        Devices.EVERY,
        answer=Layout(
            offered_clocks=8,
            accepted=8,
            held=8,
            forwarded=8,
            saturated=8,
            frame_errors=8,
            refused=8,
        ),
        repeatable=True,
    ),
    Request.BAUD: RequestSpec(
        Devices.EVERY,
        Layout(divisor=2),
        f", {LEAST_DIVISOR} or more",
        reply="none; sent at the old rate, before the new rate takes effect",
    ),
    Request.STORE: RequestSpec(
        Devices.AGENTS,
        _WORDS,
        f" then `count` >= 1 words of {WORD_BYTES} bytes",
        least_bytes=16,
    ),
    Request.FETCH: RequestSpec(
        Devices.AGENTS,
        _WORDS,
        ", count >= 1",
        reply=f"`count` words of {WORD_BYTES} bytes",
        repeatable=True,
    ),
    Request.RUN: RequestSpec(
        Devices.JOBS,
        Layout(steps=8),
        f", 1 to 2^{MOST_STEPS.bit_length()} - 1",
        reply="none; sent at the start of the job, in which every agent takes `steps` steps",
    ),
    Request.STOP: RequestSpec(
        Devices.AGENTS,
        reply="none; every agent completes its current step, then the job ends",
    ),
    Request.PROGRESS: RequestSpec(
        Devices.AGENTS,
        answer=Layout(job=1),
        reply=(
            f": 1 during a job, else 0, or {SILENT} + n if the last job ended because the world did "
            "not answer agent n"
        ),
        repeatable=True,
    ),
    Request.BEGIN: RequestSpec(
        Devices.LIVE, Layout(agent=1, state=2), answer=Layout(action=1), repeatable=True
    ),
    Request.ACT: RequestSpec(
        Devices.LIVE,
        Layout(agent=1, next_state=2, terminated=1, reward=4),
        ", the reward raw, two's complement",
        answer=Layout(action=1),
        repeatable=True,
    ),
}
"""The properties of each request type that driver, hardware and documentation share, in order."""

ARGUMENTS = {request: spec.arguments for request, spec in REQUESTS.items()}
"""The fields at the start of a request's payload. Values follow in REWARDS and LOAD, records in APPLY,
words in STORE."""

ANSWERS = {request: spec.answer for request, spec in REQUESTS.items()}
"""The fields after the common part of an answer with status OK. The answer to READ continues with
values, and the answer to FETCH with words; other answers end there."""


def requests_of(config: Config) -> tuple[Request, ...]:
    """Return the requests that a device accepts, which depend on whether it has agents."""
    if config.acting is None:
        kinds = {Devices.EVERY, Devices.LANE}
    else:
        steps = Devices.LIVE if config.acting.is_live else Devices.JOBS
        kinds = {Devices.EVERY, Devices.AGENTS, steps}
    return tuple(request for request, spec in REQUESTS.items() if spec.devices in kinds)


def arguments_of(config: Config) -> dict[Request, Layout]:
    """Return the leading payload fields of every request that a device accepts, in order.

    They are listed in `ARGUMENTS`; in a farm, STORE and FETCH also contain a lane number. With several
    planes, a state in BEGIN and ACT is one row per plane; the row in plane t > 0 is named ``..._t``.
    """
    known = {request: ARGUMENTS[request] for request in requests_of(config)}
    if config.lanes > 1:
        known |= {Request.STORE: _WORDS_OF_LANES, Request.FETCH: _WORDS_OF_LANES}
    for request in (Request.BEGIN, Request.ACT):
        if config.planes > 1 and request in known:
            known[request] = _in_planes(known[request], config.planes)
    return known


def _in_planes(layout: Layout, planes: int) -> Layout:
    """Return a layout whose state is followed by the rows in the other planes."""
    sizes: dict[str, int] = {}
    for name, size in layout.sizes.items():
        sizes[name] = size
        if name.endswith("state"):
            sizes |= {f"{name}_{plane}": size for plane in range(1, planes)}
    return Layout(**sizes)


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """Layout of a record (a transition's bytes on the link) for one configuration and kind of reward.

    A state has 1..16 bits, an action has 1..6 bits, and a reward has 8 bits as a code or W bits as a raw
    value.
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
        """First bit of each field."""
        ends = accumulate(self.widths.values(), initial=0)
        return dict(zip(self.widths, ends, strict=False))

    def size(self, *, full: bool) -> int:
        """Return a record's size in bytes, 2..9, either full or continuing the previous record."""
        bits = self.offsets["state"] + (self.state_bits if full else 0)
        return (bits + 7) // 8


def max_payload(buffer_bytes: int) -> int:
    """Return the largest payload in bytes for a receive buffer of `buffer_bytes`."""
    return buffer_bytes // BUFFERS - OVERHEAD


def max_words(buffer_bytes: int) -> int:
    """Return the maximum number of 32-bit words in an answer to FETCH, for this receive buffer."""
    return (max_payload(buffer_bytes) - COMMON.size) // WORD_BYTES
