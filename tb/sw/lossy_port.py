"""Test ports to a reference device, some of which lose, corrupt, duplicate or delay frames."""

import random
import time
from collections.abc import Callable

from tb.reference_device import ReferenceDevice

from qstep.device.link.frames import DELIMITER
from qstep.device.link.ports import Port

__all__ = ["FAULTS", "DirectPort", "LossyPort", "NoisyPort", "ResettingPort", "Silent"]


class DirectPort:
    """Passes every byte on, and records what the host wrote."""

    def __init__(self, device: ReferenceDevice) -> None:
        self.device = device
        self.written: list[bytes] = []
        self.closed = False
        self._arrived = b""

    def write(self, data: bytes) -> None:
        self.written.append(data)
        self._arrived += self.back(self.device.receive(self.there(data)))

    def read(self, timeout: float) -> bytes:
        if not self._arrived:
            time.sleep(timeout)
        data, self._arrived = self._arrived, b""
        return data

    def close(self) -> None:
        self.closed = True

    def there(self, data: bytes) -> bytes:
        """Return what the device receives when the host sends `data`."""
        return data

    def back(self, data: bytes) -> bytes:
        """Return what the host receives when the device sends `data`."""
        return data


class Silent(DirectPort):
    """A line that is cut after `frames` frames; whatever the host writes afterwards is lost."""

    def __init__(self, device: ReferenceDevice, frames: int) -> None:
        super().__init__(device)
        self.frames = frames

    def there(self, data: bytes) -> bytes:
        kept = data.split(DELIMITER)[:-1][: self.frames]
        self.frames -= len(kept)
        return b"".join(frame + DELIMITER for frame in kept)


Fault = Callable[[random.Random, bytes], bytes]


def _corrupt(rng: random.Random, frame: bytes) -> bytes:
    at = rng.randrange(len(frame))
    return frame[:at] + bytes([frame[at] ^ 1 << rng.randrange(8)]) + frame[at + 1 :]


def _insert(rng: random.Random, frame: bytes) -> bytes:
    at = rng.randrange(len(frame) + 1)
    return frame[:at] + rng.randbytes(rng.randint(1, 5)) + frame[at:]


def _truncate(rng: random.Random, frame: bytes) -> bytes:
    at = rng.randrange(len(frame))
    return frame[:at] if rng.random() < 0.5 else frame[at:]


FAULTS: dict[str, Fault] = {
    "drop": lambda rng, frame: b"",
    "duplicate": lambda rng, frame: frame * 2,
    "corrupt": _corrupt,
    "truncate": _truncate,
    "insert": _insert,
    # The delimiter is lost, and with it the boundary to the next frame.
    "splice": lambda rng, frame: frame[: -1 - rng.randint(0, 4)],
    # Frames with these faults arrive later: see LossyPort.
    "delay": lambda rng, frame: b"",
    "swap": lambda rng, frame: b"",
}
"""Faults that can be injected into a frame, by name."""


class LossyPort:
    """Injects a fault into each frame, in either direction, with probability `rate`.

    A delayed frame arrives after a later one, or when the other side waits.
    """

    def __init__(
        self, port: Port, seed: int, rate: float, faults: tuple[str, ...] = tuple(FAULTS)
    ) -> None:
        self._port = port
        self._rng = random.Random(seed)
        self._rate = rate
        self._faults = faults
        self._late: dict[str, list[bytes]] = {"there": [], "back": []}
        self._swapped = {"there": b"", "back": b""}
        self._rest = b""  # start of a frame whose end has not been read
        self.hits = dict.fromkeys(faults, 0)

    def write(self, data: bytes) -> None:
        self._port.write(self._mangled("there", data))

    def read(self, timeout: float) -> bytes:
        arrived = self._port.read(0)
        if not arrived and self._late["there"]:
            self._port.write(self._late["there"].pop(0))
        arrived = arrived or self._port.read(timeout)
        if not arrived and any(self._swapped.values()):
            there, back = self._swapped.values()
            self._swapped = {"there": b"", "back": b""}
            self._port.write(there)
            return back
        whole, end, self._rest = (self._rest + arrived).rpartition(DELIMITER)
        return self._mangled("back", whole + end)

    def close(self) -> None:
        self._port.close()

    def _mangled(self, direction: str, data: bytes) -> bytes:
        late = self._late[direction]
        out = b""
        for frame in data.split(DELIMITER)[:-1]:
            frame += DELIMITER
            if self._swapped[direction]:
                self.hits["swap"] += 1
                out += frame + self._swapped[direction]
                self._swapped[direction] = b""
                continue
            if self._rng.random() < self._rate:
                fault = self._rng.choice(self._faults)
                self.hits[fault] += fault != "swap"
                if fault == "delay":
                    late.append(frame)
                elif fault == "swap":
                    self._swapped[direction] = frame
                frame = FAULTS[fault](self._rng, frame)
            out += frame
            if late and self._rng.random() < 0.5:
                out += late.pop(0)
        return out


class ResettingPort(DirectPort):
    """Resets the device before, within or after one in `period` frames on average."""

    def __init__(self, device: ReferenceDevice, seed: int, period: int) -> None:
        super().__init__(device)
        self._rng = random.Random(seed)
        self._period = period
        self.is_calm = False
        self.resets = 0

    def write(self, data: bytes) -> None:
        for frame in data.split(DELIMITER)[:-1]:
            frame += DELIMITER
            if self.is_calm or self._rng.random() >= 1 / self._period:
                super().write(frame)
                continue
            at = self._rng.choice((0, self._rng.randrange(len(frame)), len(frame)))
            super().write(frame[:at])
            self.device.reset()
            self.resets += 1
            super().write(frame[at:])


class NoisyPort:
    """Flips random bits in both directions: one bit in `period` bytes on average."""

    def __init__(self, port: Port, seed: int, period: int) -> None:
        self._port = port
        self._rng = random.Random(seed)
        self._period = period
        self.flips = 0

    def write(self, data: bytes) -> None:
        self._port.write(self._mangled(data))

    def read(self, timeout: float) -> bytes:
        return self._mangled(self._port.read(timeout))

    def close(self) -> None:
        self._port.close()

    def _mangled(self, data: bytes) -> bytes:
        out = bytearray(data)
        at = int(self._rng.expovariate(1 / self._period))
        while at < len(out):
            out[at] ^= 1 << self._rng.randrange(8)
            self.flips += 1
            at += 1 + int(self._rng.expovariate(1 / self._period))
        return bytes(out)
