"""Receives frames, and outputs only complete and valid frames.

Function    Decodes COBS, checks CRC and length, and buffers frames in a ring in block RAM. Bytes are
            written as they arrive. A valid frame is committed without its CRC; an invalid frame is
            rolled back.
Latency     Six clocks from the delimiter to the first byte of the frame on `bytes`.
Throughput  One byte per clock in and out at the same time.
Reset       The buffer is empty; its memory keeps its contents.
Hazards     The receiver cannot be stalled: a frame that does not fit is dropped and counted.
Invariants  `bytes` outputs 9 + length bytes per frame, back to back, and no byte of a frame before its
            check. Committed bytes are not overwritten before they are read.
"""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

from qstep.spec.protocol import BUFFERS, CRC, HEADER
from qstep_rtl.cobs import CobsDecoder
from qstep_rtl.crc32 import Crc32
from qstep_rtl.invariants import invariant
from qstep_rtl.ring import UNORDERED, RingReader

__all__ = ["Receiver"]


class Receiver(Component):
    """Turns bytes from the line into bytes of valid frames.

    Parameters
    ----------
    buffer_bytes : int
        Ring size, a power of two, 512..65536; a decoded frame may take up to half of it.

    Attributes
    ----------
    in_valid, in_data : In(1), In(8)
        Bytes as they arrive.
    bytes : Out(stream of 8)
        Header and payload of valid frames.
    dropped : Out(1)
        1 for one clock per dropped frame.
    """

    def __init__(self, buffer_bytes: int) -> None:
        self._buffer_bytes = buffer_bytes
        super().__init__(
            {
                "in_valid": In(1),
                "in_data": In(8),
                "bytes": Out(stream.Signature(8)),
                "dropped": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.decoder = decoder = CobsDecoder()
        m.submodules.crc = crc = Crc32()
        m.submodules.memory = memory = Memory(
            shape=8, depth=self._buffer_bytes, init=[], attrs=UNORDERED
        )
        m.submodules.reader = reader = RingReader(memory.read_port())
        store = memory.write_port()

        committed = Signal(len(store.addr))
        write = Signal(len(store.addr))
        following = Signal(len(store.addr))
        index = Signal(range(HEADER.size + 1))  # bytes of the header so far
        left = Signal(17)  # bytes that must follow the header
        complete = Signal()  # all of them have arrived
        too_long = (
            Signal()
        )  # they will not fit; known one clock late, so one byte too many is written
        bad = Signal()
        checking = Signal()  # the frame is complete, and `good` is 1 if it is valid
        good = Signal()
        most_left = self._buffer_bytes // BUFFERS - HEADER.size

        m.d.comb += [
            decoder.in_valid.eq(self.in_valid),
            decoder.in_data.eq(self.in_data),
            crc.enable.eq(decoder.valid),
            crc.data.eq(decoder.data),
            crc.start.eq(decoder.end),
            following.eq(write + 1),
            store.addr.eq(write),
            store.data.eq(decoder.data),
            store.en.eq(decoder.valid & ~bad),
            reader.limit.eq(committed),
            self.bytes.payload.eq(reader.rows.payload),
            self.bytes.valid.eq(reader.rows.valid),
            reader.rows.ready.eq(self.bytes.ready),
            self.dropped.eq(checking & ~good),
        ]

        with m.If(decoder.valid & ~bad):
            m.d.sync += write.eq(following)
            # One row stays free, so that a full ring differs from an empty one.
            with m.If(write == reader.before):
                m.d.sync += bad.eq(1)
            with m.If(index != HEADER.size):
                m.d.sync += index.eq(index + 1)
                with m.If(index == HEADER.size - 2):
                    m.d.sync += left[:8].eq(decoder.data)
                with m.If(index == HEADER.size - 1):
                    m.d.sync += left.eq((left[:8] | (decoder.data << 8)) + CRC.size)
                    m.d.sync += complete.eq(0)
            with m.Else():
                m.d.sync += [left.eq(left - 1), complete.eq(left == 1)]
                with m.If(complete):
                    m.d.sync += bad.eq(1)

        with m.If(store.en):
            ahead, unread = ((row - reader.read)[: len(write)] for row in (write, committed))
            invariant(m, platform, ahead >= unread, "a good frame is overwritten")
        # This must happen immediately: after one more byte, the remaining bytes would seem to fit.
        with m.If(too_long):
            m.d.sync += bad.eq(1)
        m.d.sync += too_long.eq((index == HEADER.size) & (left > most_left))

        m.d.sync += checking.eq(decoder.end)
        with m.If(decoder.end):
            m.d.sync += [
                good.eq(~bad & ~decoder.broken & (index == HEADER.size) & complete & crc.matches),
                index.eq(0),
            ]
        # At least one code byte, which yields no decoded byte, follows `end`, so these two clocks are
        # free.
        with m.If(checking):
            m.d.sync += bad.eq(0)
            with m.If(good):
                m.d.sync += [write.eq(write - CRC.size), committed.eq(write - CRC.size)]
            with m.Else():
                m.d.sync += write.eq(committed)
        return m
