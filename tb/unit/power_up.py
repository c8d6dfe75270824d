"""Port that records every clock of a device whose registers and memories start with random values."""

import ctypes
from functools import cache as once
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tb.bench import RTL
from tb.generated import whole
from tb.verilated import shared_library

from qstep.spec.config import Config
from qstep_rtl import sources
from qstep_rtl.sources import source

__all__ = ["RESET_CLOCKS", "TX", "PoweredUp", "replayed"]

_HARNESS = Path(__file__).with_suffix(".cpp")
_TOP = "qstep_device"
_RESET, _VALID = 1 << 9, 1 << 8
_RX_READY, _TX_VALID = 1 << 25, 1 << 24
TX = _TX_VALID | 0xFF << 16

RESET_CLOCKS = 4
"""Clocks of the initial reset."""

_CHUNK_CLOCKS = 256

_FLUSH_CLOCKS = 64
"""Clocks until all pipelines have been filled once.

Before that, agents may write their random initial values. This is harmless because the tables are still
empty, but assertions may fail.
"""

Clocks = NDArray[np.uint32]


@once
def _library(config: Config, rtl: Path = RTL) -> ctypes.CDLL:
    files = [source(path.name, rtl) for path in sources.rtl_files(config)]
    text = whole(config)
    library = ctypes.CDLL(str(shared_library(_TOP, rtl, files, _HARNESS, generated=text)))
    pointer = ctypes.c_void_p
    library.device_new.restype, library.device_new.argtypes = pointer, [ctypes.c_int]
    library.device_delete.restype, library.device_delete.argtypes = ctypes.c_int, [pointer]
    library.device_forgive.argtypes = [pointer]
    library.device_run.restype = None
    library.device_run.argtypes = [pointer, pointer, pointer, ctypes.c_uint64]
    return library


def replayed(config: Config, inputs: NDArray[np.uint16], seed: int, rtl: Path = RTL) -> Clocks:
    """Return a device's outputs in each clock for given inputs and other random power-up values.

    `rtl` is the folder of the hand-written RTL; tests also pass copies with a planted fault.
    An output word is {rx_ready, tx_valid, tx_data:8, divisor:16}; tx_data is 0 unless tx_valid is 1.

    Raises
    ------
    AssertionError
        An RTL assertion failed after the initial flush.
    """
    library = _library(config, rtl)
    device = library.device_new(seed)
    seen = np.zeros(len(inputs), np.uint32)
    for first, last in ((0, _FLUSH_CLOCKS), (_FLUSH_CLOCKS, len(inputs))):
        library.device_forgive(device)
        places = inputs[first:last].ctypes.data, seen[first:last].ctypes.data
        library.device_run(device, *places, last - first)
    errors = library.device_delete(device)
    assert errors == 0, f"{errors} assertions failed after power-up {seed}"
    return seen


class PoweredUp:
    """A byte port to a device with random initial register values; a `seed` of 0 selects a clean start.

    Attributes
    ----------
    inputs : ndarray of uint16
        All inputs so far, {reset, valid, data:8} for each clock.
    outputs : ndarray of uint32
        Outputs in these clocks, in the format of :func:`replayed`.
    written : int
        Clocks until all memories had been written, as recorded by :meth:`all_written`.
    """

    def __init__(self, config: Config, seed: int = 0) -> None:
        self._library = _library(config)
        self._device = self._library.device_new(seed)
        self._pending = bytearray()
        self.written = 0
        self._inputs: list[NDArray[np.uint16]] = []
        self._outputs: list[Clocks] = []
        self._pass(np.where(np.arange(_CHUNK_CLOCKS) < RESET_CLOCKS, _RESET, 0).astype(np.uint16))

    @property
    def inputs(self) -> NDArray[np.uint16]:
        return np.concatenate(self._inputs)

    @property
    def outputs(self) -> Clocks:
        return np.concatenate(self._outputs)

    def _pass(self, inputs: NDArray[np.uint16]) -> Clocks:
        seen = np.zeros(len(inputs), np.uint32)
        self._library.device_run(self._device, inputs.ctypes.data, seen.ctypes.data, len(inputs))
        self._inputs.append(inputs)
        self._outputs.append(seen)
        return seen

    def all_written(self) -> None:
        """Record that no memory contains power-up values any more."""
        self.written = sum(map(len, self._inputs))

    def write(self, data: bytes) -> None:
        """Queue bytes."""
        self._pending += data

    def read(self, timeout: float) -> bytes:
        """Run a batch of clocks and return the received bytes; callers repeat this until a deadline."""
        offered = self._pending[:_CHUNK_CLOCKS]
        del self._pending[:_CHUNK_CLOCKS]
        inputs = np.zeros(_CHUNK_CLOCKS, np.uint16)
        inputs[: len(offered)] = np.frombuffer(bytes(offered), np.uint8)
        inputs[: len(offered)] |= _VALID
        seen = self._pass(inputs)
        assert (seen[: len(offered)] & _RX_READY).all(), "a byte within the credits is not taken"
        return bytes((seen[seen & _TX_VALID != 0] >> 16 & 0xFF).astype(np.uint8))

    def close(self) -> None:
        """End the simulation; calling it twice is harmless."""
        if self._device:
            self._library.device_delete(self._device)
        self._device = 0
