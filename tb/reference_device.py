"""The device's side of the protocol in ``docs/link.md``, in plain Python: the executable specification.

It replaces a device in the tests of the driver, and defines the hardware's answers byte for byte.
It shares the frame codec and the numbers of requests and statuses with the driver, but implements the
layouts of payloads and records independently, from the document. The arithmetic is the golden model's.
It checks an APPLY record by record, so that the answer reports the first error.
"""

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from tb.record_decoder import decode_record

from qstep.device.link.frames import DELIMITER, Frame, FrameReader, encode_frame
from qstep.golden.lane import updated_value
from qstep.spec.config import Config
from qstep.spec.fixed import Coefficients, Rounding
from qstep.spec.protocol import ANSWER, OVERHEAD, Request, StatusCode, max_payload
from qstep.spec.random import NoiseState

__all__ = ["ReferenceDevice", "Refused", "unpack"]

_VERSION = 3
_SEQUENCE = 1 << 16
_COUNTS = 1 << 16
_CODES = 256
_LEAST_DIVISOR = 8
_ONE = 1 << 15


@dataclass
class Refused(Exception):
    """A request is refused."""

    status: StatusCode


class ReferenceDevice:
    """Device that receives a host's bytes and returns its answers.

    Parameters
    ----------
    config : Config
        The device's configuration.
    build : bytes
        Identity of the build, 8 bytes.

    Attributes
    ----------
    divisor : int
        Clocks per bit; changes with BAUD.
    frame_errors, refused, saturated : int
        Counts as in COUNTERS. `offered_clocks` equals `applied`, and `held` and `forwarded` are 0,
        because they depend on the clock-by-clock timing of a real lane.
    """

    repeatable: ClassVar[tuple[Request, ...]] = (Request.READ, Request.STATUS, Request.COUNTERS)

    def __init__(self, config: Config, build: bytes = bytes(8)) -> None:
        self.config = config
        self.build = build
        self.epoch = self._count = 0
        self._table = [0] * (config.states * config.actions)
        self._rewards = [0] * _CODES
        self._most = max_payload(config.link.buffer_bytes)
        self.reset()

    def reset(self) -> None:
        """Reset control and counts like the hardware; Q-table and reward table keep their contents."""
        self._count = (self._count + 1) % _COUNTS
        self.receive_break()
        self.applied = self.digest = self.refused = self.saturated = 0
        self.noise = NoiseState(1, 0)
        self.coefficients = Coefficients(0, 0)
        self.rounding = Rounding.NEAREST
        self._nonce: bytes | None = None
        self._refusal: StatusCode | None = None
        self._expected = 0
        self._unsent = DELIMITER
        self._reader = FrameReader(self._most + OVERHEAD)

    def receive_break(self) -> None:
        """Restore the configured bit rate."""
        self.divisor = self.config.link.divisor

    @property
    def frame_errors(self) -> int:
        """Number of dropped frames."""
        return self._reader.errors

    @property
    def table(self) -> np.ndarray:
        """The table, int32, shape (S, A)."""
        return np.array(self._table, np.int32).reshape(self.config.states, self.config.actions)

    def receive(self, data: bytes) -> bytes:
        """Accept bytes in pieces of any size, and return the answers to complete requests.

        After a reset, a delimiter is sent first, so that no answer is appended to a truncated one.
        """
        unsent, self._unsent = self._unsent, b""
        return unsent + b"".join(self._answer(frame) for frame in self._reader.feed(data))

    def _answer(self, frame: Frame) -> bytes:
        status, data = self._carry_out(frame)
        if status not in (StatusCode.OK, StatusCode.DUPLICATE):
            self.refused += 1
        common = struct.pack("<BHQ", status, self._expected, self.applied)
        kind = (frame.type + ANSWER) % 256
        return encode_frame(kind, frame.seq, self.epoch, common + data)

    def _carry_out(self, frame: Frame) -> tuple[StatusCode, bytes]:
        if frame.type == Request.HELLO:
            return self._hello(frame.payload)
        if self._nonce is None or frame.epoch != self.epoch:
            return StatusCode.STALE_EPOCH, b""
        if self._refusal is not None:
            return self._refusal, b""
        behind = (self._expected - frame.seq) % _SEQUENCE
        if behind >= _SEQUENCE // 2:
            return StatusCode.GAP, b""
        if behind and not (behind == 1 and frame.type in self.repeatable):
            return StatusCode.DUPLICATE, b""
        if not behind:
            self._expected = (self._expected + 1) % _SEQUENCE
        try:
            return StatusCode.OK, self._handler(frame.type)(frame.payload)
        except Refused as refusal:
            self._refusal = refusal.status
            return refusal.status, b""

    def _hello(self, payload: bytes) -> tuple[StatusCode, bytes]:
        if len(payload) != 4:
            return StatusCode.BAD_LENGTH, b""
        if payload != self._nonce:
            self._nonce = payload
            self._count = (self._count + 1) % _COUNTS
            self.epoch = int.from_bytes(payload, "little") ^ self._count
            self._refusal = None
            self._expected = 0
        config = self.config
        return StatusCode.OK, struct.pack(
            "<B8sIBBBI8sI4s",
            _VERSION,
            bytes.fromhex(config.digest)[:8],
            config.states,
            config.actions,
            config.format.integer,
            config.format.fraction,
            config.link.buffer_bytes,
            self.build,
            self.digest,
            payload,
        )

    def _handler(self, kind: int) -> Callable[[bytes], bytes]:
        handlers = self._handlers()
        if kind not in handlers:
            raise Refused(StatusCode.BAD_TYPE)
        return handlers[kind]

    def _handlers(self) -> dict[int, Callable[[bytes], bytes]]:
        """Return the function that executes a request's payload, by request type."""
        return {
            Request.CONFIGURE: self._configure,
            Request.NOISE: self._set_noise,
            Request.REWARDS: self._load_rewards,
            Request.CLEAR: self._clear,
            Request.LOAD: self._load,
            Request.READ: self._read,
            Request.APPLY_CODED: self._apply_coded,
            Request.APPLY_RAW: self._apply_raw,
            Request.STATUS: self._status,
            Request.COUNTERS: self._counters,
            Request.BAUD: self._baud,
        }

    # Requests

    def _configure(self, payload: bytes) -> bytes:
        alpha, kappa, rounding = unpack("<HHB", payload)
        if alpha > _ONE or kappa > alpha or rounding >= len(Rounding):
            raise Refused(StatusCode.OUT_OF_RANGE)
        self.coefficients = Coefficients(alpha, kappa)
        self.rounding = list(Rounding)[rounding]
        return b""

    def _set_noise(self, payload: bytes) -> bytes:
        x, w = unpack("<II", payload)
        if x == 0:
            raise Refused(StatusCode.OUT_OF_RANGE)
        self.noise = NoiseState(x, w)
        return b""

    def _load_rewards(self, payload: bytes) -> bytes:
        if not payload:
            raise Refused(StatusCode.BAD_LENGTH)
        values = self._values(payload[1:])
        if payload[0] + len(values) > _CODES:
            raise Refused(StatusCode.BAD_LENGTH)
        self._rewards[payload[0] : payload[0] + len(values)] = values
        return b""

    def _clear(self, payload: bytes) -> bytes:
        unpack("", payload)
        self._table = [0] * len(self._table)
        return b""

    def _load(self, payload: bytes) -> bytes:
        if len(payload) < 4:
            raise Refused(StatusCode.BAD_LENGTH)
        values = self._values(payload[3:])
        state, action = struct.unpack("<HB", payload[:3])
        first = self._entry(state, action, len(values))
        self._table[first : first + len(values)] = values
        return b""

    def _read(self, payload: bytes) -> bytes:
        state, action, count = unpack("<HBH", payload)
        width = self.config.value_bytes
        if not 1 <= count <= (self._most - 11) // width:
            raise Refused(StatusCode.OUT_OF_RANGE)
        first = self._entry(state, action, count)
        values = self._table[first : first + count]
        return b"".join(value.to_bytes(width, "little", signed=True) for value in values)

    def _status(self, payload: bytes) -> bytes:
        unpack("", payload)
        return struct.pack("<III", self.digest, self.noise.x, self.noise.w)

    def _counters(self, payload: bytes) -> bytes:
        unpack("", payload)
        lane = (self.applied, self.applied, 0, 0, self.saturated)
        return struct.pack("<7Q", *lane, self.frame_errors, self.refused)

    def _baud(self, payload: bytes) -> bytes:
        (divisor,) = unpack("<H", payload)
        if divisor < _LEAST_DIVISOR:
            raise Refused(StatusCode.OUT_OF_RANGE)
        self.divisor = divisor
        return b""

    def _apply_coded(self, payload: bytes) -> bytes:
        return self._apply_records(payload, lambda code: self._rewards[code], coded=True)

    def _apply_raw(self, payload: bytes) -> bytes:
        return self._apply_records(payload, self._sign_extended, coded=False)

    def _apply_records(
        self, payload: bytes, reward_of: Callable[[int], int], *, coded: bool
    ) -> bytes:
        state = None
        at = 0
        while at < len(payload):
            decoded = decode_record(self.config, payload, at, coded=coded)
            if decoded is None:
                raise Refused(StatusCode.BAD_LENGTH)
            record, at = decoded
            state = state if record.state is None else record.state
            if (
                state is None
                or state >= self.config.states
                or record.next_state >= self.config.states
                or record.action >= self.config.actions
            ):
                raise Refused(StatusCode.OUT_OF_RANGE)
            reward = reward_of(record.reward)
            self._apply(state, record.action, reward, record.next_state, record.terminated)
            state = record.next_state
        return b""

    # The lane

    def _apply(
        self, state: int, action: int, reward: int, next_state: int, terminated: bool
    ) -> None:
        number_format, actions = self.config.format, self.config.actions
        bias = {Rounding.NEAREST: _ONE // 2, Rounding.FLOOR: 0}.get(
            self.rounding, self.noise.draw(15)
        )
        if self.rounding is Rounding.STOCHASTIC:
            self.noise = self.noise.advance()
        row = self._table[next_state * actions : (next_state + 1) * actions]
        entry = state * actions + action
        operands = (self._table[entry], reward, 0 if terminated else max(row), bias)
        self._table[entry] = updated_value(number_format, self.coefficients, *operands)
        self.saturated += self._is_clipped(*operands)
        self.applied += 1
        self.digest = zlib.crc32(
            self._canonical(state, action, reward, next_state, terminated), self.digest
        )

    def _is_clipped(self, q: int, reward: int, maximum: int, bias: int) -> bool:
        c = self.coefficients
        exact = (c.beta * q + c.alpha * reward + c.kappa * maximum + bias) >> 15
        return not self.config.format.minimum <= exact <= self.config.format.maximum

    def _canonical(
        self, state: int, action: int, reward: int, next_state: int, terminated: bool
    ) -> bytes:
        config = self.config
        bits, width = 0, 1  # bit 0: a full record
        for value, size in (
            (action, config.action_bits),
            (next_state, config.state_bits),
            (terminated, 1),
            (reward % (1 << config.format.width), config.format.width),
            (state, config.state_bits),
        ):
            bits |= value << width
            width += size
        return bits.to_bytes((width + 7) // 8, "little")

    # Values and entries

    def _values(self, data: bytes) -> list[int]:
        width = self.config.value_bytes
        if len(data) % width:
            raise Refused(StatusCode.BAD_LENGTH)
        parts = (data[at : at + width] for at in range(0, len(data), width))
        return [self._sign_extended(int.from_bytes(part, "little")) for part in parts]

    def _sign_extended(self, value: int) -> int:
        """Return the low W bits as a signed number; higher bits are ignored."""
        sign = 1 << (self.config.format.width - 1)
        return (value & (sign - 1)) - (value & sign)

    def _entry(self, state: int, action: int, count: int) -> int:
        first = state * self.config.actions + action
        if (
            state >= self.config.states
            or action >= self.config.actions
            or first + count > len(self._table)
        ):
            raise Refused(StatusCode.OUT_OF_RANGE)
        return first


def unpack(layout: str, payload: bytes) -> tuple[int, ...]:
    """Return the numbers of a payload, which must have the given layout."""
    if len(payload) != struct.calcsize(layout):
        raise Refused(StatusCode.BAD_LENGTH)
    return struct.unpack(layout, payload)
