"""Fuzzes the simulated device against the reference device, guided by hardware branch coverage."""

import ctypes
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from tb.fuzz.pieces import Bytes, Kind, pieces
from tb.planted import plant_python
from tb.unit.device_pair import Pair, agree_at_the_end

from qstep.device.link.frames import encode_frame
from qstep.spec.config import Config, Link
from qstep.spec.protocol import CODES, Request
from qstep_rtl import device, receiver, request_reader, session, sources
from qstep_rtl.generate import generate
from qstep_sim.build import compile_library
from qstep_sim.port import SimPort

__all__ = ["FAULTS", "prepared"]

CONFIG = Config(states=4, actions=3, format="Q4.4", loop_depth=3, link=Link(buffer_bytes=512))

_MOST_BYTES = 4096
"""Maximum number of bytes used from an input; longer inputs would only take more time."""


class CountingPort(SimPort):
    """A simulated device whose library counts how often each branch was taken."""

    def counts(self) -> NDArray[np.int64]:
        """Return the counts since the last call, always in the same order."""
        write = self._library.qs_write_coverage
        write.restype, write.argtypes = None, [ctypes.c_void_p, ctypes.c_char_p]
        with tempfile.NamedTemporaryFile() as file:
            write(self._device, file.name.encode())
            lines = file.read().splitlines()
        # Line format: C 'branch' count
        return np.array([int(line.rpartition(b" ")[2]) for line in lines if line[:1] == b"C"])


class _Device:
    """A device that receives one input after another.

    Attributes
    ----------
    counts : ndarray of uint8
        How often the last input took each branch of the hardware, 255 at most.
    """

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            generate(CONFIG, Path(folder))
            verilog = [*sources.rtl_files(CONFIG), Path(folder) / "qstep_device.v"]
            library = compile_library(verilog, "qstep_device", coverage=True)
        self._port = CountingPort(CONFIG, library=library)
        self._pair = Pair(self._port, CONFIG)
        self.counts = np.zeros(self._port.counts().size, np.uint8)

    def one_input(self, data: bytes) -> None:
        """Send a stream after a reset; compare the answers, counters and table with the reference's."""
        pair = self._pair
        _reset(pair)
        pair.compare(encode_frame(Request.HELLO, 0, 0, b"once"))
        pair.ask(Request.CLEAR)
        pair.ask(Request.REWARDS, bytes(1 + CODES // 2))
        pair.ask(Request.REWARDS, bytes([CODES // 2]) + bytes(CODES // 2))
        self._port.counts()
        _send(pair, data[:_MOST_BYTES])
        pair.compare(b"\0")
        agree_at_the_end(pair)
        np.minimum(self._port.counts(), 255, out=self.counts, casting="unsafe")


def _reset(pair: Pair) -> None:
    """Reset both devices; an answer beforehand shows that clocks have passed since the last reset.

    The device counts resets, and two resets without a clock in between would count as one.
    """
    pair.compare(b"\0" + encode_frame(Request.STATUS, 0, 0, b""))
    pair.port.reset()
    pair.reference.reset()


def _send(pair: Pair, data: bytes) -> None:
    """Send the stream that an input encodes, in batches that fit the device's buffer.

    Whether COUNTERS includes a damaged frame that follows it depends on timing, so COUNTERS ends a
    batch.
    """
    sent, seq = b"", pair.expected
    for piece in pieces(Bytes(data)):
        if piece.kind is Kind.RESET:
            pair.compare(sent)
            _reset(pair)
            sent, seq = b"", 0
            continue
        frame = piece.frame(seq, pair.reference.epoch)
        if len(sent) + len(frame) > CONFIG.link.buffer_bytes:
            pair.compare(sent)
            sent, seq = b"", pair.expected
            frame = piece.frame(seq, pair.reference.epoch)
        sent += frame
        seq += piece.kind is Kind.REQUEST
        if piece.alone or piece.kind is Kind.HELLO or piece.type == Request.COUNTERS:
            pair.compare(sent)
            sent, seq = b"", pair.expected
    pair.compare(sent)


def prepared() -> tuple[Callable[[bytes], None], NDArray[np.uint8]]:
    """Return a function that tries one input, and the hardware branch counts that it updates."""
    simulated = _Device()
    return simulated.one_input, simulated.counts


@contextmanager
def _planted(module: ModuleType, old: str, new: str, user: object, name: str) -> Iterator[None]:
    made = getattr(plant_python(module, old, new), name)
    with patch.object(user, name, made):
        yield


FAULTS: dict[str, Callable[[], object]] = {
    "the CRC is not compared": lambda: _planted(receiver, " & crc.matches", "", device, "Receiver"),
    "a reading request is repeated although it is not the latest": lambda: _planted(
        session, "ahead == 0xFFFF", "ahead > 0x8000", request_reader, "Session"
    ),
}
