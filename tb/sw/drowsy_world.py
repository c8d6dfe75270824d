"""A test world, written as a circuit, that answers late and ignores agent 1 for a while.

It answers every second request of agent 0, and all requests of agent 1 except the 20th to the 119th.
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import Component, In

from qstep.spec.config import Config
from qstep_rtl.world_port import WorldSignature

__all__ = ["World"]

SLEEP = (20, 120)


class World(Component):
    """Eight states in a ring; a step moves `action + 1` on and pays the new state's number; 7 ends."""

    def __init__(self, config: Config) -> None:
        super().__init__({"world": In(WorldSignature(config))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        port = self.world
        asked = Signal(8)  # requests of agent 1
        awake, ready, ready_late = Signal(), Signal(), Signal()
        late, later = Signal(3), Signal(3)  # next state
        m.d.sync += [ready_late.eq(ready), port.ready.eq(ready_late)]
        m.d.sync += [
            late.eq(port.state + port.action + 1),
            later.eq(late),
            port.next_state.eq(later),
        ]
        m.d.sync += [port.reward.eq(later), port.terminated.eq(later == 7)]
        with m.If(port.valid & (port.agent == 0)):
            m.d.sync += awake.eq(~awake)
        with m.If(port.valid & (port.agent == 1) & (asked != SLEEP[1])):
            m.d.sync += asked.eq(asked + 1)
        slept = (asked >= SLEEP[0]) & (asked < SLEEP[1])
        m.d.sync += ready.eq(Mux(port.agent == 0, awake, (port.agent != 1) | ~slept))
        return m
