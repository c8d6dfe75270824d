"""Composes answers: header, common part, what belongs to the request, CRC; COBS around all.

Function    `request` starts an answer. Its fixed parts are read from the device's registers byte by
            byte, data of READ and COUNTERS come as a stream.
Latency     Three clocks from `request` to the first byte in the encoder.
Throughput  One byte per clock.
Reset       Drops the answer under way and what has not been sent.
Hazards     While `reading` is 1 the registers on the inputs must not change.
Invariants  An answer has exactly the length that its header says.
"""

from __future__ import annotations

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import Component, In, Out

from qstep.config import Config
from qstep.protocol import (
    BUILD_BYTES,
    COMMON_BYTES,
    CRC_BYTES,
    HEADER_BYTES,
    PROTOCOL_VERSION,
    Request,
    StatusCode,
)
from qstep_rtl.cobs import CobsEncoder
from qstep_rtl.counters import COUNTER_BYTES
from qstep_rtl.crc32 import Crc32

__all__ = ["ANSWER", "Responder"]

ANSWER = data.StructLayout({"type": 8, "seq": 16, "verdict": 3, "data_bytes": 16})
"""What an answer is made from; `data_bytes` is the length of the streamed data."""


_GROUP = 16  # fixed bytes of which one is chosen in a clock


def _split(value: Value, count: int) -> list[Value]:
    """Return a register as `count` bytes, low byte first."""
    return [value[8 * i : 8 * i + 8] for i in range(count)]


class Responder(Component):
    """Answers to bytes of the line.

    Parameters
    ----------
    config : Config
        Its identity is what HELLO answers.

    Attributes
    ----------
    request : In(stream of ANSWER)
        Starts an answer.
    reading : Out(1)
        Registers are being read.
    data : In(stream of 8)
        Streamed data.
    epoch, expected, applied, digest, noise_x, noise_w, nonce : In
        The device's registers.
    build : In(64)
        Identity of the build, first byte lowest; constant.
    line : Out(stream of 8)
        Encoded answers.
    idle : Out(1)
        Every answer has been handed over, delimiter included.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                "request": In(stream.Signature(ANSWER)),
                "reading": Out(1),
                "data": In(stream.Signature(8)),
                "epoch": In(16),
                "expected": In(16),
                "applied": In(8 * COUNTER_BYTES),
                "digest": In(32),
                "noise_x": In(32),
                "noise_w": In(32),
                "nonce": In(32),
                "build": In(8 * BUILD_BYTES),
                "line": Out(stream.Signature(8)),
                "idle": Out(1),
            }
        )

    def _identity(self) -> list[Value]:
        config = self._config
        numbers = (
            bytes.fromhex(config.digest)[:8]
            + config.states.to_bytes(4, "little")
            + bytes([config.actions, config.format.integer, config.format.fraction])
            + config.link.buffer_bytes.to_bytes(4, "little")
        )
        return [
            Const(PROTOCOL_VERSION, 8),
            *_split(self.epoch, 2),
            *(Const(number, 8) for number in numbers),
            *_split(self.build, BUILD_BYTES),
        ]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.crc = crc = Crc32()
        m.submodules.encoder = encoder = CobsEncoder()

        answer = Signal(ANSWER)
        length = Signal(16)
        common = [
            answer.type ^ 0x80,
            *_split(answer.seq, 2),
            *_split(self.epoch, 2),
            *_split(length, 2),
            answer.verdict,
            *_split(self.expected, 2),
            *_split(self.applied, COUNTER_BYTES),
        ]
        hello = [*self._identity(), *_split(self.digest, 4), *_split(self.nonce, 4)]
        status = [*_split(self.digest, 4), *_split(self.noise_x, 4), *_split(self.noise_w, 4)]
        fixed = [*common, *hello, *status]
        assert len(common) == HEADER_BYTES + COMMON_BYTES
        hello_at, status_at = len(common), len(common) + len(hello)

        # The choice of a fixed byte takes two clocks: while the byte before is on its way, one of each
        # sixteen is chosen.
        index = Signal(range(len(fixed) + 1))  # of the byte after the chosen one
        chosen = [Signal(8) for _ in range(0, len(fixed), _GROUP)]
        group = Signal(range(len(chosen)))
        choose = Signal()
        data_follow, crc_follows = Signal(), Signal()
        left = Signal(16)
        streaming = Signal()  # data are taken
        tail = Signal(range(CRC_BYTES))
        is_hello, is_status, has_data = Signal(), Signal(), Signal()
        ok = self.request.payload.verdict == StatusCode.OK

        # One register between the wide choice of bytes and the encoder.
        byte, valid, is_crc, is_last = Signal(8), Signal(), Signal(), Signal()
        ready = Signal()
        sent = Signal()
        m.d.comb += [
            ready.eq(~valid | encoder.frame.ready),
            sent.eq(valid & encoder.frame.ready),
            self.data.ready.eq(streaming & ready),
            encoder.frame.valid.eq(valid),
            encoder.frame.payload.data.eq(byte),
            encoder.frame.payload.last.eq(is_last),
            crc.data.eq(byte),
            crc.enable.eq(sent & ~is_crc),
            crc.start.eq(sent & is_last),
            self.line.payload.eq(encoder.line.payload),
            self.line.valid.eq(encoder.line.valid),
            encoder.line.ready.eq(self.line.ready),
        ]
        with m.If(sent):
            m.d.sync += [valid.eq(0), is_crc.eq(0), is_last.eq(0)]

        with m.If(choose):
            position, following = index % _GROUP, index // _GROUP
            with m.Switch(position):
                for offset in range(_GROUP):
                    with m.Case(offset):
                        for group_index, byte_of_group in enumerate(chosen):
                            at = min(_GROUP * group_index + offset, len(fixed) - 1)
                            m.d.sync += byte_of_group.eq(fixed[at])
            m.d.sync += [
                group.eq(following),
                data_follow.eq(0),
                crc_follows.eq((index == status_at - 1) | (index == len(fixed) - 1)),
                index.eq(index + 1),
            ]
            with m.If(index == len(common) - 1):
                m.d.sync += [
                    data_follow.eq(has_data),
                    crc_follows.eq(~has_data & ~is_hello & ~is_status),
                ]
                with m.If(is_status):
                    m.d.sync += index.eq(status_at)

        with m.FSM() as fsm:
            m.d.comb += choose.eq(fsm.ongoing("measure") | (fsm.ongoing("fixed") & ready))
            with m.State("idle"):
                m.d.comb += self.request.ready.eq(1)
                with m.If(self.request.valid):
                    m.d.sync += [
                        answer.eq(self.request.payload),
                        is_hello.eq(ok & (self.request.payload.type == Request.HELLO)),
                        is_status.eq(ok & (self.request.payload.type == Request.STATUS)),
                        index.eq(0),
                        self.reading.eq(1),
                    ]
                    m.next = "measure"
            with m.State("measure"):
                m.d.sync += [
                    left.eq(answer.data_bytes),
                    has_data.eq(answer.data_bytes != 0),
                    length.eq(
                        COMMON_BYTES
                        + Mux(is_hello, len(hello), Mux(is_status, len(status), answer.data_bytes))
                    ),
                ]
                m.next = "fixed"
            with m.State("fixed"), m.If(ready):
                m.d.sync += valid.eq(1)
                with m.If(data_follow):
                    m.d.sync += streaming.eq(1)
                    m.next = "data"
                with m.Elif(crc_follows):
                    m.d.sync += self.reading.eq(0)
                    m.next = "last"
            with m.State("data"), m.If(ready & self.data.valid):
                m.d.sync += [valid.eq(1), left.eq(left - 1)]
                with m.If(left == 1):
                    m.d.sync += [streaming.eq(0), self.reading.eq(0)]
                    m.next = "last"
            # The CRC is of all bytes before it a clock after the last of them was sent.
            with m.State("last"), m.If(ready):
                m.next = "crc"
            with m.State("crc"), m.If(ready):
                m.d.comb += crc.shift.eq(1)
                m.d.sync += [valid.eq(1), is_crc.eq(1), tail.eq(tail + 1)]
                with m.If(tail == CRC_BYTES - 1):
                    m.d.sync += is_last.eq(1)
                    m.next = "idle"
            m.d.comb += self.idle.eq(fsm.ongoing("idle") & ~valid & encoder.empty)
        # Whether or not it is valid: so its enable is known early.
        with m.If(ready):
            m.d.sync += byte.eq(
                Mux(
                    fsm.ongoing("data"),
                    self.data.payload,
                    Mux(fsm.ongoing("crc"), crc.crc, Array(chosen)[group]),
                )
            )
        assert hello_at + len(hello) == status_at
        return m
