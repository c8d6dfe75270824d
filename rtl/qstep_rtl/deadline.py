"""Detects when a world does not answer an agent in time, and reports the agent.

Function    `silent` rises at an agent's next request once the agent has waited for `clocks` clocks, and
            stays 1 until the next job. An agent waits from its first unanswered request on.
Latency     Five clocks after a request.
Throughput  One request per clock.
Reset       Same as at the start of a job: no agent is waiting.
Hazards     none: an agent repeats its request after 16 clocks at the earliest.
Invariants  none
"""

from __future__ import annotations

from amaranth.hdl import Array, Module, Signal, unsigned
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

from qstep_rtl.world_port import AGENT_BITS, ANSWER_CLOCKS

__all__ = ["Deadline"]

_TIME_BITS = 32


class Deadline(Component):
    """The deadline of a world.

    Parameters
    ----------
    agents : int
    clocks : int
        1..2^31-1.

    Attributes
    ----------
    valid, agent, ready : In(1), In(4), In(1)
        Signals of the world port.
    run : In(1)
        A job starts.
    silent, silent_agent : Out(1), Out(4)
    """

    def __init__(self, agents: int, clocks: int) -> None:
        self._agents, self._clocks = agents, clocks
        super().__init__(
            {
                "valid": In(1),
                "agent": In(AGENT_BITS),
                "ready": In(1),
                "run": In(1),
                "silent": Out(1),
                "silent_agent": Out(AGENT_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Per agent: whether it is waiting, and the time at which it began to wait.
        waiting = Array(Signal(name=f"waiting_{agent}") for agent in range(self._agents))
        m.submodules.since = since = Memory(
            shape=unsigned(_TIME_BITS), depth=max(2, self._agents), init=[]
        )
        read, write = since.read_port(), since.write_port()
        now = Signal(_TIME_BITS)
        waited = Signal(_TIME_BITS)

        # Delays each request until its answer is due.
        asked = [(self.valid, self.agent)]
        for _ in range(ANSWER_CLOCKS):
            asked.append((Signal(), Signal(AGENT_BITS)))
            for late, early in zip(asked[-1], asked[-2], strict=True):
                m.d.sync += late.eq(early)
        valid, agent = asked[-1]
        m.d.comb += read.addr.eq(asked[-2][1])
        unanswered = valid & ~self.ready
        waits = Signal()
        waiter = Signal(AGENT_BITS)
        m.d.sync += [
            now.eq(now + 1),
            waited.eq(now - read.data),
            waits.eq(unanswered & waiting[agent]),
            waiter.eq(agent),
        ]
        m.d.comb += [
            write.addr.eq(agent),
            write.data.eq(now),
            write.en.eq(unanswered & ~waiting[agent]),
        ]
        with m.If(valid):
            m.d.sync += waiting[agent].eq(~self.ready)
        with m.If(waits & (waited >= self._clocks) & ~self.silent):
            m.d.sync += [self.silent.eq(1), self.silent_agent.eq(waiter)]
        with m.If(self.run):
            m.d.sync += [self.silent.eq(0), *(each.eq(0) for each in waiting)]
        return m
