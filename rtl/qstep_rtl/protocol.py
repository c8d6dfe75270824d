"""Numbers of the link protocol (``docs/link.md``) as the hardware uses them."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["COMMON_BYTES", "CRC_BYTES", "HEADER_BYTES", "PROTOCOL_VERSION", "Request", "Verdict"]

PROTOCOL_VERSION = 1

HEADER_BYTES = 7
"""type:1 seq:2 epoch:2 length:2."""

CRC_BYTES = 4

COMMON_BYTES = 11
"""status:1 expected:2 applied:8, the start of every answer's payload."""


class Request(IntEnum):
    """Types of requests; an answer carries its request's type plus 0x80."""

    HELLO = 0x01
    CONFIGURE = 0x02
    NOISE = 0x03
    REWARDS = 0x04
    CLEAR = 0x05
    LOAD = 0x06
    READ = 0x07
    STEP_CODED = 0x08
    STEP_RAW = 0x09
    STATUS = 0x0A
    COUNTERS = 0x0B
    BAUD = 0x0C


class Verdict(IntEnum):
    """The status that an answer carries."""

    OK = 0
    DUPLICATE = 1
    GAP = 2
    STALE_EPOCH = 3
    BAD_TYPE = 4
    BAD_LENGTH = 5
    OUT_OF_RANGE = 6
