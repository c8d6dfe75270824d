"""The protocol engine of the host: exactly once, in order, or a typed error (``docs/link.md``)."""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Callable
from enum import IntEnum
from itertools import islice
from typing import NamedTuple, NoReturn, TypeVar

from qstep.config import Config
from qstep.errors import DeadlineError, DeviceError, LinkError, RefusedError, SessionLostError
from qstep.link.frames import (
    ANSWER,
    COMMON,
    DELIMITER,
    OVERHEAD,
    PROTOCOL_VERSION,
    Frame,
    FrameReader,
    Request,
    StatusCode,
    encode_frame,
    max_payload,
)
from qstep.link.ports import Port, RatedPort

__all__ = ["PATIENCE", "RETRIES", "Session"]

RETRIES = 4
"""How often an unanswered request is sent again."""

PATIENCE = 0.1
"""Seconds, beside the time that the bytes take, before the first retry; each later one waits twice as
long, so that a device which pauses for a second or two is not given up."""

_LEAST_LIMIT = 32  # room for the longest record, and for a value in an answer
_FIRST_LIMIT = 128
_CLEAN_BYTES = 8192  # carried out without a retry before the limit doubles

_BITS_PER_BYTE = 10  # on the line: a start bit, eight of data, a stop bit
_SEQUENCE = 1 << 16
_NOT_REFUSED = (StatusCode.OK, StatusCode.DUPLICATE, StatusCode.GAP)

T = TypeVar("T")


class _Pending(NamedTuple):
    """A request that has no answer yet."""

    kind: Request
    frame: bytes
    size: int
    transitions: int
    seconds: float


class Session:
    """Numbers requests, keeps as many under way as the device has credit for, and repeats lost ones.

    Nothing is ever returned in place of an answer that did not come. After a DeadlineError, LinkError
    or SessionLostError the session is closed, because requests under way may still be carried out;
    :meth:`open` starts another, in which the device refuses whatever is left of this one.

    A noisy line loses long frames more often than short ones. So payloads start short, double while all
    goes well and halve with every retry: with one flipped bit in 1,000 bytes, frames of a kilobyte
    would get through only one time in three, and five failures in a row would end the session.

    Parameters
    ----------
    port : Port
        Where the bytes go.
    config : Config
        Gives the device's buffer.
    patience : float
        Seconds before the first retry, beside the time on the line.

    Attributes
    ----------
    applied : int
        Transitions that the device has confirmed as applied since its reset.
    baud : int
        Line rate that the deadlines are reckoned with.
    limit : int
        How many bytes a payload, of a request or of an answer, should have at most for now.
    """

    def __init__(self, port: Port, config: Config, patience: float = PATIENCE) -> None:
        self.applied = 0
        self.baud = port.baud if isinstance(port, RatedPort) else config.link.baud
        self._port = port
        self._patience = patience
        self._buffer_bytes = config.link.buffer_bytes
        self._max_payload = max_payload(self._buffer_bytes)
        self._reader = FrameReader(self._max_payload + OVERHEAD)
        self.limit = min(_FIRST_LIMIT, self._max_payload)
        self._clean = 0  # bytes carried out since the limit last changed
        self._epoch: int | None = None
        self._pending: deque[_Pending] = deque()
        self._credit = self._buffer_bytes
        self._refusal: RefusedError | None = None  # the first one that was not raised yet
        self._next = 0  # number of the next new request
        self._gap_at = _SEQUENCE  # offset in the window of the last gap that was acted on

    # What the driver calls

    def open(self) -> bytes:
        """Open a session and return HELLO's answer after the common part, whatever its length.

        Raises
        ------
        DeadlineError, LinkError
            There is no device, or the port failed.
        """
        self._close()
        nonce = secrets.token_bytes(4)
        # The delimiter ends whatever an earlier host left unfinished on the line.
        hello = DELIMITER + encode_frame(Request.HELLO, 0, 0, nonce)

        def accept(frame: Frame) -> Frame | None:
            if frame.type != Request.HELLO + ANSWER or len(frame.payload) <= COMMON.size:
                return None
            # Another version may lay out the rest in another way: the driver is to see that it does.
            is_other = frame.payload[COMMON.size] != PROTOCOL_VERSION
            return frame if is_other or frame.payload.endswith(nonce) else None

        self._write(hello)
        frame = self._wait("HELLO", accept, lambda: self._write(hello), 0.0)
        _, self._next, self.applied = COMMON.unpack_from(frame.payload)
        self._epoch = frame.epoch
        return frame.payload[COMMON.size :]

    def send(
        self,
        kind: Request,
        payload: bytes | memoryview = b"",
        transitions: int = 0,
        seconds: float = 0.0,
    ) -> None:
        """Send a request as soon as there is credit, and do not wait for its answer.

        Parameters
        ----------
        kind : Request
            Any but HELLO, READ, STATUS, COUNTERS and BAUD.
        payload : bytes
            At most :func:`~qstep.link.frames.max_payload` bytes.
        transitions : int
            How many transitions the payload holds.
        seconds : float
            How much longer than others the device may take for it.
        """
        size = OVERHEAD + len(payload)
        if len(payload) > self._max_payload:
            raise ValueError(f"payload has {len(payload)} bytes; at most {self._max_payload} fit")
        while self._credit < size:
            self._await_progress()
        if self._refusal is not None:
            self.drain()
        self._start(kind, payload, transitions, seconds)

    def drain(self) -> None:
        """Return when every request has been answered.

        Raises
        ------
        RefusedError
            One of them was refused; the others were carried out, and the session stays open.
        """
        while self._pending:
            self._await_progress()
        if self._refusal is not None:
            refusal, self._refusal = self._refusal, None
            raise refusal

    def ask(self, kind: Request, size: int, payload: bytes = b"") -> bytes:
        """Carry out READ, STATUS or COUNTERS and return the `size` bytes that follow the common part.

        Raises
        ------
        LinkError
            The device answered with another number of bytes.
        """
        self.drain()
        seq = self._next
        frame = self._start(kind, payload, 0, 0.0)

        def accept(answer: Frame) -> bytes | None:
            self._acknowledge(answer)
            if self._refusal is not None:
                self.drain()
            mine = (
                answer.seq == seq and answer.type == kind + ANSWER and answer.epoch == self._epoch
            )
            is_ok = answer.payload[:1] == bytes([StatusCode.OK])
            return answer.payload[COMMON.size :] if mine and is_ok else None

        # The request itself is repeated even if it is known to be carried out: its data is missing.
        data = self._wait(kind.name, accept, lambda: self._repeat(frame), 0.0)
        if len(data) != size:
            raise LinkError(f"the device answered {kind.name} with {len(data)} bytes, not {size}")
        return data

    def change_baud(self, divisor: int, baud: int, set_baud: Callable[[int], None]) -> None:
        """Have the device divide its clock by `divisor`, and follow it with `set_baud`.

        When the answer is lost it is not known at which rate the device listens: retries alternate.
        """
        self.drain()
        old = self.baud
        frame = self._start(Request.BAUD, divisor.to_bytes(2, "little"), 0, 0.0)
        rates = [old, baud] * RETRIES

        def resend() -> None:
            set_baud(rates.pop())
            self._repeat(frame)

        self._wait("BAUD", self._acknowledge, resend, 0.0)
        self.drain()
        set_baud(baud)
        self.baud = baud

    # The window

    def _start(
        self, kind: Request, payload: bytes | memoryview, transitions: int, seconds: float
    ) -> bytes:
        if self._epoch is None:
            raise SessionLostError("no session is open: an earlier error closed it; connect again")
        frame = encode_frame(kind, self._next, self._epoch, payload)
        size = OVERHEAD + len(payload)
        self._next = (self._next + 1) % _SEQUENCE
        self._credit -= size
        self._pending.append(_Pending(kind, frame, size, transitions, seconds))
        self._write(frame)
        return frame

    def _await_progress(self) -> None:
        """Return as soon as at least one more request has been carried out."""
        oldest = self._pending[0]
        self._wait(oldest.kind.name, self._acknowledge, self._go_back, oldest.seconds)

    def _go_back(self) -> None:
        """Send again whatever has not been answered."""
        self._gap_at = _SEQUENCE
        self._repeat(b"".join(request.frame for request in self._pending))

    def _repeat(self, data: bytes) -> None:
        """Write again, behind a delimiter that ends whatever the line has made of the first time."""
        self.limit = max(self.limit // 2, _LEAST_LIMIT)
        self._clean = 0
        self._write(DELIMITER + data)

    def _acknowledge(self, answer: Frame) -> bool | None:
        """Take one answer into account; return True if it tells that another request was carried out."""
        if answer.type < ANSWER or len(answer.payload) < COMMON.size:
            return None
        status, expected, applied = COMMON.unpack_from(answer.payload)
        if status == StatusCode.STALE_EPOCH:
            self._lost("the device was reset, or another host opened a session", applied)
        if answer.epoch != self._epoch:
            return None  # late, from a session before this one
        base = (self._next - len(self._pending)) % _SEQUENCE
        done = (expected - base) % _SEQUENCE
        if done >= _SEQUENCE // 2:
            return None  # late or doubled: what it tells is known
        if done > len(self._pending):
            self._lost(
                f"the device expects request {expected}, the next one is {self._next}", applied
            )
        if done:
            self._confirm(done, applied, refused=status not in _NOT_REFUSED)
            if status not in _NOT_REFUSED and self._refusal is None:
                self._refusal = RefusedError(
                    f"the device refused {_name(Request, answer.type - ANSWER)}: "
                    f"{_name(StatusCode, status)}"
                )
        if status == StatusCode.GAP and self._pending:
            # Each request behind a lost one is answered GAP. Within one pass of the window these
            # answers come with rising numbers; one that does not rise belongs to a newer pass.
            offset = (answer.seq - expected) % _SEQUENCE
            if offset <= self._gap_at:
                self._go_back()
                self._gap_at = offset
        return True if done else None

    def _confirm(self, done: int, applied: int, refused: bool) -> None:
        """Take the `done` oldest requests off the window, if the count of transitions bears it out."""
        should_be = self.applied + sum(r.transitions for r in islice(self._pending, done))
        if applied != should_be and not (refused and self.applied <= applied < should_be):
            self._lost(f"the device has applied {applied} transitions, not {should_be}", applied)
        self.applied = applied
        self._gap_at = _SEQUENCE
        for _ in range(done):
            size = self._pending.popleft().size
            self._credit += size
            self._clean += size
        if self._clean >= _CLEAN_BYTES:
            self._clean = 0
            self.limit = min(self.limit * 2, self._max_payload)

    # Waiting, and the port

    def _wait(
        self,
        what: str,
        accept: Callable[[Frame], T | None],
        resend: Callable[[], None],
        seconds: float,
    ) -> T:
        """Feed frames to `accept` until it returns something; repeat with `resend`, then give up."""
        seconds += self._patience + 2 * self._buffer_bytes * _BITS_PER_BYTE / self.baud
        waited = 0.0
        for attempt in range(RETRIES + 1):
            if attempt:
                resend()
            began = now = time.monotonic()
            deadline = began + seconds * 2**attempt
            while now < deadline:
                result = None
                for frame in self._reader.feed(self._read(deadline - now)):
                    accepted = accept(frame)
                    result = accepted if result is None else result
                if result is not None:
                    return result
                now = time.monotonic()
            waited += now - began
        self._close()
        raise DeadlineError(
            f"the device did not answer {what} within {waited:.2g} s, sent {RETRIES + 1} times"
        )

    def _read(self, timeout: float) -> bytes:
        try:
            return self._port.read(timeout)
        except DeviceError:
            self._close()
            raise

    def _write(self, data: bytes) -> None:
        try:
            self._port.write(data)
        except DeviceError:
            self._close()
            raise

    def _lost(self, why: str, applied: int) -> NoReturn:
        """Close the session; `applied` counts only if it can be what this session has led to."""
        if self.applied <= applied <= self.applied + sum(r.transitions for r in self._pending):
            self.applied = applied
        self._close()
        raise SessionLostError(f"session lost: {why}; read the table again before going on")

    def _close(self) -> None:
        self._epoch = None
        self._refusal = None
        self._pending.clear()
        self._credit = self._buffer_bytes


def _name(kind: type[IntEnum], number: int) -> str:
    """Return the name of a number that another machine has sent."""
    return kind(number).name if number in list(kind) else str(number)
