"""COBS framing of byte streams; 0x00 ends a frame.

Function    :class:`CobsDecoder` undoes the stuffing, :class:`CobsEncoder` applies it.
Latency     Decoder: one clock. Encoder: a block is sent when it is complete, at most 254 bytes later.
Throughput  One byte per clock; the encoder needs one more clock per full block of 254 bytes and two more
            per frame.
Reset       Drops all contents, including bytes not yet sent by the encoder. The encoder then sends a
            delimiter first, so that a truncated frame does not merge with the next one.
Hazards     The decoder cannot be stalled: each input byte yields at most one output byte.
Invariants  A byte and the end of its frame never coincide. All rows of the encoder's ring between read
            pointer and placeholder are final.
Reference   Cheshire and Baker, "Consistent Overhead Byte Stuffing", IEEE/ACM Trans. Networking 7
            (1999).
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

from qstep_rtl.invariants import invariant
from qstep_rtl.ring import UNORDERED, RingReader

__all__ = ["FRAME_BYTE", "CobsDecoder", "CobsEncoder"]

_FULL = 0xFF
_RING_BYTES = 512  # more than a block of 255 bytes; one block RAM in the smallest parts

FRAME_BYTE = data.StructLayout({"data": 8, "last": 1})
"""A byte of a frame, and whether it is the last one."""


class CobsDecoder(Component):
    """Decodes bytes from the line into bytes of frames.

    Attributes
    ----------
    in_valid, in_data : In(1), In(8)
        Bytes as they arrive.
    valid, data : Out(1), Out(8)
        Decoded bytes.
    end : Out(1)
        1 for one clock when a frame is complete; never in the same clock as `valid`, and not for empty
        frames.
    broken : Out(1)
        With `end`: the frame ended inside a block.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "in_valid": In(1),
                "in_data": In(8),
                "valid": Out(1),
                "data": Out(8),
                "end": Out(1),
                "broken": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left = Signal(8)  # bytes left in the block; 0: a code is next
        pending_zero = Signal()  # the last block implies a zero if another block follows it
        inside = Signal()
        at_code = Signal(init=1)  # `left` is 0

        invariant(m, platform, ~(self.valid & self.end), "a byte comes with the end of a frame")
        m.d.sync += [self.valid.eq(0), self.end.eq(0)]
        with m.If(self.in_valid):
            m.d.sync += [
                self.data.eq(Mux(at_code, 0, self.in_data)),
                self.broken.eq(~at_code),
            ]
            with m.If(self.in_data == 0):
                m.d.sync += [
                    self.end.eq(inside),
                    inside.eq(0),
                    left.eq(0),
                    at_code.eq(1),
                    pending_zero.eq(0),
                ]
            with m.Elif(at_code):
                m.d.sync += [
                    self.valid.eq(pending_zero),
                    pending_zero.eq(self.in_data != _FULL),
                    left.eq(self.in_data - 1),
                    at_code.eq(self.in_data == 1),
                    inside.eq(1),
                ]
            with m.Else():
                m.d.sync += [self.valid.eq(1), left.eq(left - 1), at_code.eq(left == 1)]
        return m


class CobsEncoder(Component):
    """Encodes bytes of frames into bytes for the line.

    Bytes go straight into a ring; the row before each block is a placeholder for its code. A zero byte
    needs no row: the row that it would occupy becomes the next placeholder. The delimiter is the
    placeholder for a block that never follows.

    Attributes
    ----------
    frame : In(stream of FRAME_BYTE)
        Bytes to send.
    line : Out(stream of 8)
        Encoded bytes.
    empty : Out(1)
        All bytes have been sent on `line`.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "frame": In(stream.Signature(FRAME_BYTE)),
                "line": Out(stream.Signature(8)),
                "empty": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=8, depth=_RING_BYTES, init=[], attrs=UNORDERED)
        m.submodules.reader = reader = RingReader(memory.read_port())
        store = memory.write_port()

        placeholder = Signal(9)
        free = Signal(9, init=1)
        run = Signal(8, init=1)  # the code of the open block so far
        closing = Signal()  # end of frame: the last code is next
        delimiting = Signal(init=1)  # the delimiter is next
        # The block is full, or the frame is complete, as after a reset: no byte can be accepted.
        busy = Signal(init=1)
        distance = Signal(9)  # from the free row to the row being read
        space = Signal()  # a row is free; registered, so two free rows are needed
        zero = Signal()
        last = Signal()
        move = Signal()
        append = Signal()  # else fill the placeholder; the free row becomes the next one

        m.d.comb += [
            distance.eq(reader.read - free),
            zero.eq(self.frame.payload.data == 0),
            last.eq(self.frame.payload.last & ~busy),
            self.frame.ready.eq(space & ~busy),
            move.eq(space & (busy | self.frame.valid)),
            append.eq(~busy & ~zero),
            store.en.eq(move),
            store.addr.eq(Mux(append, free, placeholder)),
            store.data.eq(Mux(append, self.frame.payload.data, Mux(delimiting, 0, run))),
            reader.limit.eq(placeholder),
            self.line.payload.eq(reader.rows.payload),
            self.line.valid.eq(reader.rows.valid),
            reader.rows.ready.eq(self.line.ready),
            self.empty.eq(
                (reader.read == placeholder)
                & ~reader.rows.valid
                & (run == 1)
                & ~closing
                & ~delimiting
            ),
        ]
        with m.If(store.en):
            ahead, final = ((row - reader.read)[:9] for row in (store.addr, placeholder))
            invariant(m, platform, ahead >= final, "a row that is final is written again")
        m.d.sync += space.eq(distance[1:] != 0)
        with m.If(move):
            m.d.sync += free.eq(free + 1)
            with m.If(append):
                m.d.sync += [run.eq(run + 1), busy.eq((run == _FULL - 1) | last)]
            with m.Else():
                m.d.sync += [placeholder.eq(free), run.eq(1), busy.eq(closing | last)]
                with m.If(delimiting):
                    m.d.sync += delimiting.eq(0)
                with m.Elif(closing):
                    m.d.sync += [closing.eq(0), delimiting.eq(1)]
            with m.If(last):
                m.d.sync += closing.eq(1)
        return m
