"""A serial line for the benchmark: how many bytes the driver puts on it, and how busy it keeps it.

The driver is the real one. The line is made of time: a byte is under way for ten bit times, behind those
before it. The device at its end counts and acknowledges, as ``docs/link.md`` says, and learns nothing:
what devices learn is checked elsewhere, and here only the driver is to keep the computer busy.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numba import njit

from qstep.config import Config
from qstep.devices.link_device import HELLO, LinkDevice
from qstep.link.frames import COMMON, DELIMITER, Frame, FrameReader, encode_frame
from qstep.link.records import RecordLayout
from qstep.protocol import (
    ANSWER,
    BITS_PER_BYTE,
    BUILD_BYTES,
    OVERHEAD,
    PROTOCOL_VERSION,
    Request,
    StatusCode,
    max_payload,
)
from qstep.transitions import Transitions

__all__ = ["Carried", "Clock", "Line", "SimulatedClock", "carry"]

_SEQUENCE = 1 << 16


class Clock(Protocol):
    """What tells the time; the module :mod:`time` is one."""

    def monotonic(self) -> float:
        """Return seconds since some moment."""

    def sleep(self, seconds: float, /) -> None:
        """Let seconds pass."""


class SimulatedClock:
    """Time that passes only by sleeping, so that the computer counts as infinitely fast."""

    def __init__(self) -> None:
        self._now = 0.0

    def monotonic(self) -> float:
        """Return the seconds slept so far."""
        return self._now

    def sleep(self, seconds: float, /) -> None:
        """Let seconds pass, in no time."""
        self._now += seconds


class Line:
    """A port to a device that acknowledges, over two serial lines at ``config.link.baud``.

    Parameters
    ----------
    config : Config
        The accelerator; its device takes a byte of a request a clock.
    clock : Clock
        :mod:`time` to learn what this computer manages, a :class:`SimulatedClock` for what any could.

    Attributes
    ----------
    to_device, to_host : int
        Bytes carried in either direction.
    """

    def __init__(self, config: Config, clock: Clock) -> None:
        self.to_device = self.to_host = 0
        self._byte_seconds = BITS_PER_BYTE / config.link.baud
        self._work_seconds = 1 / config.link.clock_hz
        self._clock = clock
        self._device = _Acknowledger(config)
        # When the last byte there will have arrived, been worked on, and the last byte back arrived.
        self._arrived = self._worked = self._answered = clock.monotonic()
        self._answers: deque[tuple[float, bytes]] = deque()

    def write(self, data: bytes) -> None:
        """Put bytes on the line, behind those that are still waiting for it."""
        self.to_device += len(data)
        self._arrived = max(self._arrived, self._clock.monotonic())
        for part in data.split(DELIMITER)[:-1]:  # the driver writes whole frames
            size = len(part) + len(DELIMITER)
            self._arrived += size * self._byte_seconds
            for answer in self._device.receive(part + DELIMITER):
                self._worked = max(self._worked, self._arrived) + size * self._work_seconds
                self._answered = max(self._answered, self._worked)
                self._answered += len(answer) * self._byte_seconds
                self._answers.append((self._answered, answer))

    def read(self, timeout: float) -> bytes:
        """Return the next answer when its last byte has arrived, or ``b""`` after `timeout` seconds."""
        now = self._clock.monotonic()
        if not self._answers or self._answers[0][0] > now + timeout:
            self._clock.sleep(timeout)
            return b""
        arrival, answer = self._answers.popleft()
        if arrival > now:
            self._clock.sleep(arrival - now)
        self.to_host += len(answer)
        return answer

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


@dataclass(frozen=True)
class Carried:
    """What one call of the driver's ``apply`` put on a line.

    Attributes
    ----------
    transitions : int
    seconds : float
        From the call to its return, on the line's clock.
    to_device, to_host : int
        Bytes in either direction, frames and answers included.
    busy : float
        Share of the time in which the line to the device carried bytes, 0..1.
    """

    transitions: int
    seconds: float
    to_device: int
    to_host: int
    busy: float


def carry(config: Config, transitions: Transitions, clock: Clock, warm: bool) -> Carried:
    """Send transitions over a :class:`Line` and say what that took.

    Parameters
    ----------
    config : Config
    transitions : Transitions
        One or more.
    clock : Clock
    warm : bool
        Send them twice and report the second time: the rewards are known to the device by then, and
        payloads, which begin short, have reached their full length if there were some 12,000.
    """
    line = Line(config, clock)
    device = LinkDevice(line, config)
    device.apply(transitions if warm else transitions[:0])
    to_device, to_host, began = line.to_device, line.to_host, clock.monotonic()
    device.apply(transitions)
    seconds = clock.monotonic() - began
    to_device, to_host = line.to_device - to_device, line.to_host - to_host
    busy = to_device * BITS_PER_BYTE / config.link.baud / seconds
    return Carried(len(transitions), seconds, to_device, to_host, busy)


@njit(cache=True, nogil=True)
def _count_records(payload, continuing_bytes, full_bytes):  # type: ignore[no-untyped-def]
    count = at = 0
    while at < len(payload):
        at += continuing_bytes if payload[at] & 1 else full_bytes
        count += 1
    return count


class _Acknowledger:
    """A device that answers every request with OK, or DUPLICATE where it has come before."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._layouts = {
            Request.STEP_CODED: RecordLayout.coded(config),
            Request.STEP_RAW: RecordLayout.raw(config),
        }
        self._reader = FrameReader(max_payload(config.link.buffer_bytes) + OVERHEAD)
        self._expected = self._applied = 0
        _count_records(np.zeros(0, np.uint8), 1, 1)  # compiled before time counts

    def receive(self, data: bytes) -> list[bytes]:
        """Return the answers to the requests that `data` completes."""
        return [self._answer(frame) for frame in self._reader.feed(data)]

    def _answer(self, frame: Frame) -> bytes:
        data = b""
        status = StatusCode.OK
        if frame.type == Request.HELLO:
            data = self._hello(frame.payload)
        elif frame.seq != self._expected:
            status = StatusCode.DUPLICATE
        else:
            self._expected = (self._expected + 1) % _SEQUENCE
            if layout := self._layouts.get(Request(frame.type)):
                payload = np.frombuffer(frame.payload, np.uint8)
                sizes = layout.continuing_bytes, layout.full_bytes
                self._applied += _count_records(payload, *sizes)
        common = COMMON.pack(status, self._expected, self._applied)
        return encode_frame(frame.type + ANSWER, frame.seq, 1, common + data)

    def _hello(self, nonce: bytes) -> bytes:
        config = self._config
        return HELLO.pack(
            PROTOCOL_VERSION,
            1,
            bytes.fromhex(config.digest[:16]),
            config.states,
            config.actions,
            config.format.integer,
            config.format.fraction,
            config.link.buffer_bytes,
            bytes(BUILD_BYTES),
            0,
            nonce,
        )
