"""Random conversations with a device: frames, and what the commands must make of each."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tb.reference_device import ReferenceDevice
from tb.unit.requests import RequestMaker

from qstep.device.link.frames import DELIMITER, decode_frame, encode_frame
from qstep.spec.config import Config
from qstep.spec.fixed import Rounding
from qstep.spec.protocol import (
    COMMON,
    HEADER,
    LEAST_DIVISOR,
    REFUSALS,
    Request,
    StatusCode,
    arguments_of,
    max_payload,
    requests_of,
)

__all__ = ["APPLY", "Exchange", "Talk", "body_of"]

APPLY = (Request.APPLY_CODED, Request.APPLY_RAW)

_PLACES: dict[int, str] = {
    Request.REWARDS: "<B",
    Request.CLEAR: "",
    Request.LOAD: "<HB",
    Request.READ: "<HBH",
}
"""The fields that say where the access to the tables begins."""

_LEAST_VALUES: dict[int, int] = {Request.REWARDS: 0, Request.LOAD: 1}
"""Bytes of values without which the length is wrong, whatever they are."""

_ONE = 1 << 15  # alpha = 1

_SHORT, _LONG_ONES = 40, 0.04
"""Payloads of so many bytes are rare: they take long, and differ from short ones in a length alone."""


def body_of(kind: int, seq: int, epoch: int, payload: bytes) -> bytes:
    """Return a frame as the receiver passes it on: header and payload."""
    return HEADER.pack(kind, seq, epoch, len(payload)) + payload


@dataclass(frozen=True)
class Exchange:
    """A frame, what the commands must answer, and how they must be afterwards.

    Parameters
    ----------
    kind, seq, payload : int, int, bytes
    body : bytes
        The whole frame, as the receiver passes it on.
    status : StatusCode
    is_executed : bool
        Its handler gets it, which may refuse it still.
    data_bytes : int
        Bytes of the answer that are sent behind its fixed part.
    epoch, expected : int, int
        Registers of the session.
    settings : tuple of int
        alpha, kappa and rounding.
    divisor : int
    breaks : bool
        The line breaks before this frame.
    """

    kind: int
    seq: int
    payload: bytes
    body: bytes
    status: StatusCode
    is_executed: bool
    data_bytes: int
    epoch: int
    expected: int
    settings: tuple[int, int, int]
    divisor: int
    breaks: bool

    @classmethod
    def after_reset(cls, config: Config) -> Exchange:
        """Return one that leaves everything as a reset does."""
        ok, divisor = StatusCode.OK, config.link.divisor
        return cls(0, 0, b"", b"", ok, False, 0, 0, 0, (0, 0, 0), divisor, False)

    @property
    def succeeds(self) -> bool:
        return self.is_executed and self.status == StatusCode.OK

    @property
    def is_of_tables(self) -> bool:
        return self.is_executed and self.kind in _PLACES

    @property
    def place(self) -> tuple[int, ...]:
        """Where the access to the tables begins."""
        layout = _PLACES[self.kind]
        return struct.unpack(layout, self.payload[: struct.calcsize(layout)])

    @property
    def values(self) -> bytes:
        """The bytes behind the place."""
        return self.payload[struct.calcsize(_PLACES[self.kind]) :]


class _Noting(ReferenceDevice):
    """Notes whether the rules of the session let the last request pass."""

    passed = False

    def _handler(self, kind: int) -> Any:
        self.passed = True
        return super()._handler(kind)

    def _hello(self, payload: bytes) -> tuple[StatusCode, bytes]:
        self.passed = True
        return super()._hello(payload)


class Talk:
    """Makes conversations with a device; each one begins with a reset of it.

    Parameters
    ----------
    config : Config
    seed : int
    """

    def __init__(self, config: Config, seed: int) -> None:
        self._device = _Noting(config)
        self._rng = random.Random(seed)
        self._maker = RequestMaker(config, self._rng)
        self._nonce = bytes(4)
        self._expected = 0
        self._halted = True
        self._used = False

    def conversation(self, count: int) -> list[Exchange]:
        """Return frames that follow a reset."""
        self._reset()
        return [self._exchange(*self._frame()) for _ in range(count)]

    def edges(self) -> list[Exchange]:
        """Return frames that follow a reset: each with a type, a length or an argument at an edge."""
        self._reset()
        exchanges = []
        for kind, payload in _edges(self._device.config):
            if self._halted:
                self._nonce = self._rng.randbytes(4)
                exchanges.append(self._exchange(Request.HELLO, 0, 0, self._nonce))
            exchanges.append(self._exchange(kind, self._expected, self._device.epoch, payload))
        return exchanges

    def sessions(self) -> list[Exchange]:
        """Return frames that follow a reset: nonce, epoch and number are right but for one bit."""
        self._reset()
        exchanges = []

        def greet() -> None:
            exchanges.append(self._exchange(Request.HELLO, 0, 0, self._nonce))

        def ask(ahead: int, epoch: int) -> None:
            seq = (self._expected + ahead) % 65536
            exchanges.append(self._exchange(Request.STATUS, seq, self._device.epoch ^ epoch, b""))

        for bit in range(32):
            nonce = int.from_bytes(self._nonce, "little") ^ 1 << bit
            self._nonce = nonce.to_bytes(4, "little")
            greet()
            ask(-1 ^ (bit // 16) << bit % 16, 0)
            ask(0, 0)
            ask(0, 1 << bit)
            greet()
            ask(1 << bit % 16, 0)
            ask(-1 << bit % 16, 0)
            ask(bit, 0)
        return exchanges

    def cut(self) -> bytes:
        """Return the beginning of a frame that the reset cuts off."""
        kind, payload = self._request()
        body = body_of(kind, self._expected, self._device.epoch, payload)
        return body[: self._rng.randint(1, len(body))]

    def _reset(self) -> None:
        if self._used:  # power-up is a reset
            self._device.reset()
        self._used, self._expected, self._halted = True, 0, True

    def _frame(self) -> tuple[int, int, int, bytes]:
        rng, epoch, expected = self._rng, self._device.epoch, self._expected
        if rng.random() < (0.4 if self._halted else 0.04):
            if rng.random() < 0.8:
                nonce = int.from_bytes(self._nonce, "little") ^ 1 << rng.randrange(32)
                self._nonce = nonce.to_bytes(4, "little")
            tail = b"" if rng.random() < 0.8 else b"x"
            return Request.HELLO, rng.getrandbits(16), rng.getrandbits(32), self._nonce + tail
        kind, payload = self._request()
        ahead = 0
        if rng.random() < 0.15:
            ahead = rng.choice([-1, -1, -2, 0x8001, 1 << rng.randrange(16)])
        if rng.random() < 0.04:
            epoch ^= 1 << rng.randrange(32)
        return kind, (expected + ahead) % 65536, epoch, payload

    def _request(self) -> tuple[int, bytes]:
        rng = self._rng
        while True:
            kind, payload = self._maker.request(0.2)
            if len(payload) < _SHORT or rng.random() < _LONG_ONES:
                break
        if rng.random() < 0.02:
            kind ^= 1 << rng.randrange(8)
        if rng.random() < 0.04:
            payload += bytes(1 << rng.randrange(6))
        return kind, payload

    def _exchange(self, kind: int, seq: int, epoch: int, payload: bytes) -> Exchange:
        device = self._device
        if breaks := self._rng.random() < 0.05:
            device.receive_break()
        device.passed = False
        sent = device.receive(encode_frame(kind, seq, epoch, payload))
        answer = decode_frame(sent.strip(DELIMITER))
        assert answer is not None
        number, self._expected, _ = COMMON.unpack(answer.payload)
        status = StatusCode(number)
        self._halted = status in (*REFUSALS, StatusCode.STALE_EPOCH)
        is_executed = device.passed and status != StatusCode.BAD_TYPE
        if status == StatusCode.BAD_LENGTH and kind not in APPLY:
            least = _LEAST_VALUES.get(kind)
            place = struct.calcsize(_PLACES.get(kind, ""))
            is_executed &= least is not None and len(payload) >= place + least
        sends = status == StatusCode.OK and kind in (Request.READ, Request.COUNTERS)
        alpha, kappa = device.coefficients.alpha, device.coefficients.kappa
        return Exchange(
            kind,
            seq,
            payload,
            body_of(kind, seq, epoch, payload),
            status,
            is_executed,
            len(answer.payload) - COMMON.size if sends else 0,
            device.epoch,
            self._expected,
            (alpha, kappa, list(Rounding).index(device.rounding)),
            device.divisor,
            breaks,
        )


def _edges(config: Config) -> Iterator[tuple[int, bytes]]:
    """Yield requests that are just right, or just wrong, each in one bit."""
    known = requests_of(config)
    yield from ((kind ^ 1 << bit, b"") for kind in known for bit in range(8))
    for bit in (1 << k for k in range(16)):
        for alpha, kappa in (
            (bit, 0),
            (bit, bit),
            (bit - 1, bit),
            (_ONE, bit - 1),
            (_ONE | bit, 0),
            (_ONE - 1, bit),
        ):
            yield Request.CONFIGURE, struct.pack("<HHB", alpha, kappa, 2)
        yield Request.NOISE, struct.pack("<II", bit, bit)
        yield Request.NOISE, struct.pack("<II", bit << 16, 0)
        yield Request.NOISE, struct.pack("<II", 0, bit)
        yield Request.BAUD, struct.pack("<H", bit)
    yield Request.BAUD, struct.pack("<H", LEAST_DIVISOR - 1)
    for rounding in (low | 1 << k for low in (0, 3) for k in range(8)):
        yield Request.CONFIGURE, bytes([0, 0, 0, 0, rounding])
    for kind, layout in arguments_of(config).items():
        if kind not in APPLY and kind not in _LEAST_VALUES:
            yield from ((kind, bytes(layout.size ^ 1 << k)) for k in range(8))
    longest = max_payload(config.link.buffer_bytes)
    yield from ((Request.LOAD, bytes(1 << k)) for k in range(longest.bit_length()))
