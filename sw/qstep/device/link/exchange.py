"""Bytes to the device and frames from it: deadlines, retries and limits, without session or window."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from qstep.device.link.frames import Frame, FrameReader
from qstep.device.link.ports import Port, RatedPort
from qstep.errors import DeadlineError, DeviceError
from qstep.spec.config import Config
from qstep.spec.protocol import BITS_PER_BYTE, OVERHEAD, max_payload

__all__ = ["PATIENCE", "RETRIES", "Exchange", "Traffic"]

_log = logging.getLogger(__name__)

RETRIES = 4
"""How often an unanswered request is repeated, and how often one is repeated because of a GAP."""

PATIENCE = 0.1
"""Seconds before the first retry, in addition to the time of the bytes. Each later retry waits twice as
long, so that a device that pauses for a second or two is not given up."""

T = TypeVar("T")


@dataclass(slots=True)
class Traffic:
    """The traffic over a port so far: bytes, and how often requests were repeated.

    `retries` counts those without an answer, `gaps` those answered by a GAP.
    """

    sent: int = 0
    received: int = 0
    retries: int = 0
    gaps: int = 0


class Exchange:
    """Writes to a port, and waits for the frames that answer.

    Calls `failed` before it raises an error of the port or of a deadline.
    """

    def __init__(
        self, port: Port, config: Config, patience: float, failed: Callable[[], None]
    ) -> None:
        self._port = port
        self._rated = port if isinstance(port, RatedPort) else None
        self._device_baud = config.link.baud
        self._patience = patience
        self._failed = failed
        self._buffer_bytes = config.link.buffer_bytes
        self._reader = FrameReader(max_payload(self._buffer_bytes) + OVERHEAD)
        self.traffic = Traffic()
        self._gaps = 0  # repeats because of GAP since a request was last known to be executed

    @property
    def baud(self) -> int:
        """The line rate that deadlines assume."""
        return self._rated.baud if self._rated else self._device_baud

    def wake(self) -> None:
        """Bring a device that uses another rate, and the port, to the rate after a reset."""
        if self._rated is not None:
            _log.info("break: back to %d baud", self._device_baud)
            self._rated.send_break()
            if self._rated.baud != self._device_baud:
                self._rated.set_baud(self._device_baud)

    def write(self, data: bytes) -> None:
        """Write bytes; an error of the port is raised after `failed`."""
        self.traffic.sent += len(data)
        try:
            self._port.write(data)
        except DeviceError as error:
            _log.info("port failed: %s", error)
            self._failed()
            raise

    def progress(self) -> None:
        """Restart the count of repeats: a request is known to be executed."""
        self._gaps = 0

    def repeat(self, data: bytes) -> None:
        """Write again the requests that a GAP asks for.

        A device that answers only GAP is not obeyed for ever: it is then treated as silent.
        """
        if data and self._gaps < RETRIES:
            self._gaps += 1
            self.traffic.gaps += 1
            _log.info("gap: %d bytes sent again, %d of %d", len(data), self._gaps, RETRIES)
            self.write(data)

    def wait(
        self,
        what: str,
        accept: Callable[[Frame], T | None],
        resend: Callable[[], None],
        seconds: float = 0.0,
    ) -> T:
        """Pass frames to `accept` until it returns something; retry with `resend`, then give up.

        `what` names the awaited answer in the DeadlineError; `seconds` is the additional time that the
        device may take.
        """
        waited = 0.0
        for attempt in range(RETRIES + 1):
            if attempt:
                # Otherwise an answer that has lost its end would cost the next one as well.
                self._reader.forget()
                self.traffic.retries += 1
                _log.info(
                    f"no answer to {what} within {waited:.3g} s: sent again, {attempt} of {RETRIES}"
                )
                resend()
            line = 2 * self._buffer_bytes * BITS_PER_BYTE / self.baud
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
        self._failed()
        sent = 1 + RETRIES + self._gaps
        raise DeadlineError(
            f"the device did not answer {what} within {waited:.2g} s, sent {sent} times"
        )

    def pause(self, seconds: float) -> None:
        """Wait for a time in which the device has nothing to answer."""
        self._reader.feed(self._read(seconds))

    def _read(self, timeout: float) -> bytes:
        try:
            data = self._port.read(timeout)
        except DeviceError as error:
            _log.info("port failed: %s", error)
            self._failed()
            raise
        self.traffic.received += len(data)
        return data
