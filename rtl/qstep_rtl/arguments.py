"""Collects the arguments of a request and says whether they are in range.

Function    Puts bytes at their places; ``docs/link.md``, "Requests", has the places and the ranges.
Latency     `fields` a clock after the byte, `in_range` two clocks after `weigh`.
Throughput  One byte per clock, one request at a time.
Reset       All 0.
Hazards     `weigh` only when all arguments are there; `sort` is steady from then on. `in_range` says
            something only of the requests of which it checks something: CONFIGURE, NOISE and BAUD.
Invariants  Bytes that have not come are those of earlier requests.
"""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import Component, In, Out

from qstep.fixed import COEFFICIENT_ONE, Rounding
from qstep.protocol import Request

__all__ = ["ARGUMENTS", "ARGUMENT_BYTES", "MOST_ARGUMENTS", "Arguments"]

ARGUMENT_BYTES = {
    Request.HELLO: 4,
    Request.CONFIGURE: 5,
    Request.NOISE: 8,
    Request.REWARDS: 1,
    Request.CLEAR: 0,
    Request.LOAD: 3,
    Request.READ: 5,
    Request.APPLY_CODED: 0,
    Request.APPLY_RAW: 0,
    Request.STATUS: 0,
    Request.COUNTERS: 0,
    Request.BAUD: 2,
}
"""Bytes of the payload that are arguments."""

MOST_ARGUMENTS = max(ARGUMENT_BYTES.values())

ARGUMENTS = data.UnionLayout(
    {
        "nonce": 32,
        "configure": data.StructLayout({"alpha": 16, "kappa": 16, "rounding": 8}),
        "noise": data.StructLayout({"x": 32, "w": 32}),
        "first_code": 8,
        "entries": data.StructLayout({"first_state": 16, "first_action": 8, "count": 16}),
        "divisor": 16,
    }
)
"""What the same bytes mean to each request; LOAD has no `count`."""

_LEAST_DIVISOR = 4


class Arguments(Component):
    """The arguments of one request.

    Attributes
    ----------
    sort : In(4)
        Low bits of a known type.
    take, index, byte : In(1), In(3), In(8)
        Put `byte` at `index`.
    weigh : In(1)
        All arguments are there.
    fields : Out(ARGUMENTS)
        Registers.
    in_range : Out(1)
        The request may be carried out.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "sort": In(range(max(Request) + 1)),
                "take": In(1),
                "index": In(range(MOST_ARGUMENTS)),
                "byte": In(8),
                "weigh": In(1),
                "fields": Out(ARGUMENTS),
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
        with m.If(self.weigh):
            m.d.sync += [
                alpha_fits.eq(alpha <= COEFFICIENT_ONE),
                kappa_fits.eq(kappa <= alpha),
                rounding_fits.eq(rounding < len(Rounding)),
                x_fits.eq(self.fields.noise.x != 0),
                divisor_fits.eq(self.fields.divisor >= _LEAST_DIVISOR),
            ]
        weighed = Signal()
        m.d.sync += weighed.eq(self.weigh)
        with m.If(weighed), m.Switch(self.sort):
            with m.Case(Request.CONFIGURE):
                m.d.sync += self.in_range.eq(alpha_fits & kappa_fits & rounding_fits)
            with m.Case(Request.NOISE):
                m.d.sync += self.in_range.eq(x_fits)
            with m.Default():
                m.d.sync += self.in_range.eq(divisor_fits)
        return m
