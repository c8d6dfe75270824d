"""Executes APPLY_CODED and APPLY_RAW: passes the payload to the record decoder.

Function    Other blocks decode and check each record, and offer it to the lane. This handler ends a
            request when all its records have been accepted; an illegal or truncated record sets the
            status.
Latency     3 clocks from the lane's last acceptance until `busy` is 0.
Throughput  One byte per clock.
Reset       Idle.
Hazards     none
Invariants  none
"""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import Component, In, Out

from qstep.spec.config import Config
from qstep.spec.protocol import Request, StatusCode
from qstep_rtl.handler import HandlerSignature
from qstep_rtl.record_decoder import RecordsSignature

__all__ = ["ApplyHandler"]


class ApplyHandler(Component):
    """The handler of transitions.

    Attributes
    ----------
    request : In(HandlerSignature)
    records : Out(RecordsSignature)
        The record decoder.
    passing : Out(1)
        The handler is passing on the remaining bytes.
    """

    requests: ClassVar = (Request.APPLY_CODED, Request.APPLY_RAW)

    def __init__(self, config: Config) -> None:
        super().__init__(
            {
                "request": In(HandlerSignature(config)),
                "records": Out(RecordsSignature()),
                "passing": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, records = self.request, self.records
        running = Signal()
        m.d.comb += [
            records.start.eq(request.start),
            records.coded.eq(request.type == Request.APPLY_CODED),
            records.bytes.payload.eq(request.payload.payload),
            records.bytes.valid.eq(request.payload.valid & running),
            request.payload.ready.eq(records.bytes.ready & running),
            request.busy.eq(~request.spent | records.busy),
            request.status.eq(
                Mux(
                    records.illegal,
                    StatusCode.OUT_OF_RANGE,
                    Mux(records.partial, StatusCode.BAD_LENGTH, StatusCode.OK),
                )
            ),
            self.passing.eq(running & ~request.spent),
        ]
        with m.If(request.start):
            m.d.sync += running.eq(1)
        with m.Elif(request.spent):
            m.d.sync += running.eq(0)
        return m
