"""Numbers of the link protocol (``docs/link.md``): what driver and hardware must agree on."""

from __future__ import annotations

from enum import IntEnum

__all__ = [
    "ANSWER",
    "BITS_PER_BYTE",
    "BUFFERS",
    "BUILD_BYTES",
    "COMMON_BYTES",
    "CRC_BYTES",
    "HEADER_BYTES",
    "OVERHEAD",
    "PROTOCOL_VERSION",
    "Request",
    "StatusCode",
    "max_payload",
]

PROTOCOL_VERSION = 1
"""Version of the protocol that HELLO's answer carries."""

ANSWER = 0x80
"""Added to the type of a request to give the type of its answer."""

BITS_PER_BYTE = 10
"""Of a byte on the serial line: a start bit, eight of data, a stop bit."""

BUILD_BYTES = 8
"""The identity of a build in HELLO's answer; all zeros where nothing was built, as in a simulation."""

HEADER_BYTES = 7
"""type:1 seq:2 epoch:2 length:2."""

CRC_BYTES = 4

OVERHEAD = HEADER_BYTES + CRC_BYTES
"""Bytes of a decoded frame beside its payload, 11."""

COMMON_BYTES = 11
"""status:1 expected:2 applied:8, the start of every answer's payload."""

BUFFERS = 2
"""How many of the largest requests the device's receive buffer holds at once."""


class Request(IntEnum):
    """Types of requests."""

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


class StatusCode(IntEnum):
    """How a device answered a request."""

    OK = 0
    DUPLICATE = 1
    GAP = 2
    STALE_EPOCH = 3
    BAD_TYPE = 4
    BAD_LENGTH = 5
    OUT_OF_RANGE = 6


def max_payload(buffer_bytes: int) -> int:
    """Return how many bytes a payload may have when the device's receive buffer has `buffer_bytes`."""
    return buffer_bytes // BUFFERS - OVERHEAD
