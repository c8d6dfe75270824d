"""The simulated device as a byte port: writes go to the device, reads return its output."""

from __future__ import annotations

import ctypes
import os
import time
import weakref
from dataclasses import replace
from functools import cache
from pathlib import Path

from qstep._io.cache import load
from qstep.errors import DeviceError, LinkError
from qstep.spec.config import Config
from qstep.spec.protocol import BITS_PER_BYTE, BREAK_BITS, LEAST_BAUD
from qstep_sim.build import build

__all__ = ["SimPort"]

_CHUNK_CLOCKS = 5000
"""Clocks per library call: about 1 ms, short enough to react to Ctrl-C."""

_OUTPUT_BYTES = 65536

_OPENING_BYTES = 80
"""Bytes of a HELLO and its answer, which are the first bytes on a serial line after a reset."""


class SimPort:
    """A byte port to a simulated device, which exists from construction to :meth:`close`.

    Simulated time passes inside :meth:`read`, and after a reset until the agents are idle. If the
    environment variable QSTEP_TRACE names a file, the device's waveform is written to it as VCD, and the
    RTL's assertions are checked.

    Parameters
    ----------
    config : Config
        The accelerator. Its library is built first unless it is cached.
    uart : bool
        Exchange the bytes over simulated serial lines, bit by bit, at the rate of ``config.link``.
    library : Path, optional
        A library from :func:`qstep_sim.build.compile_library` to simulate instead.

    Raises
    ------
    ToolMissingError, DeviceError
        As for :func:`qstep_sim.build.build`.

    Attributes
    ----------
    baud : int
        Rate of this end of the serial lines; without serial lines it has no effect.
    """

    def __init__(self, config: Config, uart: bool = False, *, library: Path | None = None) -> None:
        trace = os.environ.get("QSTEP_TRACE") or None
        path = library if library is not None else build(config, uart, trace is not None)
        self._library = _load(path)
        self._device: int = self._library.qs_create(None if trace is None else os.fsencode(trace))
        self._release = weakref.finalize(self, self._library.qs_destroy, self._device)
        self._output = ctypes.create_string_buffer(_OUTPUT_BYTES)
        # No working device is silent for longer: clearing the table takes one clock per entry.
        self._work_clocks = 2 * config.states * config.actions + 20_000
        if config.acting:
            # An access to a word of the agents' memories takes a few hundred clocks, and bytes wait
            # until their COBS block is complete.
            self._work_clocks += 200_000 + config.lanes * config.link.buffer_bytes
        # Agents are busy for a while after a reset, and simulated bytes reach them sooner than over any
        # real line.
        opening_clocks = _OPENING_BYTES * BITS_PER_BYTE * config.link.divisor
        self._settle_clocks = opening_clocks if config.acting else 0
        self._link = config.link
        self.set_baud(config.link.baud)
        self.reset()

    @property
    def clocks(self) -> int:
        """Clocks simulated so far, including resets."""
        return int(self._library.qs_clocks(self._open()))

    @property
    def idle(self) -> bool:
        """Whether the device is idle: it sends nothing until something is written."""
        return self._quiet_clocks >= self._work_clocks + 20 * self._link.divisor

    @property
    def waiting(self) -> int:
        """Number of bytes written but not yet accepted by the device."""
        return len(self._pending)

    def reset(self) -> None:
        """Reset the device, and drop written bytes not yet accepted; the rate is unchanged."""
        self._pending = bytearray()
        self._received = b""
        self._quiet_clocks = 0
        self._library.qs_reset(self._open())
        self._check()
        self._pass(self._settle_clocks)

    def set_baud(self, baud: int) -> None:
        """Set the rate of this end of the serial lines.

        Raises
        ------
        ConfigError
            The device's clock cannot generate this rate to within 2 %.
        """
        self._link = replace(self._link, baud=baud)
        self.baud = baud
        self._library.qs_set_divisor(self._open(), self._link.divisor)

    def send_break(self) -> None:
        """Hold the line to the device low for longer than two bytes at any rate, then high."""
        byte_clocks = BITS_PER_BYTE * self._link.clock_hz // LEAST_BAUD
        for level, clocks in ((1, 2 * BREAK_BITS // BITS_PER_BYTE * byte_clocks), (0, byte_clocks)):
            self._library.qs_set_break(self._open(), level)
            self._pass(clocks)

    def write(self, data: bytes) -> None:
        """Queue bytes for the device, which accepts them at its own pace during :meth:`read`."""
        self._open()
        self._pending += data
        self._quiet_clocks = 0

    def read(self, timeout: float) -> bytes:
        """Simulate until the device has sent a complete frame, and return it.

        It returns at the zero byte that ends the frame, so the caller can write the next request
        while the device works on earlier ones.

        Parameters
        ----------
        timeout : float
            Seconds, 0 or more; 0 simulates for a short time. While the device is working, these are
            seconds of *its* clock, so a slow computer does not make answers late. While it is idle, they
            are wall-clock seconds, as on any silent port.

        Returns
        -------
        bytes
            Bytes up to a zero byte, or all bytes received before the timeout or before the device was
            idle.

        Raises
        ------
        DeviceError
            An assertion in the hardware failed; the message contains its text. Every later call raises
            it again.
        LinkError
            The port is closed.
        """
        began = time.monotonic()
        end = self.clocks + timeout * self._link.clock_hz
        received, self._received = self._received, b""
        while not self.idle:
            received += self._simulate(bytes(self._pending[:_OUTPUT_BYTES]))
            if received.endswith(b"\0") or self.clocks >= end:
                return received
        if not received:
            time.sleep(max(0.0, began + timeout - time.monotonic()))
        return received

    def close(self) -> None:
        """End the simulation; calling it twice is harmless."""
        self._release()

    def _pass(self, clocks: int) -> None:
        """Simulate at least `clocks` clocks without writing anything."""
        end = self.clocks + clocks
        while self.clocks < end:
            self._received += self._simulate(b"")
        self._quiet_clocks = 0

    def _simulate(self, offered: bytes) -> bytes:
        taken, sent = ctypes.c_size_t(), ctypes.c_size_t()
        self._library.qs_run(
            self._open(),
            offered,
            len(offered),
            ctypes.byref(taken),
            self._output,
            _OUTPUT_BYTES,
            ctypes.byref(sent),
            _CHUNK_CLOCKS,
            1,
        )
        self._check()
        del self._pending[: taken.value]
        self._quiet_clocks = 0 if taken.value or sent.value else self._quiet_clocks + _CHUNK_CLOCKS
        return ctypes.string_at(self._output, sent.value)

    def _open(self) -> int:
        if not self._release.alive:
            raise LinkError("the simulated device is closed")
        return self._device

    def _check(self) -> None:
        error = self._library.qs_error(self._device)
        if error:
            text = error.decode(errors="replace").strip()
            raise DeviceError(f"the simulated device failed: {text}")


@cache
def _load(path: Path) -> ctypes.CDLL:
    """Load a library and declare its functions (see the end of ``harness.cpp``)."""
    library = load(path)
    size, sizes, pointer = ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t), ctypes.c_void_p
    signatures = {
        "qs_create": (pointer, [ctypes.c_char_p]),
        "qs_destroy": (None, [pointer]),
        "qs_reset": (None, [pointer]),
        "qs_run": (
            None,
            [
                pointer,
                ctypes.c_char_p,
                size,
                sizes,
                pointer,
                size,
                sizes,
                ctypes.c_uint64,
                ctypes.c_int,
            ],
        ),
        "qs_set_divisor": (None, [pointer, ctypes.c_uint32]),
        "qs_set_break": (None, [pointer, ctypes.c_int]),
        "qs_clocks": (ctypes.c_uint64, [pointer]),
        "qs_error": (ctypes.c_char_p, [pointer]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
