"""Composes answers: header, common part, request-specific part, CRC; then COBS framing.

Function    `answers` starts an answer. Fields that are device registers are read byte by byte; all other
            data arrive as a stream that ends with its answer.
Latency     Three clocks from `answers` to the first byte in the encoder.
Throughput  One byte per clock.
Reset       Drops the answer in progress and all unsent bytes.
Hazards     While `reading` is 1, the registers on the inputs must not change.
Invariants  The length of every answer equals the length in its header.
"""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, stream
from amaranth.lib.wiring import Component, In, Out

from qstep.spec.config import Config
from qstep.spec.protocol import (
    ANSWER,
    COMMON,
    CRC,
    HEADER,
    PROTOCOL_VERSION,
    REQUESTS,
    Layout,
    Request,
    StatusCode,
)
from qstep_rtl.cobs import CobsEncoder
from qstep_rtl.crc32 import Crc32
from qstep_rtl.invariants import GENERATED, invariant
from qstep_rtl.session import SessionSignature

__all__ = ["ANSWERED", "Responder"]

ANSWERED = data.StructLayout({"type": 8, "seq": 16, "status": StatusCode, "data_bytes": 16})
"""The parts of an answer; `data_bytes` is the length of the streamed data."""

_GROUP = 16  # fixed bytes from which one is selected per clock


def _bytes(layout: Layout, values: Mapping[str, ValueLike]) -> list[Value]:
    """Return the bytes of a layout's fields."""
    fields = {name: Value.cast(values[name]) for name in layout.sizes}
    return [
        field[8 * i : 8 * i + 8]
        for name, field in fields.items()
        for i in range(layout.sizes[name])
    ]


class Responder(Component):
    """Turns answers into bytes for the line.

    Parameters
    ----------
    config : Config
        The configuration, whose identity is in the answer to HELLO.

    Attributes
    ----------
    answers : In(stream of ANSWERED)
        Starts an answer.
    reading : Out(1)
        Registers are being read.
    values, totals : In(stream of 8)
        Data from handlers, and totals of the counters; never both at once.
    session : In(SessionSignature)
    applied, digest, noise_x, noise_w : In
        The device's registers.
    build : In(64)
        Identity of the build, first byte lowest; constant.
    line : Out(stream of 8)
        Encoded answers.
    idle : Out(1)
        All answers have been sent on `line`, including delimiters.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                "answers": In(stream.Signature(ANSWERED)),
                "reading": Out(1),
                "values": In(stream.Signature(8)),
                "totals": In(stream.Signature(8)),
                "session": In(SessionSignature()),
                "applied": In(64),
                "digest": In(32),
                "noise_x": In(32),
                "noise_w": In(32),
                "build": In(64),
                "line": Out(stream.Signature(8)),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.crc = crc = Crc32()
        m.submodules.encoder = encoder = CobsEncoder()

        answer = Signal(ANSWERED)
        length = Signal(16)
        config = self._config
        values: dict[str, ValueLike] = {
            "type": answer.type ^ ANSWER,
            "seq": answer.seq,
            "epoch": self.session.epoch,
            "length": length,
            "status": answer.status,
            "expected": self.session.expected,
            "applied": self.applied,
            "version": PROTOCOL_VERSION,
            "digest": int.from_bytes(bytes.fromhex(config.digest)[:8], "little"),
            "states": config.states,
            "actions": config.actions,
            "integer": config.format.integer,
            "fraction": config.format.fraction,
            "buffer_bytes": config.link.buffer_bytes,
            "build": self.build,
            "crc": self.digest,
            "nonce": self.session.nonce,
            "x": self.noise_x,
            "w": self.noise_w,
        }
        common = _bytes(HEADER, values) + _bytes(COMMON, values)
        fixed = list(common)
        reports: list[tuple[Request, int, int]] = []  # register-only; position in `fixed`
        for request, spec in REQUESTS.items():
            if spec.answer.sizes and spec.answer.sizes.keys() <= values.keys():
                begin = len(fixed)
                fixed += _bytes(spec.answer, values)
                reports.append((request, begin, len(fixed)))

        # Selecting a fixed byte takes two clocks: while the previous byte is sent, one byte of every
        # sixteen is selected.
        index = Signal(range(len(fixed) + 1))  # of the byte after the chosen byte
        chosen = [Signal(8, name=f"chosen_{k}") for k in range(0, len(fixed), _GROUP)]
        group = Signal(range(len(chosen)))
        choose = Signal()
        data_follow = Signal()
        crc_follows = Signal()
        left = Signal(16)
        streaming = Signal()  # streamed data are accepted
        tail = Signal(range(CRC.size))
        is_report = Signal(len(reports))  # one bit per report
        has_data = Signal()
        data_valid = Signal()
        ok = self.answers.payload.status == StatusCode.OK

        # A register between the wide byte multiplexer and the encoder.
        byte = Signal(8)
        valid = Signal()
        is_crc = Signal()
        is_last = Signal()
        ready = Signal()
        sent = Signal()
        m.d.comb += [
            ready.eq(~valid | encoder.frame.ready),
            sent.eq(valid & encoder.frame.ready),
            self.values.ready.eq(streaming & ready),
            self.totals.ready.eq(streaming & ready),
            data_valid.eq(self.totals.valid | self.values.valid),
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
        # Bytes of the frame sent so far, and the number before its last byte according to its header.
        # While the last byte waits, the next answer may begin, with a different length.
        total = Signal(17)
        said = Signal(17)
        with m.If(sent & is_last):
            invariant(m, platform, total == said, "an answer has another length than it says")
        if platform is not GENERATED:
            with m.If(sent):
                m.d.sync += total.eq(Mux(is_last, 0, total + 1))
            with m.If(sent & ~is_last):
                m.d.sync += said.eq(length + HEADER.size + CRC.size - 1)
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
                crc_follows.eq(Cat(index == end - 1 for _, _, end in reports).any()),
                index.eq(index + 1),
            ]
            with m.If(index == len(common) - 1):
                m.d.sync += [
                    data_follow.eq(has_data),
                    crc_follows.eq(~has_data & ~is_report.any()),
                ]
                for is_it, (_, begin, _) in zip(is_report, reports, strict=True):
                    with m.If(is_it):
                        m.d.sync += index.eq(begin)

        with m.FSM() as fsm:
            m.d.comb += choose.eq(fsm.ongoing("measure") | (fsm.ongoing("fixed") & ready))
            with m.State("idle"):
                m.d.comb += self.answers.ready.eq(1)
                with m.If(self.answers.valid):
                    m.d.sync += [
                        answer.eq(self.answers.payload),
                        is_report.eq(
                            Cat(ok & (self.answers.payload.type == kind) for kind, _, _ in reports)
                        ),
                        index.eq(0),
                        self.reading.eq(1),
                    ]
                    m.next = "measure"
            with m.State("measure"):
                m.d.sync += [
                    left.eq(answer.data_bytes),
                    has_data.eq(answer.data_bytes != 0),
                    length.eq(COMMON.size + answer.data_bytes),
                ]
                for is_it, (_, begin, end) in zip(is_report, reports, strict=True):
                    with m.If(is_it):
                        m.d.sync += length.eq(COMMON.size + end - begin)
                m.next = "fixed"
            with m.State("fixed"), m.If(ready):
                m.d.sync += valid.eq(1)
                with m.If(data_follow):
                    m.d.sync += streaming.eq(1)
                    m.next = "data"
                with m.Elif(crc_follows):
                    m.d.sync += self.reading.eq(0)
                    m.next = "last"
            with m.State("data"), m.If(ready & data_valid):
                m.d.sync += [valid.eq(1), left.eq(left - 1)]
                with m.If(left == 1):
                    m.d.sync += [streaming.eq(0), self.reading.eq(0)]
                    m.next = "last"
            # The CRC is complete one clock after the last byte that it covers was sent.
            with m.State("last"), m.If(ready):
                m.next = "crc"
            with m.State("crc"), m.If(ready):
                m.d.comb += crc.shift.eq(1)
                m.d.sync += [valid.eq(1), is_crc.eq(1), tail.eq(tail + 1)]
                with m.If(tail == CRC.size - 1):
                    m.d.sync += is_last.eq(1)
                    m.next = "idle"
            m.d.comb += self.idle.eq(fsm.ongoing("idle") & ~valid & encoder.empty)
        # Loaded whether or not it is valid, so that the register's enable is known early.
        with m.If(ready):
            m.d.sync += byte.eq(
                Mux(
                    fsm.ongoing("data"),
                    Mux(self.totals.valid, self.totals.payload, self.values.payload),
                    Mux(fsm.ongoing("crc"), crc.crc, Array(chosen)[group]),
                )
            )
        return m
