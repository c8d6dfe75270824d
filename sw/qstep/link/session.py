"""The protocol engine of the host: exactly once, in order, or a typed error (``docs/link.md``)."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import TypeVar

from qstep.config import Config
from qstep.errors import DeadlineError, DeviceError, LinkError
from qstep.link.frames import COMMON, DELIMITER, Frame, FrameReader, encode_frame
from qstep.link.ports import Port, RatedPort
from qstep.link.window import Window
from qstep.protocol import (
    ANSWER,
    BITS_PER_BYTE,
    OVERHEAD,
    PROTOCOL_VERSION,
    Request,
    StatusCode,
    max_payload,
)

__all__ = ["PATIENCE", "RETRIES", "Session"]

RETRIES = 4
"""How often an unanswered request is sent again, and how often, beside that, one that GAP asks for."""

PATIENCE = 0.1
"""Seconds, beside the time that the bytes take, before the first retry; each later one waits twice as
long, so that a device which pauses for a second or two is not given up."""

T = TypeVar("T")


class Session:
    """Keeps as many requests under way as the device has credit for, and repeats lost ones.

    Nothing is ever returned in place of an answer that did not come. After a DeadlineError, LinkError
    or SessionLostError the session is closed, because requests under way may still be carried out;
    :meth:`open` starts another, in which the device refuses whatever is left of this one.

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
    baud : int
        Line rate that the deadlines are reckoned with.
    """

    def __init__(self, port: Port, config: Config, patience: float = PATIENCE) -> None:
        self.baud = port.baud if isinstance(port, RatedPort) else config.link.baud
        self._port = port
        self._patience = patience
        self._buffer_bytes = config.link.buffer_bytes
        self._max_payload = max_payload(self._buffer_bytes)
        self._reader = FrameReader(self._max_payload + OVERHEAD)
        self._window = Window(self._buffer_bytes)
        self._gaps = 0  # repeats because of GAP, since a request was last known to be carried out

    @property
    def applied(self) -> int:
        """Transitions that the device has confirmed as applied since its reset."""
        return self._window.applied

    @property
    def limit(self) -> int:
        """How many bytes a payload, of a request or of an answer, should have at most for now."""
        return self._window.limit

    def open(self) -> bytes:
        """Open a session and return HELLO's answer after the common part, whatever its length.

        Raises
        ------
        DeadlineError, LinkError
            There is no device, or the port failed.
        """
        self._window.close()
        self._gaps = 0
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
        _, expected, applied = COMMON.unpack_from(frame.payload)
        self._window.open(frame.epoch, expected, applied)
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
            At most :func:`~qstep.protocol.max_payload` bytes.
        transitions : int
            How many transitions the payload holds.
        seconds : float
            How much longer than others the device may take for it.
        """
        if len(payload) > self._max_payload:
            raise ValueError(f"payload has {len(payload)} bytes; at most {self._max_payload} fit")
        while not self._window.has_room(len(payload)):
            self._await_progress()
        if self._window.refusal is not None:
            self.drain()
        self._start(kind, payload, transitions, seconds)

    def drain(self) -> None:
        """Return when every request has been answered.

        Raises
        ------
        RefusedError
            One of them was refused; the others were carried out, and the session stays open.
        """
        window = self._window
        while window.pending:
            self._await_progress()
        if window.refusal is not None:
            refusal, window.refusal = window.refusal, None
            raise refusal

    def ask(self, kind: Request, size: int, payload: bytes = b"") -> bytes:
        """Carry out READ, STATUS or COUNTERS and return the `size` bytes that follow the common part.

        Raises
        ------
        LinkError
            The device answered with another number of bytes.
        """
        self.drain()
        seq, epoch = self._window.next, self._window.epoch
        frame = self._start(kind, payload, 0, 0.0)

        def accept(answer: Frame) -> bytes | None:
            self._acknowledge(answer)
            if self._window.refusal is not None:
                self.drain()
            mine = (answer.type, answer.seq, answer.epoch) == (kind + ANSWER, seq, epoch)
            is_ok = answer.payload[:1] == bytes([StatusCode.OK])
            return answer.payload[COMMON.size :] if mine and is_ok else None

        # The request itself is repeated even if it is known to be carried out: its data is missing.
        data = self._wait(kind.name, accept, lambda: self._write(self._window.repeated(frame)), 0.0)
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
            self._write(self._window.repeated(frame))

        self._wait("BAUD", self._acknowledge, resend, 0.0)
        self.drain()
        set_baud(baud)
        self.baud = baud

    def _start(
        self, kind: Request, payload: bytes | memoryview, transitions: int, seconds: float
    ) -> bytes:
        if not self._window.pending:
            self._gaps = 0
        frame = self._window.add(kind, payload, transitions, seconds)
        self._write(frame)
        return frame

    # Waiting, and the port

    def _await_progress(self) -> None:
        """Return as soon as at least one more request is known to be carried out."""
        oldest = self._window.pending[0]
        self._wait(oldest.kind.name, self._acknowledge, self._go_back, oldest.seconds)

    def _acknowledge(self, answer: Frame) -> bool | None:
        """Take an answer into account; return True if more requests are known to be carried out."""
        progress = self._window.acknowledge(answer)
        if progress.more_done and self._window.pending:
            self._gaps = 0
        # A device that answers nothing but GAP is not obeyed for ever: then it is as if it were silent.
        if progress.repeat and self._gaps < RETRIES:
            self._gaps += 1
            self._write(progress.repeat)
        return True if progress.more_done else None

    def _go_back(self) -> None:
        """Send again whatever has not been answered."""
        self._write(self._window.repeated())

    def _wait(
        self,
        what: str,
        accept: Callable[[Frame], T | None],
        resend: Callable[[], None],
        seconds: float,
    ) -> T:
        """Feed frames to `accept` until it returns something; repeat with `resend`, then give up."""
        seconds += self._patience + 2 * self._buffer_bytes * BITS_PER_BYTE / self.baud
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
        self._window.close()
        sent = 1 + RETRIES + self._gaps
        raise DeadlineError(
            f"the device did not answer {what} within {waited:.2g} s, sent {sent} times"
        )

    def _read(self, timeout: float) -> bytes:
        try:
            return self._port.read(timeout)
        except DeviceError:
            self._window.close()
            raise

    def _write(self, data: bytes) -> None:
        try:
            self._port.write(data)
        except DeviceError:
            self._window.close()
            raise
