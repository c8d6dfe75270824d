"""A farm: several identical lanes of agents on a chain.

Function    ``docs/farm.md``: the chain's head, and islands with a lane, its world and its node.
Latency     See the head.
Throughput  That of a lane times the number of lanes.
Reset       That of the agents, lane by lane.
Hazards     none
Invariants  none
"""

from __future__ import annotations

from amaranth.hdl import ClockSignal, Instance, Module, Signal
from amaranth.lib.wiring import Component, In, connect, flipped

from qstep.spec.config import Config
from qstep_rtl.agents import lane_parameters
from qstep_rtl.chain_head import DOWN, UP, ChainHead, index_mask
from qstep_rtl.existing_agents import existing_agents
from qstep_rtl.handle_agents import AgentsSignature

__all__ = ["Farm", "island_parameters"]


def island_parameters(config: Config) -> dict[str, int]:
    """Return the parameters of ``qs_island``, for a configuration with agents."""
    assert config.acting is not None
    lane = {name.removeprefix("p_"): value for name, value in lane_parameters(config).items()}
    own = {"Outcomes": config.acting.outcomes, "Starts": config.acting.starts}
    return {**lane, **own, "IndexMask": index_mask(config)}


class Farm(Component):
    """The agents of a device with several lanes.

    Parameters
    ----------
    config : Config
        With ``config.lanes`` above 1.

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
        connect(m, flipped(existing_agents(m, self._config, self.agents)), head.agents)

        parameters = {f"p_{name}": value for name, value in island_parameters(self._config).items()}
        # The wires between the nodes; the last ones are unused.
        rst, down, up = head.reset, head.down.as_value(), Signal(UP.size, name="up_0")
        m.d.comb += head.up.eq(up)
        for lane in range(lanes):
            next_rst = Signal(name=f"rst_{lane + 1}")
            next_down = Signal(DOWN.size, name=f"down_{lane + 1}")
            next_up = Signal(UP.size, name=f"up_{lane + 1}")
            m.submodules[f"island_{lane}"] = Instance(
                "qs_island",
                **parameters,
                i_clk_i=ClockSignal(),
                i_rst_i=rst,
                o_rst_o=next_rst,
                i_down_i=down,
                o_down_o=next_down,
                i_up_i=next_up,
                o_up_o=up,
            )
            rst, down, up = next_rst, next_down, next_up
        return m
