"""Stimuli for the device: a host that sends every legal request, and many illegal ones."""

import random
import struct
from collections.abc import Iterator

import cocotb
from tb.reference_device import ReferenceDevice
from tb.unit.requests import RequestMaker
from tb.uvm.components import ItemSequence
from tb.uvm.device_items import Bytes

from qstep import Config
from qstep.device.link.frames import decode_frame, encode_frame
from qstep.spec.protocol import COMMON, REFUSALS, Request, StatusCode, max_payload

__all__ = ["Everything", "Host"]

_UNKNOWN = (0x00, 0x0D, 0x7F, 0x80, 0xFF)


class Host:
    """Creates frames, and predicts the device's answers with its own reference device.

    Parameters
    ----------
    config : Config
        The device's configuration.
    rng : random.Random
        Source of all random choices.
    """

    def __init__(self, config: Config, rng: random.Random) -> None:
        self.config = config
        self.rng = rng
        self.maker = RequestMaker(config, rng)
        self.idle = self.stall = 0.0
        self.status, self.expected = StatusCode.OK, 0
        """Status and expected sequence number in the latest predicted answer."""
        self._device = ReferenceDevice(config)

    @property
    def epoch(self) -> int:
        return self._device.epoch

    @property
    def halted(self) -> bool:
        """Whether a refusal has ended the session."""
        return self.status in REFUSALS

    def item(self, name: str, data: bytes, *, alone: bool = False, reset: bool = False) -> Bytes:
        frames = list(filter(None, self._device.receive(data).split(b"\0")))
        for frame in frames:
            answer = decode_frame(frame)
            assert answer is not None
            status, self.expected, _ = COMMON.unpack(answer.payload)
            self.status = StatusCode(status)
        if reset:
            self._device.reset()
        how = {"alone": alone, "reset": reset}
        return Bytes(name, data, answers=len(frames), idle=self.idle, stall=self.stall, **how)

    def hello(self) -> Bytes:
        return self.item("HELLO", encode_frame(Request.HELLO, 0, 0, self.rng.randbytes(4)))

    def ask(self, kind: int, payload: bytes) -> Bytes:
        """Return the next request in sequence."""
        frame = encode_frame(kind, self.expected, self.epoch, payload)
        return self.item(f"type {kind}", frame, alone=kind == Request.COUNTERS)

    def out_of_sequence(self, kind: int, payload: bytes, ahead: int) -> Bytes:
        """Return a request whose number exceeds the expected one by `ahead`, which may be negative."""
        frame = encode_frame(kind, (self.expected + ahead) % 65536, self.epoch, payload)
        return self.item(f"type {kind}, {ahead} ahead", frame)

    def stale(self, kind: int, payload: bytes) -> Bytes:
        frame = encode_frame(kind, self.expected, self.epoch ^ 1 << self.rng.randrange(32), payload)
        return self.item(f"type {kind}, stale", frame)

    def reset(self, before: bytes) -> Bytes:
        """Return a reset that follows the first bytes of a frame."""
        return self.item("reset", before, alone=True, reset=True)

    # Sequences

    def start(self) -> Iterator[Bytes]:
        """Bring a device into a known state: a session, an empty table, rewards and coefficients."""
        yield self.hello()
        yield self.ask(Request.CLEAR, b"")
        size = self.config.value_bytes
        most = min(256, (max_payload(self.config.link.buffer_bytes) - 1) // size)
        for first in range(0, 256, most):
            values = self.rng.randbytes(min(most, 256 - first) * size)
            yield self.ask(Request.REWARDS, bytes([first]) + values)
        yield self.ask(Request.CONFIGURE, struct.pack("<HHB", 16384, 14746, 2))

    def every_answer(self) -> Iterator[Bytes]:
        """Send each request in several ways, so that it is answered with every possible status."""
        right, short, outside = self._payloads()
        for kind in [*right, *_UNKNOWN]:
            payload = right.get(kind, b"")
            if kind in right:
                yield self.ask(kind, payload)
            yield self.out_of_sequence(kind, payload, -1)
            yield self.ask(Request.STATUS, b"")
            for ahead in (-2, -32767, 1, 32767, -32768):
                if self.expected + ahead >= 0 or ahead < -2:
                    yield self.out_of_sequence(kind, payload, ahead)
            yield self.stale(kind, payload)
            for wrong in (short, outside):
                if kind in wrong:
                    yield self.ask(kind, wrong[kind])
                    yield from self.after_a_refusal(kind, payload)
            if kind not in right:
                yield self.ask(kind, payload)
                yield from self.after_a_refusal(kind, payload)
        yield self.item("HELLO too long", encode_frame(Request.HELLO, 0, 0, b"12345"))

    def after_a_refusal(self, kind: int, payload: bytes) -> Iterator[Bytes]:
        """Send a halted session a repeated, the next and a later request, then open another session."""
        assert self.halted
        for ahead in (-1, 0, 5):
            yield self.out_of_sequence(kind, payload, ahead)
        yield self.hello()

    def _payloads(self) -> tuple[dict[int, bytes], ...]:
        """Return three sets of payloads by request type: valid, of wrong length, and out of range."""
        config = self.config
        value = self.rng.randbytes(config.value_bytes)
        steps = {coded: self.maker.record(coded=coded, continuing=False) for coded in (True, False)}
        follows = {
            coded: self.maker.record(coded=coded, continuing=True) for coded in (True, False)
        }
        right: dict[int, bytes] = {
            Request.CONFIGURE: struct.pack("<HHB", 12000, 11000, 2),
            Request.NOISE: struct.pack("<II", 1, 0xFFFFFFFF),
            Request.REWARDS: b"\xff" + value,
            Request.CLEAR: b"",
            Request.LOAD: struct.pack("<HB", config.states - 1, config.actions - 1) + value,
            Request.READ: struct.pack("<HBH", 0, 0, 5),
            Request.APPLY_CODED: steps[True] + follows[True],
            Request.APPLY_RAW: steps[False] + follows[False],
            Request.STATUS: b"",
            Request.COUNTERS: b"",
            Request.BAUD: struct.pack("<H", 8),
        }
        short = {kind: payload + b"x" for kind, payload in right.items()}
        short[Request.REWARDS] = b""
        short[Request.LOAD] = right[Request.LOAD][:3]
        for kind, coded in ((Request.APPLY_CODED, True), (Request.APPLY_RAW, False)):
            short[kind] = right[kind] + steps[coded][:-1]
        outside: dict[int, bytes] = {
            Request.CONFIGURE: struct.pack("<HHB", 32769, 0, 0),
            Request.NOISE: struct.pack("<II", 0, 5),
            Request.LOAD: right[Request.LOAD] + value,
            Request.READ: struct.pack("<HBH", 0, 0, 0),
            Request.APPLY_CODED: follows[True],
            Request.APPLY_RAW: follows[False],
            Request.BAUD: struct.pack("<H", 7),
        }
        return right, short, outside

    def anything(self, count: int) -> Iterator[Bytes]:
        """Send random requests, some invalid, out of order, repeated, damaged, or in a new session."""
        rng = self.rng
        for _ in range(count):
            if rng.random() < 0.1:
                self.idle = rng.choice([0.0, 0.0, 0.1, 0.5])
                self.stall = rng.choice([0.0, 0.0, 0.3, 0.8])
            kind, payload = self.maker.request()
            choice = rng.random()
            if choice < 0.05:
                yield self.out_of_sequence(kind, payload, rng.choice([-1, -1, -2, 1, 9, 32767]))
            elif choice < 0.08:
                yield self.stale(kind, payload)
            elif choice < 0.14:
                frame = encode_frame(kind, self.expected, self.epoch, payload)
                yield self.item("damaged", self.maker.damaged(frame) + b"\0")
            elif choice < (0.6 if self.halted else 0.16):
                yield self.hello()
            else:
                yield self.ask(kind, payload)

    def read_all(self) -> Iterator[Bytes]:
        """Read the whole table, and everything else that a device reports."""
        if self.halted:
            yield self.hello()
        for state in range(self.config.states):
            yield self.ask(Request.READ, struct.pack("<HBH", state, 0, self.config.actions))
        yield self.ask(Request.STATUS, b"")
        yield self.ask(Request.COUNTERS, b"")

    def drops_while_totals_wait(self) -> Iterator[Bytes]:
        """Cause more dropped frames than a counter's low byte can count, while no answer is accepted."""
        self.stall = 1.0
        # In a buffer of 512 bytes, ten answers of 44 bytes leave too little space for the answer to
        # COUNTERS.
        for _ in range(10):
            yield self.ask(Request.READ, struct.pack("<HBH", 0, 0, 18 // self.config.value_bytes))
        yield self.out_of_sequence(Request.COUNTERS, b"", 0)
        for _ in range(700):
            yield self.item("broken frame", b"x\0")
        self.stall = 0.0
        yield self.ask(Request.COUNTERS, b"")

    def resets(self) -> Iterator[Bytes]:
        """Reset between frames and after every byte of a frame; the table must survive."""
        frame = encode_frame(Request.CLEAR, self.expected, self.epoch, b"")
        for cut in (0, *range(1, len(frame))):
            yield self.reset(frame[:cut])
            yield self.ask(Request.STATUS, b"")  # no session
            yield self.hello()
            yield self.ask(Request.READ, struct.pack("<HBH", 0, 0, self.config.actions))


class Everything(ItemSequence):
    """Every request with every possible answer, random requests on a bad line, and resets.

    The plusarg ``+requests=N`` sets the length of the random part.
    """

    def items(self) -> Iterator[Bytes]:
        host = Host(self.config, self.rng)
        yield host.ask(0x0A, b"")  # before any session
        yield from host.start()
        yield from host.every_answer()
        yield from host.anything(int(cocotb.plusargs.get("requests", 300)))
        yield from host.read_all()
        yield from host.drops_while_totals_wait()
        yield from host.resets()
        host.idle, host.stall = 0.2, 0.5
        yield from host.anything(30)
        yield host.item("resynchronise", b"\0", alone=True)
        yield from host.read_all()
