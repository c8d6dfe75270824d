"""A farm: several identical lanes of agents on a daisy chain.

Function    See ``docs/farm.md``: the chain's head, and the islands, which are in a separate file.
Latency     See the head.
Throughput  One lane's throughput times the number of lanes.
Reset       Resets the agents, lane by lane.
Hazards     none
Invariants  none
"""

from __future__ import annotations

from amaranth.hdl import ClockSignal, Instance, Module, Signal
from amaranth.lib.wiring import Component, In, connect, flipped

from qstep.spec.config import Config
from qstep_rtl.chain_head import DOWN, UP, ChainHead
from qstep_rtl.handle_agents import AgentsSignature
from qstep_rtl.island import ISLAND

__all__ = ["Farm"]


class Farm(Component):
    """The agents of a device with several lanes.

    Parameters
    ----------
    config : Config
        Must have several lanes.

    Attributes
    ----------
    agents : In(AgentsSignature)
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__({"agents": In(AgentsSignature(config.lanes))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = self._config.lanes
        m.submodules.head = head = ChainHead(self._config)
        connect(m, flipped(self.agents), head.agents)

        # The wires between the nodes; the wires after the last node are unused.
        rst, down, up = head.reset, head.down.as_value(), Signal(UP.size, name="up_0")
        m.d.comb += head.up.eq(up)
        for lane in range(lanes):
            next_rst = Signal(name=f"rst_{lane + 1}")
            next_down = Signal(DOWN.size, name=f"down_{lane + 1}")
            next_up = Signal(UP.size, name=f"up_{lane + 1}")
            m.submodules[f"island_{lane}"] = Instance(
                ISLAND,
                i_clk=ClockSignal(),
                i_rst=rst,
                o_next_rst=next_rst,
                i_down=down,
                o_next_down=next_down,
                i_next_up=next_up,
                o_up=up,
            )
            rst, down, up = next_rst, next_down, next_up
        return m
