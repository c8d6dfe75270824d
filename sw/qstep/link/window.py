"""The window: which requests are under way, and what an answer says about them. No clock, no port."""

from __future__ import annotations

import logging
from collections import deque
from itertools import islice
from typing import NamedTuple, NoReturn

from qstep.errors import RefusedError, SessionLostError
from qstep.link.frames import DELIMITER, Frame, encode_frame
from qstep.protocol import ANSWER, COMMON, OVERHEAD, REFUSALS, Request, StatusCode, max_payload

__all__ = ["Pending", "Progress", "Window"]

_log = logging.getLogger(__name__)

_LEAST_LIMIT = 32  # room for the longest record, and for a value in an answer
_FIRST_LIMIT = 128
_CLEAN_BYTES = 8192  # carried out without a retry before the limit doubles

_SEQUENCE = 1 << 16


class Pending(NamedTuple):
    """A request that has no answer yet; `seconds` is what it may take longer than others."""

    kind: Request
    frame: bytes
    size: int
    transitions: int
    seconds: float


class Progress(NamedTuple):
    """What an answer leads to: whether more is known to be carried out, and what to write again."""

    more_done: bool
    repeat: bytes


_NOTHING = Progress(more_done=False, repeat=b"")


class Window:
    """Numbers the requests of a session and keeps them until the device has carried them out.

    A noisy line loses long frames more often than short ones. So payloads start short, double while all
    goes well and halve with every retry: with one flipped bit in 1,000 bytes, frames of a kilobyte
    would get through only one time in three, and five failures in a row would end the session.

    Parameters
    ----------
    buffer_bytes : int
        The device's receive buffer: what the requests under way may occupy together.

    Attributes
    ----------
    epoch : int or None
        The session's epoch, None while none is open.
    next : int
        Number of the next new request.
    applied : int
        Transitions that the device has confirmed as applied since its reset.
    limit : int
        How many bytes a payload, of a request or of an answer, should have at most for now.
    is_halted : bool
        The session is over because a request was refused: all before it were carried out, none after it.
    pending : deque of Pending
        Requests under way, oldest first.
    """

    def __init__(self, buffer_bytes: int) -> None:
        self.epoch: int | None = None
        self.next = 0
        self.applied = 0
        self.limit = _FIRST_LIMIT
        self.is_halted = False
        self.pending: deque[Pending] = deque()
        self._buffer_bytes = self._credit = buffer_bytes
        self._clean = 0  # bytes carried out since the limit last changed
        self._gap_at = _SEQUENCE  # offset in the window of the last gap that was acted on

    def open(self, epoch: int, expected: int, applied: int) -> None:
        """Begin a session with what the device says in its answer to HELLO."""
        self.close()
        self.epoch, self.next, self.applied = epoch, expected, applied

    def close(self) -> None:
        """Forget the session and what is under way in it."""
        self.epoch = None
        self.is_halted = False
        self.pending.clear()
        self._credit = self._buffer_bytes

    def has_room(self, payload_bytes: int) -> bool:
        """Tell whether the device has credit for one more request of that size."""
        return self._credit >= OVERHEAD + payload_bytes

    def add(
        self, kind: Request, payload: bytes | memoryview, transitions: int, seconds: float
    ) -> bytes:
        """Number a request and return its frame; SessionLostError when no session is open."""
        if self.epoch is None:
            raise SessionLostError("no session is open: an earlier error closed it; connect again")
        frame = encode_frame(kind, self.next, self.epoch, payload)
        size = OVERHEAD + len(payload)
        self.next = (self.next + 1) % _SEQUENCE
        self._credit -= size
        self.pending.append(Pending(kind, frame, size, transitions, seconds))
        return frame

    def repeated(self, frame: bytes | None = None) -> bytes:
        """Return what to write for another try: `frame`, or all that is under way.

        A delimiter comes first, to end whatever the line has made of the last try.
        """
        before, self.limit = self.limit, max(self.limit // 2, _LEAST_LIMIT)
        if self.limit < before:
            _log.info("payloads are now at most %d bytes", self.limit)
        self._clean = 0
        self._gap_at = _SEQUENCE
        return DELIMITER + (frame or b"".join(request.frame for request in self.pending))

    def acknowledge(self, answer: Frame) -> Progress:
        """Take one answer into account.

        Raises
        ------
        RefusedError
            A request was refused, which halts the session; `applied` is exact.
        SessionLostError
            The session is over.
        """
        # HELLO's answer tells nothing of requests: it is the same in a session that is halted.
        if answer.type <= Request.HELLO + ANSWER or len(answer.payload) < COMMON.size:
            return _NOTHING
        status, expected, applied = COMMON.unpack(answer.payload)
        if status == StatusCode.STALE_EPOCH:
            self._lost("the device was reset, or another host opened a session", applied)
        if answer.epoch != self.epoch:
            return _NOTHING  # late, from a session before this one
        base = (self.next - len(self.pending)) % _SEQUENCE
        done = (expected - base) % _SEQUENCE
        if done >= _SEQUENCE // 2:
            return _NOTHING  # late or doubled: what it tells is known
        if done > len(self.pending):
            self._lost(f"the device expects request {expected}, not {self.next}", applied)
        if done and status in REFUSALS:
            self._halt(done, applied, StatusCode(status))
        if done:
            self._confirm(done, applied)
        repeat = b""
        if status == StatusCode.GAP and self.pending:
            # Each request behind a lost one is answered GAP. Within one pass of the window these
            # answers come with rising numbers; one that does not rise belongs to a newer pass.
            offset = (answer.seq - expected) % _SEQUENCE
            if offset <= self._gap_at:
                repeat = self.repeated()
                self._gap_at = offset
        return Progress(done > 0, repeat)

    def _confirm(self, done: int, applied: int) -> None:
        """Take the `done` oldest requests off, if the count of transitions bears it out."""
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
        """Return what `applied` must be when the `done` oldest requests have been carried out."""
        return self.applied + sum(request.transitions for request in islice(self.pending, done))

    def _lost(self, why: str, applied: int) -> NoReturn:
        """Close the session; `applied` counts only if it can be what this session has led to."""
        if self.applied <= applied <= self._applied_by(len(self.pending)):
            self.applied = applied
        self.close()
        _log.info("session lost: %s", why)
        raise SessionLostError(f"session lost: {why}; read the table again before going on")
