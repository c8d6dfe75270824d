"""Fuzzes the driver: frames between it and a device are lost, damaged, delayed, duplicated or forged.

Without a forged frame, the driver either finishes with results that match the model's, or raises one of
QStep's errors after the device has applied a prefix of the transitions. A lying device may report
anything to the driver, but must not cause any other exception or an endless wait.
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from enum import IntEnum
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
from tb.fuzz.pieces import Bytes, damaged
from tb.planted import plant_python
from tb.reference_device import ReferenceDevice

from qstep.device.lane import LinkDevice
from qstep.device.link import driver, session, window
from qstep.device.link.frames import DELIMITER, decode_frame, encode_frame
from qstep.errors import QStepError
from qstep.golden.lane import Model
from qstep.mdp.transitions import Transitions
from qstep.spec.config import Config, Link
from qstep.spec.protocol import COMMON
from qstep.spec.settings import Hyperparameters

__all__ = ["FAULTS", "prepared"]

CONFIG = Config(4, 3, link=Link(baud=6_000_000, buffer_bytes=512))
HYPER = Hyperparameters(alpha=0.5, gamma=0.75, rounding="stochastic", seed=5)

_MOST_READS = 10_000


def _walk(count: int) -> Transitions:
    rng = np.random.default_rng(1)
    return Transitions.from_arrays(
        CONFIG,
        state=rng.integers(CONFIG.states, size=count),
        action=rng.integers(CONFIG.actions, size=count),
        reward=rng.choice([-1.0, 0.5, 2.0], count),
        next_state=rng.integers(CONFIG.states, size=count),
        terminated=rng.random(count) < 0.1,
    )


WALK = _walk(70)


def _tables() -> dict[int, list[Any]]:
    """Return the table after each number of transitions."""
    model = Model(CONFIG)
    model.configure(HYPER)
    tables = {0: model.table.tolist()}
    for done in range(len(WALK)):
        model.apply(WALK[done : done + 1])
        tables[done + 1] = model.table.tolist()
    return tables


TABLES = _tables()


class Mishap(IntEnum):
    """Fault to inject into a frame; unlisted numbers mean no fault."""

    LOST = 1
    REPLACED = 2
    DAMAGED = 3
    DOUBLED = 4
    DELAYED = 5
    FORGED = 6


class Clock:
    """The driver's clock, which advances only while a port has nothing to read."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


class Line:
    """A port to a reference device, on which a fuzzing input chooses each frame's fault."""

    def __init__(self, source: Bytes, clock: Clock) -> None:
        self.device = ReferenceDevice(CONFIG)
        self.has_forged = False
        self._source, self._clock = source, clock
        self._late = {"there": b"", "back": b""}
        self._arrived = b""
        self._reads = 0

    def write(self, data: bytes) -> None:
        for frame in data.split(DELIMITER)[:-1]:
            answers = self.device.receive(self._mangled("there", frame + DELIMITER))
            for answer in answers.split(DELIMITER)[:-1]:
                self._arrived += self._mangled("back", answer + DELIMITER)

    def read(self, timeout: float) -> bytes:
        self._reads += 1
        assert self._reads < _MOST_READS, "the driver does not give up"
        if not self._arrived:
            self._clock.now += timeout
        data, self._arrived = self._arrived, b""
        return data

    def close(self) -> None:
        pass

    def _mangled(self, direction: str, frame: bytes) -> bytes:
        if frame == DELIMITER:  # only ends a truncated frame
            return frame
        source, late = self._source, self._late
        before, late[direction] = late[direction], b""
        match source.number() % 8:
            case Mishap.LOST:
                frame = b""
            case Mishap.REPLACED:
                frame = source.string()
            case Mishap.DAMAGED:
                frame = damaged(frame, source.number(2))
            case Mishap.DOUBLED:
                frame *= 2
            case Mishap.DELAYED:
                late[direction], frame = frame, b""
            case Mishap.FORGED if direction == "back":
                frame = self._forged(frame)
        return frame + before

    def _forged(self, frame: bytes) -> bytes:
        """Return a forged version of an answer, with a good CRC."""
        answer = decode_frame(frame[:-1])
        if answer is None or len(answer.payload) < COMMON.size:
            return frame
        self.has_forged = True
        source = self._source
        status, expected, applied = COMMON.unpack(answer.payload)
        which = source.number()
        kind, seq, epoch = answer.type, answer.seq, answer.epoch
        if which & 1:
            status = source.number()
        if which & 2:
            expected = (expected + source.number(2)) % (1 << 16)
        if which & 4:
            applied = (applied + source.number(8)) % (1 << 64)
        if which & 8:
            kind = source.number()
        if which & 16:
            seq = (seq + source.number(2)) % (1 << 16)
        if which & 32:
            epoch ^= source.number(4)
        data = answer.payload[COMMON.size :]
        if which & 64:  # bytes after the first are missing
            data = data[:1] + data[1 + source.number() :]
        if which & 128:
            data = source.string()
        payload = COMMON.pack(status, expected, applied) + data
        return encode_frame(kind, seq, epoch, payload)


def _one_input(data: bytes) -> None:
    """Run a host against a device over a line whose faults are chosen by `data`."""
    clock = Clock()
    line = Line(Bytes(data), clock)
    nonces = iter(range(1, 1 << 16))
    with (
        patch.object(session, "time", clock),
        patch.object(secrets, "randbits", lambda _: next(nonces)),
    ):
        try:
            device = LinkDevice(line, CONFIG)
            device.configure(HYPER)
            device.clear()
            device.apply(WALK)
            found = device.read().tolist(), device.status().applied
            device.counters()
            device.close()
        except QStepError:
            found = None
    if line.has_forged:
        return
    reference = line.device
    assert reference.table.tolist() == TABLES[reference.applied]
    if found is not None:
        assert found == (TABLES[len(WALK)], len(WALK))


def prepared() -> tuple[Callable[[bytes], None], None]:
    """Return a function that tries one input, and no branch counts."""
    return _one_input, None


@contextmanager
def _planted(
    module: ModuleType, old: str, new: str, *users: tuple[ModuleType, str]
) -> Iterator[None]:
    made = plant_python(module, old, new)
    with ExitStack() as stack:
        for user, name in users:
            stack.enter_context(patch.object(user, name, getattr(made, name)))
        yield


FAULTS: dict[str, Callable[[], object]] = {
    "more requests are confirmed than were sent": lambda: _planted(
        window, "if done > len(self.pending):", "if False:", (session, "Window")
    ),
    "the length of the answer to HELLO is not checked": lambda: _planted(
        driver, "if len(hello) != layout.size:", "if False:", (driver, "checked_hello")
    ),
}
