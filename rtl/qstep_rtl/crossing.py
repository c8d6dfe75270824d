"""Transfers host requests into the lanes' clock domain, and the agents' answers back.

Function    Orders (an access, a run, a stop) cross one at a time. A bit that toggles with each order
            passes through a synchroniser while the data are stable. Once the bit has returned, the order
            has been accepted, and the word of a read is stable. The end of a job has a separate bit. See
            ``docs/farm.md``, "A clock of its own".
Latency     An order takes six lane clocks, and its acknowledgement five link clocks.
Throughput  One order at a time.
Reset       Resets the lanes, and sends nothing until they acknowledge the reset. `busy` is 1 meanwhile.
Hazards     The bit passes through enough registers for the data to arrive before it: a path between the
            domains may take up to STAGES periods of the receiving clock. The check after place and route
            (``qstep_fpga.clocks``) allows one period less.
Invariants  A run is requested only while nothing is in progress.
"""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Cat, Module, ResetSignal, Signal
from amaranth.lib import data
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import Component, In, Member, Out

from qstep.spec.config import Config
from qstep.spec.memory_map import Region
from qstep_rtl.handle_agents import AgentsSignature
from qstep_rtl.invariants import invariant

__all__ = ["LANES", "STAGES", "Crossing", "lanes_clock"]

LANES = "lanes"
"""The lanes' clock domain; the link's domain is ``sync``."""

STAGES = 4
"""Synchroniser stages of a bit: two resolve metastability, the others let the data arrive first."""


_ACCESS, _RUN, _STOP = range(3)
"""Kinds of orders."""


def lanes_clock(config: Config) -> dict[str, Member]:
    """Return the port ``lanes_clk`` if the lanes have a separate clock, otherwise no port."""
    if config.acting is None or config.acting.clock_hz is None:
        return {}
    return {"lanes_clk": In(1)}


class Crossing(Component):
    """The crossing between the domains ``sync`` and ``lanes``.

    Parameters
    ----------
    lanes : int

    Attributes
    ----------
    host : In(AgentsSignature)
        The host's port, in the domain ``sync``.
    agents : Out(AgentsSignature)
        The agents' port, in the domain ``lanes``.
    reset : Out(1)
        Reset of the domain ``lanes``.
    """

    bits: ClassVar = ("asked", "taken", "ended", "resetting", "reset")
    """Registers that the other domain samples through a synchroniser."""

    held: ClassVar = ("order", "found", "silence")
    """Registers that are stable while the other domain samples them."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        super().__init__(
            {
                "host": In(AgentsSignature(lanes)),
                "agents": Out(AgentsSignature(lanes)),
                "reset": Out(1, init=1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        host, agents = self.host, self.agents
        lane = {"lane": 8} if self._lanes > 1 else {}
        place = {**lane, "write": 1, "region": 3, "index": 30, "word": 32}

        def seen(bit: Signal, domain: str) -> Signal:
            """Return a bit, synchronised to the other domain."""
            there = Signal(name=f"{bit.name}_seen")
            m.submodules[f"{bit.name}_chain"] = FFSynchronizer(
                bit, there, o_domain=domain, init=bit.init, stages=STAGES
            )
            return there

        # A reset does not change registers that the other domain may be sampling.
        order = Signal(data.StructLayout({"kind": 2, **place}), reset_less=True)
        asked = Signal(reset_less=True)
        taken = Signal(reset_less=True)
        ended = Signal()
        found = Signal(32, reset_less=True)
        silence = Signal(data.StructLayout({"agent": 4, "is_there": 1}))
        resetting = Signal(init=1, reset_less=True)
        asked_there, taken_here = seen(asked, LANES), seen(taken, "sync")
        ended_here, reset_here = seen(ended, "sync"), seen(self.reset, "sync")
        long = Cat(order.word, order.index)  # wide enough for the steps of a run

        # The link's side: the lanes must detect both edges of the reset.
        is_reset = Signal(init=1, reset_less=True)
        with m.If(resetting):
            m.d.sync += resetting.eq(ResetSignal() | ~reset_here)
        with m.Elif(~reset_here):
            m.d.sync += [resetting.eq(ResetSignal()), is_reset.eq(ResetSignal())]

        # Orders.
        waits = Signal()
        stops = Signal()
        begun = Signal(init=1)  # agents are also busy after a reset
        is_taken = asked == taken_here
        m.d.comb += [
            host.done.eq(waits & is_taken & (order.kind == _ACCESS)),
            host.read.eq(found),
            host.busy.eq(
                is_reset | (begun != ended_here) | stops | (waits & (order.kind == _STOP))
            ),
            host.silent.eq(silence.is_there),
            host.silent_agent.eq(silence.agent),
        ]
        with m.If(host.stop):
            m.d.sync += stops.eq(1)
        with m.If(waits):
            m.d.sync += waits.eq(~is_taken)
        with m.Elif(~is_reset & (host.run | stops | host.access)):
            m.d.sync += [waits.eq(1), asked.eq(~asked), order.kind.eq(_ACCESS)]
            m.d.sync += [order[name].eq(getattr(host, name)) for name in place]
            with m.If(host.run):
                m.d.sync += [order.kind.eq(_RUN), long.eq(host.steps), begun.eq(~begun)]
            with m.Elif(stops):
                m.d.sync += [order.kind.eq(_STOP), stops.eq(host.stop)]
        with m.If(host.run):
            is_free = ~waits & ~host.busy
            invariant(m, platform, is_free, "a run begins while an order is on its way")

        # The lanes' side.
        running = Signal(init=1)
        arrived = Signal()
        takes = Signal()
        m.d.comb += [
            self.reset.eq(seen(resetting, LANES)),
            agents.steps.eq(long),
            *(getattr(agents, name).eq(order[name]) for name in place),
        ]
        m.d[LANES] += arrived.eq((asked_there != taken) & ~takes)
        with m.If(arrived), m.Switch(order.kind):
            # A stop that found no job may still be in flight.
            with m.Case(_ACCESS):
                is_count = ~order.write & (order.region == Region.COUNTERS)
                m.d.comb += [agents.access.eq(~agents.busy | is_count), takes.eq(agents.done)]
            with m.Case(_RUN):
                m.d.comb += [agents.run.eq(~agents.busy), takes.eq(~agents.busy)]
            with m.Case(_STOP):
                m.d.comb += [agents.stop.eq(1), takes.eq(1)]
        with m.If(takes | self.reset):
            m.d[LANES] += taken.eq(asked_there)
        with m.If(agents.done):
            m.d[LANES] += found.eq(agents.read)
        with m.If(agents.run):
            m.d[LANES] += running.eq(1)
        with m.Elif(running & ~agents.busy):
            m.d[LANES] += [running.eq(0), ended.eq(~ended)]
            m.d[LANES] += [
                silence.agent.eq(agents.silent_agent),
                silence.is_there.eq(agents.silent),
            ]
        return m
