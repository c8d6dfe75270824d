"""The window of requests in flight, and the effect of answers on it, without a clock or a port."""

from __future__ import annotations

import logging
from collections import deque
from itertools import islice
from typing import NamedTuple, NoReturn

from qstep.device.link.frames import DELIMITER, Frame, encode_frame
from qstep.errors import RefusedError, SessionLostError
from qstep.spec.protocol import ANSWER, COMMON, OVERHEAD, REFUSALS, Request, StatusCode, max_payload

__all__ = ["Pending", "Progress", "Window"]

_log = logging.getLogger(__name__)

_LEAST_LIMIT = 32  # enough for the longest record, or for one value in an answer
_FIRST_LIMIT = 128
_CLEAN_BYTES = 8192  # bytes executed without a retry before the limit doubles

_SEQUENCE = 1 << 16


class Pending(NamedTuple):
    """A request not yet answered; `seconds` is the additional time that it may take."""

    kind: Request
    frame: bytes
    size: int
    transitions: int
    seconds: float


class Progress(NamedTuple):
    """The effect of an answer: whether it confirms more executed requests, and the bytes to resend."""

    more_done: bool
    repeat: bytes


_NOTHING = Progress(more_done=False, repeat=b"")


class Window:
    """The requests of a session, which are numbered and kept until the device has executed them.

    A noisy line loses long frames more often than short ones. Therefore, payloads start short, double
    while there are no errors, and halve with every retry. With one flipped bit per 1,000 bytes, only a
    third of all frames of 1,000 bytes would arrive intact, and five consecutive failures would end the
    session.
    """

    def __init__(self, buffer_bytes: int) -> None:
        self.epoch: int | None = None  # epoch of the session; None while no session is open
        self.next = 0  # number of the next new request
        self.applied = 0  # transitions that the device has confirmed since its reset
        self.limit = _FIRST_LIMIT  # current payload limit in bytes, in either direction
        self.is_halted = False  # True after a refusal: no later request is executed
        self.pending: deque[Pending] = deque()  # requests in flight, oldest first
        self._buffer_bytes = self._credit = buffer_bytes
        self._clean = 0  # bytes executed since the limit last changed
        self._gap_at = _SEQUENCE  # offset in the window of the last gap that was handled

    def open(self, epoch: int, expected: int, applied: int) -> None:
        """Start a session with the values from the answer to HELLO."""
        self.close()
        self.epoch, self.next, self.applied = epoch, expected, applied

    def close(self) -> None:
        """Drop the session and its requests in flight."""
        self.epoch = None
        self.is_halted = False
        self.pending.clear()
        self._credit = self._buffer_bytes

    def has_room(self, payload_bytes: int) -> bool:
        """Return whether the credit is sufficient for one more request of this size."""
        return self._credit >= OVERHEAD + payload_bytes

    def add(
        self, kind: Request, payload: bytes | memoryview, transitions: int, seconds: float
    ) -> bytes:
        """Number a request and return its frame; raise SessionLostError if no session is open."""
        if self.epoch is None:
            raise SessionLostError("no session is open: an earlier error closed it; connect again")
        frame = encode_frame(kind, self.next, self.epoch, payload)
        size = OVERHEAD + len(payload)
        self.next = (self.next + 1) % _SEQUENCE
        self._credit -= size
        self.pending.append(Pending(kind, frame, size, transitions, seconds))
        return frame

    def repeated(self, frame: bytes | None = None) -> bytes:
        """Return the bytes for a retry: `frame`, or all frames in flight.

        They start with a delimiter, which ends any incomplete frame of the last attempt.
        """
        before, self.limit = self.limit, max(self.limit // 2, _LEAST_LIMIT)
        if self.limit < before:
            _log.info("payloads are now at most %d bytes", self.limit)
        self._clean = 0
        self._gap_at = _SEQUENCE
        return DELIMITER + (frame or b"".join(request.frame for request in self.pending))

    def acknowledge(self, answer: Frame) -> Progress:
        """Process one answer.

        The answer is ignored as late if the sequence number that it expects next precedes the number of
        the oldest pending request by at most half the sequence space.

        A refusal halts the session and raises RefusedError; after that, `applied` is exact.
        """
        # The answer to HELLO is independent of requests: it is the same in a halted session.
        if answer.type <= Request.HELLO + ANSWER or len(answer.payload) < COMMON.size:
            return _NOTHING
        status, expected, applied = COMMON.unpack(answer.payload)
        if status == StatusCode.STALE_EPOCH:
            self._lost("the device was reset, or another host opened a session", applied)
        if answer.epoch != self.epoch:
            return _NOTHING  # late, from an earlier session
        base = (self.next - len(self.pending)) % _SEQUENCE
        done = (expected - base) % _SEQUENCE
        if done >= _SEQUENCE // 2:
            return _NOTHING  # late or duplicate: it contains no new information
        if done > len(self.pending):
            self._lost(f"the device expects request {expected}, not {self.next}", applied)
        if done and status in REFUSALS:
            self._halt(done, applied, StatusCode(status))
        if done:
            self._confirm(done, applied)
        repeat = b""
        if status == StatusCode.GAP and self.pending:
            # Each request after a lost one is answered with GAP. The numbers of these answers rise
            # within one pass over the window; a number that does not rise belongs to a newer pass.
            offset = (answer.seq - expected) % _SEQUENCE
            if offset <= self._gap_at:
                repeat = self.repeated()
                self._gap_at = offset
        return Progress(done > 0, repeat)

    def _confirm(self, done: int, applied: int) -> None:
        """Remove the `done` oldest requests, after checking the count of transitions."""
        should_be = self._applied_by(done)
        if applied != should_be:
            self._lost(f"the device has applied {applied} transitions, not {should_be}", applied)
        self.applied = applied
        self._gap_at = _SEQUENCE
        for _ in range(done):
            size = self.pending.popleft().size
            self._credit += size
            self._clean += size
        if self._clean >= _CLEAN_BYTES:
            self._clean = 0
            self.limit = min(self.limit * 2, max_payload(self._buffer_bytes))

    def _halt(self, done: int, applied: int, status: StatusCode) -> NoReturn:
        """Close the session because the last of the `done` oldest requests was refused."""
        refused = self.pending[done - 1]
        least = self._applied_by(done - 1)
        if not least <= applied <= least + refused.transitions:
            self._lost(
                f"the device has applied {applied} transitions, "
                f"not {least} to {least + refused.transitions}",
                applied,
            )
        self.close()
        self.applied, self.is_halted = applied, True
        _log.info("%s refused: %s; %d transitions applied", refused.kind.name, status.name, applied)
        raise RefusedError(f"the device refused {refused.kind.name}: {status.name}")

    def _applied_by(self, done: int) -> int:
        """Return the value of `applied` after the `done` oldest requests."""
        return self.applied + sum(request.transitions for request in islice(self.pending, done))

    def _lost(self, why: str, applied: int) -> NoReturn:
        """Close the session; keep the count `applied` only if this session can have reached it."""
        if self.applied <= applied <= self._applied_by(len(self.pending)):
            self.applied = applied
        self.close()
        _log.info("session lost: %s", why)
        raise SessionLostError(f"session lost: {why}; read the table again before you continue")
