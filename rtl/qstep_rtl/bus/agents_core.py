"""The agents of a configuration as a separate module, ``qstep_agents``, for use behind a bus.

Function    The ports of :class:`qstep_rtl.agents.Agents` one by one, with clock and reset.
Latency     See the agents.
Throughput  See the agents.
Reset       That of the agents, synchronous, while `rst` is 1.
Hazards     none
Invariants  none
"""

from __future__ import annotations

from amaranth.hdl import ClockDomain, Module
from amaranth.lib.wiring import Component, In, Out

from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep_rtl.agents import Agents
from qstep_rtl.handle_agents import AgentsSignature
from qstep_rtl.invariants import as_verilog
from qstep_rtl.pins import connect_pins, pins_of

__all__ = ["CORE", "agents_core", "record_bytes", "stream_planes"]

CORE = "qstep_agents"


class _Core(Component):
    def __init__(self, config: Config) -> None:
        self._config = config
        host = {
            name: (In if member.flow == Out else Out)(member.shape)
            for name, member in AgentsSignature().members.items()
        }
        # Always present, so that the surroundings are the same; without a world outside they are idle.
        at_pins = Config(
            *(config.states, config.actions, config.format),
            acting=Acting(world="pins"),
            planes=stream_planes(config),
        )
        pins = pins_of(at_pins)
        super().__init__({"clk": In(1), "rst": In(1), **host, **pins})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = sync = ClockDomain()
        sync.clk, sync.rst = self.clk, self.rst
        m.submodules.agents = core = Agents(self._config)
        for name, member in AgentsSignature().members.items():
            inner, outer = getattr(core.agents, name), getattr(self, name)
            m.d.comb += inner.eq(outer) if member.flow == Out else outer.eq(inner)
        connect_pins(m, self._config, self, core)
        return m


def stream_planes(config: Config) -> int:
    """Return the rows of a state at the streams: 1 where the world is inside."""
    return config.planes if config.acting is not None and config.acting.is_at_pins else 1


def record_bytes(config: Config) -> int:
    """Return the bytes of a record, the least power of two that holds a row in each plane."""
    return 1 << (13 + 2 * stream_planes(config)).bit_length()


def agents_core(config: Config) -> str:
    """Return the Verilog of the agents; it needs the sources of :func:`qstep_rtl.sources.rtl_files`."""
    return as_verilog(_Core(config), CORE)
