"""Executes REWARDS, LOAD, READ and CLEAR: the table access checks and moves the values.

Function    REWARDS, LOAD and READ are checked first, so that no part of a bad request is applied.
            The values of a READ are moved while they are sent.
Latency     Three clocks more than the table access needs to check and move the values.
Throughput  See the table access.
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
from qstep_rtl.table_access import AccessSignature, AccessTask

__all__ = ["TablesHandler"]

_TASKS = {
    Request.REWARDS: AccessTask.REWARDS,
    Request.LOAD: AccessTask.LOAD,
    Request.READ: AccessTask.READ,
    Request.CLEAR: AccessTask.CLEAR,
}


class TablesHandler(Component):
    """The handler of tables.

    Attributes
    ----------
    request : In(HandlerSignature)
    access : Out(AccessSignature)
        The table access.
    """

    requests: ClassVar = tuple(_TASKS)

    def __init__(self, config: Config) -> None:
        super().__init__(
            {
                "request": In(HandlerSignature(config)),
                "access": Out(AccessSignature(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, access = self.request, self.access
        fields, is_read = request.fields, request.type == Request.READ
        task = Signal(AccessTask)
        moving = Signal()
        with m.Switch(request.type):
            for number, its_task in _TASKS.items():
                with m.Case(number):
                    m.d.comb += task.eq(its_task)
        m.d.comb += [
            access.first_code.eq(fields.rewards.first_code),
            access.first_state.eq(fields.read.first_state),
            access.first_action.eq(fields.read.first_action),
            access.count.eq(fields.read.count),
            access.payload_bytes.eq(request.left),
            access.values.payload.eq(request.payload.payload),
            access.values.valid.eq(request.payload.valid & moving),
            request.payload.ready.eq(moving),
            request.data_bytes.eq(Mux(is_read, access.data_bytes, 0)),
        ]
        m.d.sync += [access.check.eq(0), access.move.eq(0)]
        with m.FSM() as fsm:
            m.d.comb += request.busy.eq(~fsm.ongoing("idle"))
            with m.State("idle"):
                with m.If(request.start):
                    # Registered, because a READ may still move values while the next header arrives.
                    m.d.sync += access.task.eq(task)
                    m.next = "check"
                    with m.If(task == AccessTask.CLEAR):
                        m.d.sync += access.move.eq(1)
                        m.next = "move"
                    with m.Else():
                        m.d.sync += access.check.eq(1)
                with m.If(request.answered & is_read):
                    m.d.sync += access.move.eq(1)
            # The access is busy from the clock after `check` or `move`.
            with m.State("check"), m.If(~access.check & ~access.busy):
                m.next = "idle"
                with m.If((access.verdict == StatusCode.OK) & ~is_read):
                    m.d.sync += access.move.eq(1)
                    m.next = "move"
            with m.State("move"), m.If(~access.move):
                m.d.sync += moving.eq(1)
                m.next = "moving"
            with m.State("moving"), m.If(~access.busy):
                m.d.sync += moving.eq(0)
                m.next = "idle"
        m.d.comb += request.status.eq(Mux(task == AccessTask.CLEAR, StatusCode.OK, access.verdict))
        return m
