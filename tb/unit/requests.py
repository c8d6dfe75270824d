"""Random requests for a device: legal requests, every kind of illegal request, and damaged frames."""

import random
import struct
from collections.abc import Callable, Sequence

from qstep.device.link.frames import encode_frame
from qstep.spec.config import Config
from qstep.spec.protocol import COMMON, RecordLayout, Request, max_payload

__all__ = ["RequestMaker", "packed_record"]


def packed_record(layout: RecordLayout, **fields: int) -> bytes:
    """Return a record without range checks; if `state` is missing, it continues the previous record."""
    full = "state" in fields
    values = {"continues": not full, **fields}
    bits = sum(value << layout.offsets[name] for name, value in values.items())
    return bits.to_bytes(layout.size(full=full), "little")


class RequestMaker:
    """Generates request payloads and frames for one configuration.

    Parameters
    ----------
    config : Config
        Geometry, format and buffer.
    rng : random.Random
        Generator for all random choices.
    divisors : sequence of int
        Divisors in legal BAUD requests.
    """

    def __init__(
        self, config: Config, rng: random.Random, divisors: Sequence[int] = (8, 16)
    ) -> None:
        self._config = config
        self._rng = rng
        self._divisors = divisors
        self._most = max_payload(config.link.buffer_bytes)

    def request(self, wrong: float = 0.1) -> tuple[int, bytes]:
        """Return the type and payload of a random request other than HELLO.

        With a probability of about `wrong`, the request is out of range or has a wrong length.
        """
        rng = self._rng
        makers: dict[int, Callable[[bool], bytes]] = {
            Request.CONFIGURE: self._configure,
            Request.NOISE: self._noise,
            Request.REWARDS: self._rewards,
            Request.CLEAR: lambda wrong: b"",
            Request.LOAD: self._load,
            Request.READ: self._read,
            Request.APPLY_CODED: lambda wrong: self._apply(wrong, coded=True),
            Request.APPLY_RAW: lambda wrong: self._apply(wrong, coded=False),
            Request.STATUS: lambda wrong: b"",
            Request.COUNTERS: lambda wrong: b"",
            Request.BAUD: lambda wrong: struct.pack(
                "<H", 7 if wrong else rng.choice(self._divisors)
            ),
        }
        if rng.random() < wrong / 4:
            return rng.choice([(0x00, b""), (0x20, rng.randbytes(3)), (0xC8, b"x")])
        weights = [8 if kind in (Request.APPLY_CODED, Request.APPLY_RAW) else 2 for kind in makers]
        (kind,) = rng.choices(list(makers), weights)
        payload = makers[kind](rng.random() < wrong)
        if rng.random() < wrong / 4:
            payload = payload + b"x" if len(payload) < self._most else payload[:-1]
        return kind, payload

    def damaged(self, frame: bytes) -> bytes:
        """Return a frame with one detectable fault, or bytes that are not a frame."""
        rng = self._rng
        at = rng.randrange(len(frame) - 1)
        return rng.choice(
            [
                frame[:at] + bytes([frame[at] ^ 1 << rng.randrange(8)]) + frame[at + 1 :],
                frame[:at] + frame[at + 1 :],
                frame[:at] + b"\0",
                encode_frame(Request.STATUS, 0, 0, rng.randbytes(self._most + rng.choice([1, 9]))),
                b"\0" + rng.randbytes(30) + b"\0",
                b"\0\0\0",
            ]
        )

    def _configure(self, wrong: bool) -> bytes:
        alpha = self._rng.randrange(65536 if wrong else 32769)
        kappa = self._rng.randrange(65536) if wrong else self._rng.randint(0, alpha)
        return struct.pack("<HHB", alpha, kappa, self._rng.randrange(4 if wrong else 3))

    def _noise(self, wrong: bool) -> bytes:
        x = 0 if wrong else self._rng.randrange(1, 1 << 32)
        return struct.pack("<II", x, self._rng.getrandbits(32))

    def _rewards(self, wrong: bool) -> bytes:
        size = self._config.value_bytes
        first = self._rng.randrange(256)
        count = self._rng.choice([0, 1, 5, 256 - first + wrong])
        values = self._rng.randbytes(min(count, (self._most - 1) // size) * size)
        return bytes([first]) + (values[:-1] if wrong and self._rng.random() < 0.3 else values)

    def _load(self, wrong: bool) -> bytes:
        state, action, count = self._entries(wrong, (self._most - 3) // self._config.value_bytes)
        values = self._rng.randbytes(count * self._config.value_bytes)
        if wrong and self._rng.random() < 0.3:
            values = values[:-1]
        return struct.pack("<HB", state, action) + values

    def _read(self, wrong: bool) -> bytes:
        most = (self._most - COMMON.size) // self._config.value_bytes
        return struct.pack("<HBH", *self._entries(wrong, most + 2 * wrong))

    def _entries(self, wrong: bool, most: int) -> tuple[int, int, int]:
        config, rng = self._config, self._rng
        state = rng.randrange(config.states + wrong)
        action = rng.randrange(config.actions + wrong)
        room = max(1, (config.states - state) * config.actions - action)
        count = rng.choice([1, room + wrong, rng.randint(0 if wrong else 1, room)])
        return state, action, min(count, most)

    def _apply(self, wrong: bool, *, coded: bool) -> bytes:
        rng = self._rng
        limit = rng.choice([0, 5, 30, 100, self._most])
        payload = b""
        while True:
            follows = payload != b"" or (wrong and rng.random() < 0.05)
            outside = wrong and rng.random() < 0.1
            record = self.record(
                coded=coded, continuing=follows and rng.random() < 0.6, outside=outside
            )
            if len(payload) + len(record) > min(limit, self._most):
                break
            payload += record
        return payload[:-1] if wrong and rng.random() < 0.3 else payload

    def record(self, *, coded: bool, continuing: bool, outside: bool = False) -> bytes:
        """Return a random record; with `outside`, its numbers may exceed the table's limits."""
        config, rng = self._config, self._rng
        layout = RecordLayout.coded(config) if coded else RecordLayout.raw(config)
        states = 1 << config.state_bits if outside else config.states
        actions = 1 << config.action_bits if outside else config.actions
        fields = {
            "action": rng.randrange(actions),
            "next_state": rng.randrange(states),
            "terminated": int(rng.random() < 0.2),
            "reward": rng.getrandbits(layout.reward_bits),
        }
        if not continuing:
            fields["state"] = rng.randrange(states)
        record = packed_record(layout, **fields)
        padding = -layout.offsets["state"] - len(fields.keys() & {"state"}) * config.state_bits & 7
        noise = rng.getrandbits(padding) << 8 - padding if padding else 0
        return record[:-1] + bytes([record[-1] | noise])
