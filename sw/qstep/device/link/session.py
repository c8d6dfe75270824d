"""The protocol engine of the host: exactly once, in order, or a typed error (``docs/link.md``)."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable

from qstep.device.link.exchange import PATIENCE, RETRIES, Exchange
from qstep.device.link.frames import DELIMITER, Frame, encode_frame
from qstep.device.link.ports import Port
from qstep.device.link.window import Window
from qstep.errors import LinkError, SessionLostError
from qstep.spec.config import Config
from qstep.spec.protocol import (
    ANSWER,
    ARGUMENTS,
    COMMON,
    PROTOCOL_VERSION,
    Request,
    StatusCode,
    max_payload,
)

__all__ = ["Session"]

_log = logging.getLogger(__name__)

_COUNTS = 1 << 16  # the count of the device's resets and sessions, in its epoch


class Session:
    """Keeps as many requests in flight as the device's credit allows, and repeats lost ones.

    A missing answer is never replaced by a default. After a DeadlineError, LinkError or SessionLostError
    the session is closed, because requests in flight may still be executed; :meth:`open` starts another
    one, in which the device refuses everything left over from this one. After a RefusedError
    nothing is in flight, and the next request opens another session automatically.
    """

    def __init__(self, port: Port, config: Config, patience: float = PATIENCE) -> None:
        self._max_payload = max_payload(config.link.buffer_bytes)
        self._window = Window(config.link.buffer_bytes)
        self._exchange = Exchange(port, config, patience, self._window.close)
        self._made = time.monotonic()
        self._count = 0  # the device's count when it opened this session

    @property
    def applied(self) -> int:
        """Transitions that the device has confirmed as applied since its reset."""
        return self._window.applied

    @property
    def baud(self) -> int:
        """The line rate that deadlines assume."""
        return self._exchange.baud

    @property
    def limit(self) -> int:
        """The largest payload, of a request or an answer, to use for now."""
        return self._window.limit

    def open(self) -> bytes:
        """Open a session and return the answer to HELLO after the common part, whatever its length.

        A device that does not answer may use another rate than the port, because of an earlier host or a
        reset. A break returns it to its configured rate.
        """
        self._window.close()
        self._exchange.progress()
        nonce = secrets.randbits(32)
        payload = ARGUMENTS[Request.HELLO].pack(nonce)
        # The delimiter ends anything that an earlier host left unfinished on the line.
        hello = DELIMITER + encode_frame(Request.HELLO, 0, 0, payload)

        def accept(frame: Frame) -> Frame | None:
            if frame.type != Request.HELLO + ANSWER or len(frame.payload) <= COMMON.size:
                return None
            # Another version may have another layout, which the driver must be able to report.
            is_other = frame.payload[COMMON.size] != PROTOCOL_VERSION
            return frame if is_other or frame.payload.endswith(payload) else None

        def resend() -> None:
            self._exchange.wake()
            self._exchange.write(hello)

        self._exchange.write(hello)
        frame = self._exchange.wait("HELLO", accept, resend)
        _, expected, applied = COMMON.unpack(frame.payload)
        self._window.open(frame.epoch, expected, applied)
        self._count = (frame.epoch ^ nonce) % _COUNTS
        _log.info("session opened: epoch %08x, %d transitions applied", frame.epoch, applied)
        return frame.payload[COMMON.size :]

    def _go_on(self) -> None:
        """Open a session in place of one that a refusal halted, unless another host came in between."""
        if not self._window.is_halted:
            return
        applied, count = self.applied, (self._count + 1) % _COUNTS
        self.open()
        if (self.applied, self._count) != (applied, count):
            self._window.close()
            raise SessionLostError(
                "session lost: since a request was refused, the device was reset, or another host "
                "opened a session; read the table again before going on"
            )

    def send(
        self,
        kind: Request,
        payload: bytes | memoryview = b"",
        transitions: int = 0,
        seconds: float = 0.0,
    ) -> None:
        """Send a request as soon as there is credit, without waiting for its answer.

        `transitions` is their number in the payload, `seconds` the additional time for the device.
        HELLO, READ, STATUS, COUNTERS and BAUD have other methods.
        """
        if len(payload) > self._max_payload:
            raise ValueError(f"payload has {len(payload)} bytes; at most {self._max_payload} fit")
        self._go_on()
        while not self._window.has_room(len(payload)):
            self._await_progress()
        self._start(kind, payload, transitions, seconds)

    def drain(self) -> None:
        """Wait until every request has been answered; raises RefusedError if one was refused."""
        while self._window.pending:
            self._await_progress()

    def ask(self, kind: Request, size: int, payload: bytes = b"") -> bytes:
        """Execute a request and return the `size` bytes of its answer after the common part."""
        self.drain()
        self._go_on()
        seq, epoch = self._window.next, self._window.epoch
        frame = self._start(kind, payload, 0, 0.0)

        def resend() -> None:
            self._exchange.write(self._window.repeated(frame))

        def accept(answer: Frame) -> bytes | None:
            self._acknowledge(answer)
            mine = (answer.type, answer.seq, answer.epoch) == (kind + ANSWER, seq, epoch)
            is_ok = answer.payload[:1] == bytes([StatusCode.OK])
            return answer.payload[COMMON.size :] if mine and is_ok else None

        # The request is repeated even if it is known to be executed, because its data is missing.
        data = self._exchange.wait(kind.name, accept, resend)
        if len(data) != size:
            raise LinkError(f"the device answered {kind.name} with {len(data)} bytes, not {size}")
        return data

    def report(self) -> None:
        """Log the traffic over the port and its rates, at the end of a connection."""
        seconds, traffic = max(time.monotonic() - self._made, 1e-9), self._exchange.traffic
        sent, received = traffic.sent, traffic.received
        _log.info(
            f"closed after {seconds:.3g} s: {sent} bytes sent ({sent / seconds:.3g}/s), "
            f"{received} received ({received / seconds:.3g}/s), {traffic.retries} retries, "
            f"{traffic.gaps} gaps; {self.applied} transitions applied since the device's reset"
        )

    def pause(self, seconds: float) -> None:
        """Wait at the device's pace; nothing may be in flight."""
        self._exchange.pause(seconds)

    def change_baud(self, divisor: int, baud: int, set_baud: Callable[[int], None]) -> None:
        """Let the device divide its clock by `divisor`, and follow with `set_baud`.

        If the answer is lost, the device's rate is unknown, so retries alternate between the two.
        """
        self.drain()
        self._go_on()
        old = self.baud
        frame = self._start(Request.BAUD, ARGUMENTS[Request.BAUD].pack(divisor), 0, 0.0)
        rates = [old, baud] * RETRIES

        def resend() -> None:
            set_baud(rates.pop())
            self._exchange.write(self._window.repeated(frame))

        self._exchange.wait("BAUD", self._acknowledge, resend)
        set_baud(baud)
        _log.info("line rate: %d to %d baud", old, baud)

    def _start(
        self, kind: Request, payload: bytes | memoryview, transitions: int, seconds: float
    ) -> bytes:
        if not self._window.pending:
            self._exchange.progress()
        frame = self._window.add(kind, payload, transitions, seconds)
        figures = len(payload), transitions, len(self._window.pending)
        _log.debug("%s: %d bytes, %d transitions, %d under way", kind.name, *figures)
        self._exchange.write(frame)
        return frame

    def _await_progress(self) -> None:
        """Wait until at least one more request is known to be executed."""
        oldest = self._window.pending[0]
        self._exchange.wait(oldest.kind.name, self._acknowledge, self._go_back, oldest.seconds)

    def _acknowledge(self, answer: Frame) -> bool | None:
        """Process an answer; return True if more requests are known to be executed."""
        progress = self._window.acknowledge(answer)
        if progress.more_done and self._window.pending:
            self._exchange.progress()
        self._exchange.repeat(progress.repeat)
        return progress.more_done or None

    def _go_back(self) -> None:
        """Repeat all unanswered requests."""
        self._exchange.write(self._window.repeated())
