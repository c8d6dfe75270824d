"""Executes BAUD: sets the line rate after the answer has been sent at the old rate.

Function    Sets the clocks per bit to the host's number or, after a break, to the configured number.
Latency     The divisor is checked in one clock, and takes effect once the line is quiet.
Throughput  One request at a time.
Reset       The divisor is reset to its configured value.
Hazards     `quiet` is one clock old.
Invariants  The divisor is in the UART's range.
"""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import Component, In, Out

from qstep.spec.config import Config
from qstep.spec.protocol import LEAST_DIVISOR, Request, StatusCode
from qstep_rtl.handler import HandlerSignature
from qstep_rtl.invariants import invariant

__all__ = ["RateHandler"]


class RateHandler(Component):
    """The handler of the line rate.

    Parameters
    ----------
    config : Config
        Its link sets the divisor after reset.

    Attributes
    ----------
    request : In(HandlerSignature)
    divisor, line_break : Out(16), In(1)
        Clocks per bit, and the signal that restores the configured value.
    quiet : In(1)
        All answers had been sent one clock ago.
    """

    requests: ClassVar = (Request.BAUD,)

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                "request": In(HandlerSignature(config)),
                "divisor": Out(16, init=config.link.divisor),
                "line_break": In(1),
                "quiet": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, asked = self.request, self.request.fields.baud.divisor
        divisor = Signal(16, init=self._config.link.divisor)
        waiting = Signal()  # a legal divisor waits until its answer has been sent
        m.d.comb += [
            self.divisor.eq(divisor),
            request.status.eq(Mux(waiting, StatusCode.OK, StatusCode.OUT_OF_RANGE)),
            request.lingers.eq(waiting),
        ]
        with m.If(request.start):
            m.d.sync += waiting.eq(asked >= LEAST_DIVISOR)
        with m.FSM():
            # `quiet` is a clock late: in the first clock it predates the answer.
            with m.State("idle"), m.If(request.answered):
                m.next = "answered"
            with m.State("answered"):
                m.next = "retune"
            with m.State("retune"), m.If(self.quiet):
                m.d.sync += [divisor.eq(asked), waiting.eq(0)]
                m.next = "idle"
        with m.If(self.line_break):
            m.d.sync += divisor.eq(self._config.link.divisor)
        invariant(m, platform, divisor >= LEAST_DIVISOR, "the divisor is too small")
        return m
