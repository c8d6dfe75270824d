"""The host's protocol engine: requests execute exactly once and in order, or fail with a typed error."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from typing import TypeVar

from qstep.device.link.frames import DELIMITER, Frame, FrameReader, encode_frame
from qstep.device.link.ports import Port, RatedPort
from qstep.device.link.window import Window
from qstep.errors import DeadlineError, DeviceError, LinkError, SessionLostError
from qstep.spec.config import Config
from qstep.spec.protocol import (
    ANSWER,
    ARGUMENTS,
    BITS_PER_BYTE,
    COMMON,
    OVERHEAD,
    PROTOCOL_VERSION,
    Request,
    StatusCode,
    max_payload,
)

__all__ = ["PATIENCE", "RETRIES", "Session"]

_log = logging.getLogger(__name__)

RETRIES = 4
"""Maximum number of repeats of an unanswered request, and of repeats after a GAP."""

PATIENCE = 0.1
"""Seconds before the first retry, in addition to the transfer time. The wait doubles with each retry, so
a device may pause for a second or two."""

_COUNTS = 1 << 16  # modulus of the device's count of resets and sessions, which its epoch contains

T = TypeVar("T")


class Session:
    """Keeps as many requests in flight as the device's credit allows, and repeats lost ones.

    A missing answer is never replaced by a default. After a DeadlineError, LinkError or SessionLostError
    the session is closed, because requests in flight may still be executed. :meth:`open` then starts a
    new session, in which the device refuses all requests of the old one. After a RefusedError, nothing
    is in flight, and the next request opens a new session automatically.
    """

    def __init__(self, port: Port, config: Config, patience: float = PATIENCE) -> None:
        self._port = port
        self._rated = port if isinstance(port, RatedPort) else None
        self._link = config.link
        self._patience = patience
        self._max_payload = max_payload(config.link.buffer_bytes)
        self._reader = FrameReader(self._max_payload + OVERHEAD)
        self._window = Window(config.link.buffer_bytes)
        self._sent = self._received = 0  # total bytes
        # Repeats of unanswered requests, and of requests that were answered with a GAP.
        self._retries = self._gaps = 0
        self._made = time.monotonic()
        self._gaps_now = 0  # repeats because of GAP since the last confirmed execution
        self._count = 0  # the device's count when it opened this session

    @property
    def applied(self) -> int:
        """Transitions that the device has confirmed as applied since its reset."""
        return self._window.applied

    @property
    def baud(self) -> int:
        """The line rate that deadlines assume."""
        return self._rated.baud if self._rated else self._link.baud

    @property
    def limit(self) -> int:
        """The current payload limit of requests and answers, in bytes."""
        return self._window.limit

    def open(self) -> bytes:
        """Open a session; return the answer to HELLO, of any length, without its common part.

        A device that does not answer may use a line rate other than the port's, because of an earlier
        host or a reset. A break returns it to its configured rate.
        """
        self._window.close()
        self._gaps_now = 0
        nonce = secrets.randbits(32)
        payload = ARGUMENTS[Request.HELLO].pack(nonce)
        # The delimiter ends any frame that an earlier host left unfinished.
        hello = DELIMITER + encode_frame(Request.HELLO, 0, 0, payload)

        def accept(frame: Frame) -> Frame | None:
            if frame.type != Request.HELLO + ANSWER or len(frame.payload) <= COMMON.size:
                return None
            # The layout may differ in another protocol version, which the driver must be able to report.
            is_other = frame.payload[COMMON.size] != PROTOCOL_VERSION
            return frame if is_other or frame.payload.endswith(payload) else None

        def resend() -> None:
            if self._rated is not None:
                _log.info("break: back to %d baud", self._link.baud)
                self._rated.send_break()
                if self._rated.baud != self._link.baud:
                    self._rated.set_baud(self._link.baud)
            self._write(hello)

        self._write(hello)
        frame = self._wait("HELLO", accept, resend)
        _, expected, applied = COMMON.unpack(frame.payload)
        self._window.open(frame.epoch, expected, applied)
        self._count = (frame.epoch ^ nonce) % _COUNTS
        _log.info("session opened: epoch %08x, %d transitions applied", frame.epoch, applied)
        return frame.payload[COMMON.size :]

    def _go_on(self) -> None:
        """Replace a session that a refusal halted; raise SessionLostError if it has been lost."""
        if not self._window.is_halted:
            return
        applied, count = self.applied, (self._count + 1) % _COUNTS
        self.open()
        if (self.applied, self._count) != (applied, count):
            self._window.close()
            raise SessionLostError(
                "session lost: after a request was refused, the device was reset, or another host "
                "opened a session; read the table again before you continue"
            )

    def send(
        self,
        kind: Request,
        payload: bytes | memoryview = b"",
        transitions: int = 0,
        seconds: float = 0.0,
    ) -> None:
        """Send a request as soon as credit is available, without waiting for its answer.

        `transitions` is the number of transitions in the payload, and `seconds` is the additional time
        that the device may take. Other methods send HELLO, READ, STATUS, COUNTERS and BAUD.
        """
        if len(payload) > self._max_payload:
            raise ValueError(f"payload has {len(payload)} bytes; at most {self._max_payload} fit")
        self._go_on()
        while not self._window.has_room(len(payload)):
            self._await_progress()
        self._start(kind, payload, transitions, seconds)

    def drain(self) -> None:
        """Wait until every request has been answered; raise RefusedError if one was refused."""
        while self._window.pending:
            self._await_progress()

    def ask(self, kind: Request, size: int, payload: bytes = b"") -> bytes:
        """Execute a request and return the `size` bytes that follow the common part of its answer."""
        self.drain()
        self._go_on()
        seq, epoch = self._window.next, self._window.epoch
        frame = self._start(kind, payload, 0, 0.0)

        def resend() -> None:
            self._write(self._window.repeated(frame))

        def accept(answer: Frame) -> bytes | None:
            self._acknowledge(answer)
            mine = (answer.type, answer.seq, answer.epoch) == (kind + ANSWER, seq, epoch)
            is_ok = answer.payload[:1] == bytes([StatusCode.OK])
            return answer.payload[COMMON.size :] if mine and is_ok else None

        # The request is repeated even if it has been executed, because the answer's data is missing.
        data = self._wait(kind.name, accept, resend)
        if len(data) != size:
            raise LinkError(f"the device answered {kind.name} with {len(data)} bytes, not {size}")
        return data

    def report(self) -> None:
        """Log the total traffic and the average rates of the connection."""
        seconds = max(time.monotonic() - self._made, 1e-9)
        _log.info(
            f"closed after {seconds:.3g} s: {self._sent} bytes sent ({self._sent / seconds:.3g}/s), "
            f"{self._received} received ({self._received / seconds:.3g}/s), {self._retries} retries, "
            f"{self._gaps} gaps; {self.applied} transitions applied since the device's reset"
        )

    def pause(self, seconds: float) -> None:
        """Wait for up to `seconds`, and ignore what arrives; no request may be in flight."""
        self._reader.feed(self._read(seconds))

    def change_baud(self, divisor: int, baud: int, set_baud: Callable[[int], None]) -> None:
        """Set the device's clock divisor, then the port's rate with `set_baud`.

        If the answer is lost, the device's rate is unknown, so retries alternate between the new and the
        old rate.
        """
        self.drain()
        self._go_on()
        old = self.baud
        frame = self._start(Request.BAUD, ARGUMENTS[Request.BAUD].pack(divisor), 0, 0.0)
        rates = [old, baud] * RETRIES

        def resend() -> None:
            set_baud(rates.pop())
            self._write(self._window.repeated(frame))

        self._wait("BAUD", self._acknowledge, resend)
        set_baud(baud)
        _log.info("line rate: %d to %d baud", old, baud)

    def _start(
        self, kind: Request, payload: bytes | memoryview, transitions: int, seconds: float
    ) -> bytes:
        if not self._window.pending:
            self._gaps_now = 0
        frame = self._window.add(kind, payload, transitions, seconds)
        figures = len(payload), transitions, len(self._window.pending)
        _log.debug("%s: %d bytes, %d transitions, %d in flight", kind.name, *figures)
        self._write(frame)
        return frame

    def _await_progress(self) -> None:
        """Wait until an answer confirms that at least one more request has been executed."""
        oldest = self._window.pending[0]

        def resend() -> None:
            self._write(self._window.repeated())

        self._wait(oldest.kind.name, self._acknowledge, resend, oldest.seconds)

    def _acknowledge(self, answer: Frame) -> bool | None:
        """Process an answer; return True if it confirms that more requests have been executed.

        After a GAP, the requests in flight are sent again. A device that keeps answering GAP is
        eventually treated as silent.
        """
        progress = self._window.acknowledge(answer)
        if progress.more_done and self._window.pending:
            self._gaps_now = 0
        if progress.repeat and self._gaps_now < RETRIES:
            self._gaps_now += 1
            self._gaps += 1
            again = len(progress.repeat)
            _log.info("gap: %d bytes sent again, %d of %d", again, self._gaps_now, RETRIES)
            self._write(progress.repeat)
        return progress.more_done or None

    def _write(self, data: bytes) -> None:
        """Write bytes; a port error closes the session."""
        self._sent += len(data)
        try:
            self._port.write(data)
        except DeviceError as error:
            _log.info("port failed: %s", error)
            self._window.close()
            raise

    def _wait(
        self,
        what: str,
        accept: Callable[[Frame], T | None],
        resend: Callable[[], None],
        seconds: float = 0.0,
    ) -> T:
        """Pass frames to `accept` until it returns a result; call `resend` on timeouts, then give up.

        `what` names the request in the DeadlineError; `seconds` is the additional time that the device
        may take.
        """
        waited = 0.0
        for attempt in range(RETRIES + 1):
            if attempt:
                # Otherwise, a truncated answer would also corrupt the next one.
                self._reader.forget()
                self._retries += 1
                _log.info(
                    f"no answer to {what} within {waited:.3g} s: sent again, {attempt} of {RETRIES}"
                )
                resend()
            line = 2 * self._link.buffer_bytes * BITS_PER_BYTE / self.baud
            began = now = time.monotonic()
            deadline = began + (seconds + self._patience + line) * 2**attempt
            while now < deadline:
                result = None
                for frame in self._reader.feed(self._read(deadline - now)):
                    accepted = accept(frame)
                    result = accepted if result is None else result
                if result is not None:
                    return result
                now = time.monotonic()
            waited += now - began
        self._window.close()
        sent = 1 + RETRIES + self._gaps_now
        raise DeadlineError(
            f"the device did not answer {what} within {waited:.2g} s; the request was sent {sent} "
            "times"
        )

    def _read(self, timeout: float) -> bytes:
        try:
            data = self._port.read(timeout)
        except DeviceError as error:
            _log.info("port failed: %s", error)
            self._window.close()
            raise
        self._received += len(data)
        return data
