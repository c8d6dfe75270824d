"""Executes HELLO, STATUS and COUNTERS, whose answers the responder composes from registers.

Function    HELLO opens a session; COUNTERS requests the totals.
Latency     `count` is asserted with `start`, and `greet` one clock later.
Throughput  One request at a time.
Reset       none
Hazards     none
Invariants  none
"""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Module, Mux
from amaranth.lib.wiring import Component, In, Out

from qstep.spec.config import Config
from qstep.spec.protocol import ANSWERS, Request
from qstep_rtl.handler import HandlerSignature

__all__ = ["ReportsHandler"]


class ReportsHandler(Component):
    """The handler of the device's reports about itself.

    Attributes
    ----------
    request : In(HandlerSignature)
    greet : Out(1)
        Open the session that a HELLO requests.
    count : Out(1)
        Send the counters' totals once.
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
        # Delayed, because the session first compares the nonce byte by byte.
        m.d.sync += self.greet.eq(request.start & (request.type == Request.HELLO))
        return m
