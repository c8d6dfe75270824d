"""Carries out HELLO, STATUS and COUNTERS, whose answers the responder composes from registers.

Function    HELLO greets the session; COUNTERS has the totals sent.
Latency     `count` comes with `start`, `greet` a clock later.
Throughput  One request at a time.
Reset       none
Hazards     none
Invariants  none
"""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Module, Mux
from amaranth.lib.wiring import Component, In, Out

from qstep.config import Config
from qstep.protocol import ANSWERS, Request
from qstep_rtl.handler import HandlerSignature

__all__ = ["ReportsHandler"]


class ReportsHandler(Component):
    """The handler of what the device says about itself.

    Attributes
    ----------
    request : In(HandlerSignature)
    greet : Out(1)
        Open the session that HELLO asks for.
    count : Out(1)
        Send the totals of the counters once.
    """

    requests: ClassVar = (Request.HELLO, Request.STATUS, Request.COUNTERS)

    def __init__(self, config: Config) -> None:
        super().__init__(
            {"request": In(HandlerSignature(config)), "greet": Out(1), "count": Out(1)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request = self.request
        is_counters = request.type == Request.COUNTERS
        m.d.comb += [
            self.count.eq(request.start & is_counters),
            request.data_bytes.eq(Mux(is_counters, ANSWERS[Request.COUNTERS].size, 0)),
        ]
        # Later, as the session compares the nonce byte by byte first.
        m.d.sync += self.greet.eq(request.start & (request.type == Request.HELLO))
        return m
