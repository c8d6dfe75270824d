"""The agents of a configuration as a separate module, ``qstep_agents``, to connect to a bus.

Function    Has the ports of :class:`qstep_rtl.agents.Agents`, ungrouped, plus clock and reset.
Latency     See the agents.
Throughput  See the agents.
Reset       Resets the agents synchronously while `rst` is 1.
Hazards     none
Invariants  none
"""

from __future__ import annotations

import re

from amaranth.hdl import Cat, ClockDomain, Module, Mux, Shape, Value
from amaranth.lib.wiring import Component, In, Out

from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep.spec.tiles import Tiles
from qstep_rtl.agents import Agents
from qstep_rtl.handle_agents import AgentsSignature
from qstep_rtl.invariants import as_verilog, unlinted
from qstep_rtl.pins import connect_pins, pins_of
from qstep_rtl.sources import RTL
from qstep_rtl.tile_coder import number_shapes

__all__ = ["CORE", "agents_core", "record_bytes", "stream_numbers", "stream_planes", "stream_tiles"]

CORE = "qstep_agents"

_NUMBER_BITS = 32

_WAIVERS = "qstep_generated.vlt"
"""File of the lint rules that do not apply to generated Verilog, each with its reason."""


class _Core(Component):
    def __init__(self, config: Config) -> None:
        self._config = config
        host = {
            name: (In if member.flow == Out else Out)(member.shape)
            for name, member in AgentsSignature().members.items()
        }
        # These ports are always present, so that one wrapper fits all; without an external world they
        # are idle.
        at_pins = Config(
            *(config.states, config.actions, config.format),
            acting=Acting(world="pins"),
            planes=stream_planes(config),
        )
        pins = pins_of(at_pins) | {"observation": In(max(1, _NUMBER_BITS * stream_numbers(config)))}
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
        if (tiles := stream_tiles(self._config)) is not None:
            numbers = (
                _clipped(self.observation.word_select(k, _NUMBER_BITS), shape)
                for k, shape in enumerate(number_shapes(tiles))
            )
            m.d.comb += core.observation.eq(Cat(*numbers))  # replaces the unclipped words
        return m


def _clipped(word: Value, shape: Shape) -> Value:
    """Return a word, saturated to the range of a shape."""
    number, sign = word.as_signed(), word[-1]
    above = number[shape.width - 1 : -1]
    fits = Mux(sign, above.all(), ~above.any())
    end = Cat((~sign).replicate(shape.width - 1), sign)
    return Mux(fits, number[: shape.width], end)


def stream_tiles(config: Config) -> Tiles | None:
    """Return the tile coding of the observations on the streams, if any."""
    acting = config.acting
    return acting.tiles if acting is not None and acting.is_at_pins else None


def stream_planes(config: Config) -> int:
    """Return the number of rows per state on the streams; 1 if they carry no states."""
    outside = config.acting is not None and config.acting.is_at_pins
    return config.planes if outside and stream_tiles(config) is None else 1


def stream_numbers(config: Config) -> int:
    """Return the number of values in an observation on the streams; 0 if they carry no observations."""
    tiles = stream_tiles(config)
    return 0 if tiles is None else len(tiles.coordinates)


def record_bytes(config: Config) -> int:
    """Return the bytes per record: the least power of two that fits all rows or numbers."""
    numbers = stream_numbers(config)
    used = 16 + 4 * numbers if numbers else 14 + 2 * stream_planes(config)
    return 1 << (used - 1).bit_length()


def agents_core(config: Config) -> str:
    """Return the Verilog of the agents; it needs the sources of :func:`qstep_rtl.sources.rtl_files`."""
    rules = re.findall(r"^lint_off -rule (\w+)", (RTL / _WAIVERS).read_text("utf-8"), re.MULTILINE)
    return unlinted(as_verilog(_Core(config), CORE), rules)
