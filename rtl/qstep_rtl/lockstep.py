"""Lanes in lockstep: the agents of a device on the smallest chips.

Function    ``docs/lockstep.md``, around the hand-written ``qs_lockstep``.
Latency     An access of the host takes up to 30 clocks, one of a counter up to a few thousand.
Throughput  A step in every lane in every clock.
Reset       That of the agents.
Hazards     none
Invariants  none
"""

from __future__ import annotations

from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal
from amaranth.lib.wiring import Component, In

from qstep.config import Config
from qstep.protocol import ALL_LANES
from qstep_rtl.handle_agents import AgentsSignature

__all__ = ["Lockstep"]

_LANE_BITS = 3


class Lockstep(Component):
    """The agents of a device with lanes in lockstep.

    Parameters
    ----------
    config : Config
        With ``config.acting.lockstep``.

    Attributes
    ----------
    agents : In(AgentsSignature)
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__({"agents": In(AgentsSignature(config.lanes))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, host = self._config, self.agents
        m.submodules.core = Instance(
            "qs_lockstep",
            p_Lanes=config.lanes,
            p_States=config.states,
            p_Rounding=config.rounding.code,
            i_clk_i=ClockSignal(),
            i_rst_i=ResetSignal(),
            i_bus_valid_i=host.access,
            i_bus_write_i=host.write,
            i_bus_all_i=host.lane == ALL_LANES,
            i_bus_lane_i=host.lane[:_LANE_BITS],
            i_bus_region_i=host.region,
            i_bus_index_i=host.index,
            i_bus_data_i=host.word,
            o_bus_done_o=host.done,
            o_bus_data_o=host.read,
            i_run_i=host.run,
            i_run_steps_i=host.steps,
            i_stop_i=host.stop,
            o_busy_o=host.busy,
        )
        return m
