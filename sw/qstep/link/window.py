"""The window: which requests are under way, and what an answer says about them. No clock, no port."""

from __future__ import annotations

from collections import deque
from enum import IntEnum
from itertools import islice
from typing import NamedTuple, NoReturn

from qstep.errors import RefusedError, SessionLostError
from qstep.link.frames import COMMON, DELIMITER, Frame, encode_frame
from qstep.protocol import ANSWER, OVERHEAD, Request, StatusCode, max_payload

__all__ = ["Pending", "Progress", "Window"]

_LEAST_LIMIT = 32  # room for the longest record, and for a value in an answer
_FIRST_LIMIT = 128
_CLEAN_BYTES = 8192  # carried out without a retry before the limit doubles

_SEQUENCE = 1 << 16
_NOT_REFUSED = (StatusCode.OK, StatusCode.DUPLICATE, StatusCode.GAP)


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
    refusal : RefusedError or None
        The first refusal since this was last set to None.
    pending : deque of Pending
        Requests under way, oldest first.
    """

    def __init__(self, buffer_bytes: int) -> None:
        self.epoch: int | None = None
        self.next = 0
        self.applied = 0
        self.limit = _FIRST_LIMIT
        self.refusal: RefusedError | None = None
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
        self.epoch = self.refusal = None
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
        self.limit = max(self.limit // 2, _LEAST_LIMIT)
        self._clean = 0
        self._gap_at = _SEQUENCE
        return DELIMITER + (frame or b"".join(request.frame for request in self.pending))

    def acknowledge(self, answer: Frame) -> Progress:
        """Take one answer into account; SessionLostError when it shows that the session is over."""
        if answer.type < ANSWER or len(answer.payload) < COMMON.size:
            return _NOTHING
        status, expected, applied = COMMON.unpack_from(answer.payload)
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
        if done:
            self._confirm(done, applied, refused=status not in _NOT_REFUSED)
            if status not in _NOT_REFUSED and self.refusal is None:
                self.refusal = RefusedError(
                    f"the device refused {_name(Request, answer.type - ANSWER)}: "
                    f"{_name(StatusCode, status)}"
                )
        repeat = b""
        if status == StatusCode.GAP and self.pending:
            # Each request behind a lost one is answered GAP. Within one pass of the window these
            # answers come with rising numbers; one that does not rise belongs to a newer pass.
            offset = (answer.seq - expected) % _SEQUENCE
            if offset <= self._gap_at:
                repeat = self.repeated()
                self._gap_at = offset
        return Progress(done > 0, repeat)

    def _confirm(self, done: int, applied: int, refused: bool) -> None:
        """Take the `done` oldest requests off, if the count of transitions bears it out."""
        should_be = self.applied + sum(r.transitions for r in islice(self.pending, done))
        if applied != should_be and not (refused and self.applied <= applied < should_be):
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

    def _lost(self, why: str, applied: int) -> NoReturn:
        """Close the session; `applied` counts only if it can be what this session has led to."""
        if self.applied <= applied <= self.applied + sum(r.transitions for r in self.pending):
            self.applied = applied
        self.close()
        raise SessionLostError(f"session lost: {why}; read the table again before going on")


def _name(kind: type[IntEnum], number: int) -> str:
    """Return the name of a number that another machine has sent."""
    return kind(number).name if number in list(kind) else str(number)
