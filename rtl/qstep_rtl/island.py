"""An island of a farm: a lane of agents with its world and its chain node. All islands are identical.

Function    Combines :class:`qstep_rtl.agents.Agents` and ``qs_chain_node``. It is a separate module, so
            that a placed lane can be copied.
Latency     See the agents and the node.
Throughput  See the agents.
Reset       The reset comes from the chain.
Hazards     none
Invariants  Every output comes from a register, and every input feeds only registers.
"""

from __future__ import annotations

from dataclasses import replace

from amaranth.hdl import ClockDomain, Instance, Module
from amaranth.lib.wiring import Component, In, Out

from qstep.spec.config import Config
from qstep_rtl.agents import Agents
from qstep_rtl.chain_head import DOWN, UP, index_mask
from qstep_rtl.invariants import as_verilog

__all__ = ["ISLAND", "ISLAND_FILE", "Island", "island_files"]

ISLAND = "qs_island"
"""Name of the module."""

ISLAND_FILE = f"{ISLAND}.v"
"""Name of the generated file that contains the module."""


class Island(Component):
    """An island.

    Parameters
    ----------
    config : Config
        Must have several lanes.

    Attributes
    ----------
    clk : In(1)
    rst, down, up : In(1), In(DOWN), Out(UP)
        Signals to and from the previous node, or the head.
    next_rst, next_down, next_up : Out(1), Out(DOWN), In(UP)
        Signals to and from the next node; `next_up` is 0 at the end of the chain.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                "clk": In(1),
                "rst": In(1),
                "down": In(DOWN),
                "up": Out(UP),
                "next_rst": Out(1),
                "next_down": Out(DOWN),
                "next_up": In(UP),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        acting = self._config.acting
        assert acting is not None
        own = replace(acting, agents=self._config.lane_agents)
        m.submodules.lane = lane = Agents(replace(self._config, lanes=1, acting=own))
        m.domains.sync = sync = ClockDomain()
        m.d.comb += sync.clk.eq(self.clk)
        host = lane.agents
        m.submodules.node = Instance(
            "qs_chain_node",
            p_IndexMask=index_mask(self._config),
            i_clk_i=self.clk,
            i_rst_i=self.rst,
            o_rst_o=self.next_rst,
            o_lane_rst_o=sync.rst,
            i_down_i=self.down,
            o_down_o=self.next_down,
            i_up_i=self.next_up,
            o_up_o=self.up,
            o_bus_valid_o=host.access,
            o_bus_write_o=host.write,
            o_bus_region_o=host.region,
            o_bus_index_o=host.index,
            o_bus_data_o=host.word,
            i_bus_done_i=host.done,
            i_bus_data_i=host.read,
            o_run_o=host.run,
            o_run_steps_o=host.steps,
            o_stop_o=host.stop,
            i_busy_i=host.busy,
        )
        return m


def island_files(config: Config) -> dict[str, str]:
    """Return the Verilog of a farm's islands by file name; empty unless there are several lanes."""
    return {ISLAND_FILE: as_verilog(Island(config), ISLAND)} if config.lanes > 1 else {}
