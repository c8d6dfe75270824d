"""Read side of a ring buffer in block RAM: turns the rows between two pointers into a stream.

Function    Sends the rows from `read` up to, but not including, `limit`.
Latency     Three clocks from a change of `limit` to `valid`.
Throughput  One row per clock.
Reset       The ring is empty; the memory keeps its contents.
Hazards     `limit` may pass a row only in a clock after the row was written.
Invariants  No row is sent past `limit`, which never moves back. Rows below `read` may be overwritten,
            because the offered row is in the memory's output register.
"""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.memory import ReadPort
from amaranth.lib.wiring import Component, In, Out

from qstep_rtl.invariants import invariant

__all__ = ["UNORDERED", "RingReader"]

UNORDERED = {"no_rw_check": 1}
"""Attribute of a memory whose read data are unused if the same row is written in the same clock.

Without it, synthesis adds logic that returns the old value, which most block RAMs do not guarantee.
"""


class RingReader(Component):
    """Streams the rows of a ring.

    Parameters
    ----------
    port : ReadPort
        Synchronous read port of the ring's memory, whose depth is a power of two.

    Attributes
    ----------
    limit : In(pointer)
        Row after the last one to be sent.
    read, before : Out(pointer)
        The row to fetch next, and the row before it: writing the latter fills the ring.
    rows : Out(stream)
        The rows.
    """

    def __init__(self, port: ReadPort) -> None:
        self._port = port
        pointer = len(port.addr)
        super().__init__(
            {
                "limit": In(pointer),
                "read": Out(pointer),
                "before": Out(pointer, init=(1 << pointer) - 1),
                "rows": Out(stream.Signature(len(port.data))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The row after `read`, and whether more rows follow; registered, because `en` settles late in a
        # clock.
        following = Signal(len(self.read), init=1)
        more = Signal()  # `read` is not at `limit`
        m.d.comb += [
            self._port.addr.eq(self.read),
            self._port.en.eq(~self.rows.valid | self.rows.ready),
            self.rows.payload.eq(self._port.data),
        ]
        invariant(m, platform, ~more | (self.read != self.limit), "the ring is read past its limit")
        with m.If(self._port.en):
            m.d.sync += self.rows.valid.eq(more)
            with m.If(more):
                m.d.sync += [
                    self.read.eq(following),
                    self.before.eq(self.read),
                    following.eq(following + 1),
                    more.eq(following != self.limit),
                ]
        with m.If(~more):
            m.d.sync += more.eq(self.read != self.limit)
        return m
