"""Executes requests: the reader checks each request, a handler executes it, and then the answer starts.

Function    Executes one request at a time, in order of arrival. The request reader applies the rules
            that all requests share; each handler applies the specific rules of its requests.
Latency     13 clocks from the first byte of an APPLY frame to its first record; 4 clocks from the lane's
            last acceptance to the answer.
Throughput  An APPLY payload passes at one byte per clock, plus 18 clocks per frame; the line needs 15 or
            more for header, CRC and framing.
Reset       Idle; see the handlers.
Hazards     An APPLY frame is read while the previous answer is composed: its transitions must not
            enter the lane while the responder reads registers. Every other request waits until the
            device is quiet.
Invariants  Each frame gets exactly one answer and leaves no byte unread.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Member, Out, connect, flipped

from qstep.spec.config import Config
from qstep.spec.protocol import StatusCode
from qstep_rtl.handle_act import ActHandler
from qstep_rtl.handle_agents import AgentsHandler, AgentsSignature
from qstep_rtl.handle_apply import ApplyHandler
from qstep_rtl.handle_rate import RateHandler
from qstep_rtl.handle_reports import ReportsHandler
from qstep_rtl.handle_settings import LaneSettings, SettingsHandler
from qstep_rtl.handle_tables import TablesHandler
from qstep_rtl.handler import HandlerSignature
from qstep_rtl.invariants import invariant
from qstep_rtl.record_decoder import RecordsSignature
from qstep_rtl.request_reader import RequestReader
from qstep_rtl.responder import ANSWERED
from qstep_rtl.session import SessionSignature
from qstep_rtl.table_access import AccessSignature
from qstep_rtl.world_port import WorldSignature

__all__ = ["Commands"]


class Commands(Component):
    """The command decoder.

    Parameters
    ----------
    config : Config
        Its link sets the divisor after reset.

    Attributes
    ----------
    bytes : In(stream of 8)
        Bytes of valid frames.
    answers : Out(stream of ANSWERED)
        Starts an answer.
    session : Out(SessionSignature)
        Session registers, which are part of every answer.
    records : Out(RecordsSignature)
        The record decoder. This port and the next two exist only in a device with a lane.
    access : Out(AccessSignature)
        The table access.
    settings : Out(LaneSettings)
        Settings of the lane.
    agents : Out(AgentsSignature)
        The agents. This port and the next one exist only in a device with agents.
    data : Out(stream of 8)
        Bytes of an answer about the agents.
    world : In(WorldSignature)
        The agents' world, if it is live.
    count : Out(1)
        Send the counters' totals once.
    divisor, line_break : Out(16), In(1)
        Clocks per bit, and the signal that restores the configured value.
    quiet, asks_quiet : In(1), Out(1)
        `quiet`: lane, digest and line were idle one clock ago. `asks_quiet`: `quiet` is needed in the
        next clock.
    refused : Out(1)
        1 for one clock per request that was not executed, except repeats of executed requests.
    busy : Out(1)
        The decoder is busy with anything except an APPLY payload. In a device with agents: it is busy
        with a request whose header has been read.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        of_lane = {
            "records": Out(RecordsSignature()),
            "access": Out(AccessSignature(config)),
            "settings": Out(LaneSettings()),
        }
        of_agents: dict[str, Member] = {
            "agents": Out(AgentsSignature(config.lanes)),
            "data": Out(stream.Signature(8)),
        }
        if config.acting and config.acting.is_live:
            of_agents["world"] = In(WorldSignature(config))
        super().__init__(
            {
                "bytes": In(stream.Signature(8)),
                "answers": Out(stream.Signature(ANSWERED)),
                "session": Out(SessionSignature()),
                **(of_agents if config.acting else of_lane),
                "count": Out(1),
                "divisor": Out(16),
                "line_break": In(1),
                "quiet": In(1),
                "asks_quiet": Out(1),
                "refused": Out(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.reader = reader = RequestReader(config)
        m.submodules.rate = rate = RateHandler(config)
        m.submodules.reports = reports = ReportsHandler(config)
        handlers: list[Component] = [rate, reports]

        connect(m, flipped(self.bytes), reader.bytes)
        connect(m, reader.session, flipped(self.session))
        if config.acting:
            m.submodules.agents = agents = AgentsHandler(config)
            handlers += [agents]
            if config.acting.is_live:
                handlers += [self._add_act(m, agents, reader)]
            else:
                connect(m, agents.agents, flipped(self.agents))
                connect(m, agents.data, flipped(self.data))
        else:
            m.submodules.apply = apply = ApplyHandler(config)
            m.submodules.tables = tables = TablesHandler(config)
            m.submodules.settings = settings = SettingsHandler(config)
            handlers += [apply, tables, settings]
            connect(m, apply.records, flipped(self.records))
            connect(m, tables.access, flipped(self.access))
            connect(m, settings.settings, flipped(self.settings))
            m.d.comb += self.busy.eq(~apply.passing)
        m.d.comb += [
            reader.quiet.eq(self.quiet),
            reader.greet.eq(reports.greet),
            rate.quiet.eq(self.quiet),
            rate.line_break.eq(self.line_break),
            self.divisor.eq(rate.divisor),
            self.count.eq(reports.count),
        ]

        # Outputs of the current request's handler; the other handlers are ignored.
        request = reader.request.payload
        current = HandlerSignature(config).create()
        for handler in handlers:
            m.d.comb += [
                handler.request.type.eq(request.type),
                handler.request.fields.eq(reader.fields),
                handler.request.left.eq(reader.left),
                handler.request.spent.eq(reader.spent),
                handler.request.payload.payload.eq(reader.payload.payload),
                handler.request.payload.valid.eq(reader.payload.valid),
            ]
            with m.Switch(handler.request.type), m.Case(*handler.requests):
                m.d.comb += [
                    handler.request.start.eq(current.start),
                    handler.request.answered.eq(current.answered),
                    current.busy.eq(handler.request.busy),
                    current.status.eq(handler.request.status),
                    current.data_bytes.eq(handler.request.data_bytes),
                    current.lingers.eq(handler.request.lingers),
                ]

        status = Signal(StatusCode)
        begun = Signal()  # the answer has begun
        discarding = Signal()
        m.d.comb += [
            status.eq(request.status),
            self.answers.payload.type.eq(request.type),
            self.answers.payload.seq.eq(request.seq),
            self.answers.payload.status.eq(status),
            reader.answered.eq(begun),
            reader.status.eq(status),
        ]
        with m.If(request.status == StatusCode.OK):
            m.d.comb += status.eq(current.status)
        m.d.sync += self.refused.eq(
            begun & (status != StatusCode.OK) & (status != StatusCode.DUPLICATE)
        )
        with m.FSM() as fsm:
            if config.acting:
                waits = fsm.ongoing("idle") & ~reader.request.valid & ~reader.asks_quiet
                m.d.comb += self.busy.eq(~waits)
            m.d.comb += [
                self.asks_quiet.eq(reader.asks_quiet | fsm.ongoing("linger")),
                # This signal settles late in a clock, so it does not select the current handler: the
                # other handlers are never ready.
                reader.payload.ready.eq(
                    discarding | Cat(handler.request.payload.ready for handler in handlers).any()
                ),
            ]
            with m.State("idle"), m.If(reader.request.valid):
                m.d.sync += discarding.eq(request.status != StatusCode.OK)
                m.next = "discard"
                with m.If(request.status == StatusCode.OK):
                    m.d.comb += current.start.eq(1)
                    m.next = "work"
            with m.State("work"), m.If(~current.busy):
                m.next = "answer"
                with m.If(current.status != StatusCode.OK):
                    m.d.sync += discarding.eq(1)
                    m.next = "discard"
            with m.State("discard"), m.If(reader.spent):
                m.d.sync += discarding.eq(0)
                m.next = "answer"
            with m.State("answer"):
                invariant(m, platform, reader.spent, "bytes of a payload are left behind")
                m.d.comb += [self.answers.valid.eq(1), begun.eq(self.answers.ready)]
                with m.If(status == StatusCode.OK):
                    m.d.comb += self.answers.payload.data_bytes.eq(current.data_bytes)
                with m.If(self.answers.ready):
                    m.next = "idle"
                    with m.If(status == StatusCode.OK):
                        m.d.comb += current.answered.eq(1)
                    with m.If((status == StatusCode.OK) & current.lingers):
                        m.next = "linger"
                    with m.Else():
                        m.d.comb += reader.request.ready.eq(1)
            with m.State("linger"), m.If(~current.lingers):
                m.d.comb += reader.request.ready.eq(1)
                m.next = "idle"
        return m

    def _add_act(self, m: Module, agents: AgentsHandler, reader: RequestReader) -> ActHandler:
        """Add the handler of a live world, between the agents' handler and the agents."""
        m.submodules.act = act = ActHandler(self._config)
        connect(m, agents.agents, act.host)
        connect(m, act.agents, flipped(self.agents))
        connect(m, flipped(self.world), act.world)
        m.d.comb += [
            act.repeated.eq(reader.request.payload.seq != reader.session.expected),
            self.data.valid.eq(agents.data.valid | act.data.valid),
            self.data.payload.eq(
                Mux(act.data.valid, act.data.payload, agents.data.payload),
            ),
            agents.data.ready.eq(self.data.ready),
            act.data.ready.eq(self.data.ready),
        ]
        return act
