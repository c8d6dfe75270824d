"""Ports, which transfer bytes between the host and the device."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Protocol, runtime_checkable

import serial

from qstep.errors import DeadlineError, LinkError
from qstep.spec.protocol import BITS_PER_BYTE, BREAK_BITS, LEAST_BAUD

__all__ = ["Port", "RatedPort", "SerialPort"]

_POLL_SECONDS = 0.02
_CHUNK = 4096
_BYTE_SECONDS = BITS_PER_BYTE / LEAST_BAUD
_BREAK_SECONDS = 2 * BREAK_BITS / LEAST_BAUD  # twice as long as needed at the lowest rate


def _write_seconds(baud: int) -> float:
    """Return the timeout of a write: the transfer time of the largest buffer, plus a margin of 5 s."""
    return 5.0 + 65536 * 10 / baud


class Port(Protocol):
    """A bidirectional byte stream, which may lose, change or insert bytes."""

    def write(self, data: bytes) -> None:
        """Send all of `data`; raise LinkError if the port has failed, DeadlineError if it is stuck."""

    def read(self, timeout: float) -> bytes:
        """Return received bytes as soon as any arrive, or ``b""`` after `timeout` seconds."""

    def close(self) -> None:
        """Release the port; calling it twice is harmless."""


@runtime_checkable
class RatedPort(Port, Protocol):
    """A port with a serial line; `baud` is its current rate."""

    baud: int

    def set_baud(self, baud: int) -> None:
        """Send and receive at `baud` from now on."""

    def send_break(self) -> None:
        """Keep the line low for longer than two bytes at any rate that the device supports."""


class SerialPort:
    """A serial port, a pty, or any other URL that pyserial opens (``socket://HOST:PORT``)."""

    def __init__(self, url: str, baud: int) -> None:
        self.url = url
        self.baud = baud
        try:
            # No other process may change the settings or read bytes while a session is open.
            self._serial = serial.serial_for_url(
                url,
                baud,
                timeout=_POLL_SECONDS,
                write_timeout=_write_seconds(baud),
                exclusive=True,
            )
        except Exception as cause:  # pyserial's URL handlers raise many kinds of exceptions
            raise LinkError(f"{url}: cannot be opened at {baud} baud: {cause}") from cause
        self._is_native = isinstance(self._serial, serial.Serial)
        if hasattr(self._serial, "set_low_latency_mode"):
            # Without this mode, a USB adapter may buffer answers for 16 ms and leave a fast line idle.
            # The mode exists only on Linux. Ports that do not support it, such as a pty, also work.
            with suppress(ValueError):
                self._serial.set_low_latency_mode(True)

    def write(self, data: bytes) -> None:
        """Send all of `data`; raise DeadlineError after 5 s plus the transfer time."""
        try:
            self._serial.write(data)
        except serial.SerialTimeoutException as cause:
            seconds = self._serial.write_timeout
            raise DeadlineError(f"{self.url}: accepted no data for {seconds:.0f} s") from cause
        except OSError as cause:
            raise LinkError(f"{self.url}: cannot be written: {cause}") from cause

    def read(self, timeout: float) -> bytes:
        """Return received bytes, or ``b""`` after `timeout` seconds (rounded up to 20 ms)."""
        deadline = time.monotonic() + timeout
        try:
            while not (first := bytes(self._serial.read(1))):
                if time.monotonic() >= deadline:
                    return b""
            return first + self._rest()
        except OSError as cause:
            raise LinkError(f"{self.url}: cannot be read: {cause}") from cause

    def _rest(self) -> bytes:
        """Return the bytes that have already arrived, without waiting."""
        if self._is_native:
            # Changing the timeout would set the line rate again, which disturbs some drivers.
            waiting = self._serial.in_waiting
            return bytes(self._serial.read(waiting)) if waiting else b""
        # Other ports do not count the waiting bytes, but changing the timeout disturbs nothing there.
        self._serial.timeout = 0
        rest = bytes(self._serial.read(_CHUNK))
        self._serial.timeout = _POLL_SECONDS
        return rest

    def set_baud(self, baud: int) -> None:
        """Change the line rate; raise LinkError if the port does not support it."""
        try:
            self._serial.baudrate = baud
            self._serial.write_timeout = _write_seconds(baud)
        except (OSError, ValueError) as cause:
            raise LinkError(f"{self.url}: cannot be set to {baud} baud: {cause}") from cause
        self.baud = baud

    def send_break(self) -> None:
        """Send a break, which returns a device to its configured rate.

        On a pty or a socket, which have no serial line, this has no effect.
        """
        with suppress(OSError):  # the next write reports a failed port
            self._serial.break_condition = True
            time.sleep(_BREAK_SECONDS)
            self._serial.break_condition = False
            time.sleep(_BYTE_SECONDS)

    def close(self) -> None:
        """Release the port."""
        try:
            self._serial.close()
        except OSError as cause:
            raise LinkError(f"{self.url}: cannot be closed: {cause}") from cause
