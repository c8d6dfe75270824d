"""Random conversations with a device: frames, and the expected reaction of ``Commands`` to each."""

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
"""Layouts of the fields that specify where a table access starts."""

_LEAST_VALUES: dict[int, int] = {Request.REWARDS: 0, Request.LOAD: 1}
"""Minimum number of value bytes; shorter requests are refused before they reach their handler."""

_ONE = 1 << 15  # alpha = 1

_SHORT, _LONG_ONES = 40, 0.04
"""Length from which a payload counts as long, and probability of keeping a long one: these are slow."""


def body_of(kind: int, seq: int, epoch: int, payload: bytes) -> bytes:
    """Return a frame as the receiver outputs it: header and payload."""
    return HEADER.pack(kind, seq, epoch, len(payload)) + payload


@dataclass(frozen=True)
class Exchange:
    """A frame, the expected answer of ``Commands``, and the expected state afterwards.

    Parameters
    ----------
    kind, seq, payload : int, int, bytes
    body : bytes
        The whole frame, as the receiver outputs it.
    status : StatusCode
    is_executed : bool
        The request reaches its handler, which may still refuse it.
    data_bytes : int
        Bytes of the answer after its fixed part.
    epoch, expected : int, int
        Session registers after the request.
    settings : tuple of int
        alpha, kappa and rounding.
    divisor : int
    breaks : bool
        The line signals a break before this frame.
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
        """Return an exchange that leaves the same state as a reset."""
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
        """The fields that specify where the table access starts."""
        layout = _PLACES[self.kind]
        return struct.unpack(layout, self.payload[: struct.calcsize(layout)])

    @property
    def values(self) -> bytes:
        """The payload bytes after the fields of `place`."""
        return self.payload[struct.calcsize(_PLACES[self.kind]) :]


class _Noting(ReferenceDevice):
    """Records whether the last request passed the session checks."""

    passed = False

    def _handler(self, kind: int) -> Any:
        self.passed = True
        return super()._handler(kind)

    def _hello(self, payload: bytes) -> tuple[StatusCode, bytes]:
        self.passed = True
        return super()._hello(payload)


class Talk:
    """Generates conversations with a device, each of which starts with a reset.

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
        """Return `count` random frames that follow a reset."""
        self._reset()
        return [self._exchange(*self._frame()) for _ in range(count)]

    def edges(self) -> list[Exchange]:
        """Return frames that follow a reset, each with a type, length or argument at a limit."""
        self._reset()
        exchanges = []
        for kind, payload in _edges(self._device.config):
            if self._halted:
                self._nonce = self._rng.randbytes(4)
                exchanges.append(self._exchange(Request.HELLO, 0, 0, self._nonce))
            exchanges.append(self._exchange(kind, self._expected, self._device.epoch, payload))
        return exchanges

    def sessions(self) -> list[Exchange]:
        """Return frames after a reset, with single-bit changes of nonce, epoch and sequence number."""
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
        """Return the first bytes of a frame that a reset interrupts."""
        kind, payload = self._request()
        body = body_of(kind, self._expected, self._device.epoch, payload)
        return body[: self._rng.randint(1, len(body))]

    def _reset(self) -> None:
        if self._used:  # power-up already counts as a reset
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
    """Yield requests that are barely legal, or illegal by a single bit."""
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
