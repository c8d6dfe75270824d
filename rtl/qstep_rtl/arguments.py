"""Collects the arguments of a request and says whether they are in range.

Function    Puts bytes at their places; ``docs/link.md``, "Requests", has the places and the ranges.
Latency     `fields` a clock after the byte, `in_range` two clocks after `check`.
Throughput  One byte per clock, one request at a time.
Reset       All 0.
Hazards     `check` only when all arguments are there; `request` is steady from then on. `in_range` says
            something only of the requests of which it checks something: CONFIGURE, NOISE and BAUD.
Invariants  Bytes that have not come are those of earlier requests.
"""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import Component, In, Out

from qstep.fixed import COEFFICIENT_ONE, Rounding
from qstep.protocol import ARGUMENTS, LEAST_DIVISOR, Request
from qstep_rtl.layout import struct_of

__all__ = ["FIELDS", "MOST_ARGUMENTS", "Arguments"]

MOST_ARGUMENTS = max(layout.size for layout in ARGUMENTS.values())
"""Bytes."""

FIELDS = data.UnionLayout(
    {request.name.lower(): struct_of(layout) for request, layout in ARGUMENTS.items()}
)
"""What the same bytes mean to each request."""


class Arguments(Component):
    """The arguments of one request.

    Attributes
    ----------
    request : In(4)
        Low bits of a known type.
    take, index, byte : In(1), In(3), In(8)
        Put `byte` at `index`.
    check : In(1)
        All arguments are there.
    fields : Out(FIELDS)
        Registers.
    in_range : Out(1)
        The request may be carried out.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "request": In(range(max(Request) + 1)),
                "take": In(1),
                "index": In(range(MOST_ARGUMENTS)),
                "byte": In(8),
                "check": In(1),
                "fields": Out(FIELDS),
                "in_range": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with m.If(self.take):
            for position in range(MOST_ARGUMENTS):
                with m.If(self.index == position):
                    m.d.sync += self.fields.as_value().word_select(position, 8).eq(self.byte)

        # One compare of a few bits each, and a clock later what they say: two in a row limited the
        # clock of the smallest chip.
        alpha, kappa, rounding = (
            self.fields.configure[name] for name in ("alpha", "kappa", "rounding")
        )
        alpha_fits, kappa_fits, rounding_fits = Signal(), Signal(), Signal()
        x_fits, divisor_fits = Signal(), Signal()
        with m.If(self.check):
            m.d.sync += [
                alpha_fits.eq(alpha <= COEFFICIENT_ONE),
                kappa_fits.eq(kappa <= alpha),
                rounding_fits.eq(rounding < len(Rounding)),
                x_fits.eq(self.fields.noise.x != 0),
                divisor_fits.eq(self.fields.baud.divisor >= LEAST_DIVISOR),
            ]
        checked = Signal()
        m.d.sync += checked.eq(self.check)
        with m.If(checked), m.Switch(self.request):
            with m.Case(Request.CONFIGURE):
                m.d.sync += self.in_range.eq(alpha_fits & kappa_fits & rounding_fits)
            with m.Case(Request.NOISE):
                m.d.sync += self.in_range.eq(x_fits)
            with m.Default():
                m.d.sync += self.in_range.eq(divisor_fits)
        return m
