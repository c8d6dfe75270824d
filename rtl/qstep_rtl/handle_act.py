"""Executes BEGIN and ACT: the host acts as an agent's world for a step, and gets the next action.

Function    Starts a job of two steps, which ends at one of the agent's requests to its world: the first
            request after BEGIN, the second after ACT, because the host answers the first. Requests of
            other agents are not answered, so these agents take no step. See ``docs/link.md``, "A live
            world".
Latency     About 500 clocks, until all agents are idle again.
Throughput  One step at a time.
Reset       Idle.
Hazards     A repeated request gets the same action again, from a register.
Invariants  none
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import ClassVar

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out, connect, flipped

from qstep.spec.config import Config
from qstep.spec.protocol import Request, StatusCode
from qstep_rtl.handle_agents import AgentsSignature
from qstep_rtl.handler import HandlerSignature
from qstep_rtl.world_port import ANSWER_CLOCKS, WorldSignature

__all__ = ["ActHandler"]

_STEPS = 2


class ActHandler(Component):
    """The handler of a live world, between the agents' handler and the agents.

    Parameters
    ----------
    config : Config
        Must have agents (``acting``).

    Attributes
    ----------
    request : In(HandlerSignature)
    repeated : In(1)
        The request has been executed before; valid with its `start`.
    host : In(AgentsSignature)
        Other requests to the agents.
    agents : Out(AgentsSignature)
    world : In(WorldSignature)
    data : Out(stream of 8)
        The action, as data of an answer.
    """

    requests: ClassVar = (Request.BEGIN, Request.ACT)

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                "request": In(HandlerSignature(config)),
                "repeated": In(1),
                "host": In(AgentsSignature()),
                "agents": Out(AgentsSignature()),
                "world": In(WorldSignature(config)),
                "data": Out(stream.Signature(8)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, acting = self._config, self._config.acting
        assert acting is not None
        request, agents, world = self.request, self.agents, self.world
        given = request.fields.act  # BEGIN's arguments overlay the first arguments of ACT
        width = config.format.width
        rows = [given[name] for name in given.shape().members if name.startswith("next_state")]
        next_state = Cat(row[: config.state_bits] for row in rows)
        connect(m, flipped(self.host), flipped(agents))

        action = Signal(8)
        sending = Signal()
        begins = Signal()
        is_outside = Signal()
        answered = Signal(ANSWER_CLOCKS)  # a shift register that delays the answer
        mine = world.valid & (world.agent == given.agent)
        m.d.comb += [
            request.data_bytes.eq(1),
            request.payload.ready.eq(0),
            begins.eq(request.type == Request.BEGIN),
            self.data.payload.eq(action),
            self.data.valid.eq(sending),
            world.ready.eq(answered[-1]),
            world.reward.eq(given.reward[:width]),
            world.next_state.eq(next_state),
            world.terminated.eq(given.terminated),
            world.start_state.eq(next_state),
        ]
        m.d.sync += answered.eq(answered << 1)
        with m.If(request.answered):
            m.d.sync += sending.eq(1)
        with m.Elif(self.data.ready):
            m.d.sync += sending.eq(0)
        with m.FSM() as fsm:
            m.d.comb += request.busy.eq(~fsm.ongoing("idle"))
            with m.State("idle"), m.If(request.start):
                m.d.sync += request.status.eq(StatusCode.OK)
                with m.If(~self.repeated):
                    m.next = "compare"
            with m.State("compare"):
                sign = given.reward[width - 1 :]
                is_reward = sign.all() | ~sign.any()
                m.d.sync += is_outside.eq(
                    (given.agent >= acting.agents)
                    | reduce(or_, (row >= config.states for row in rows))
                    | (~begins & ((given.terminated > 1) | ~is_reward))
                )
                m.next = "judge"
            with m.State("judge"):
                m.next = "idle"
                with m.If(agents.busy):
                    m.d.sync += request.status.eq(StatusCode.BUSY)
                with m.Elif(is_outside):
                    m.d.sync += request.status.eq(StatusCode.OUT_OF_RANGE)
                with m.Else():
                    m.d.comb += [agents.run.eq(1), agents.steps.eq(_STEPS)]
                    m.next = "ask"
                    with m.If(begins):
                        m.next = "choose"
            with m.State("ask"), m.If(mine):
                m.d.sync += answered.eq(1)
                m.next = "choose"
            with m.State("choose"), m.If(mine):
                m.d.comb += agents.stop.eq(1)
                m.d.sync += action.eq(world.action)
                m.next = "rest"
            with m.State("rest"), m.If(~agents.busy):
                m.next = "idle"
        return m
