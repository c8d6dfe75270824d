"""The agents, their tables and their world: the hand-written ``qs_acting``, its bus as a member.

Function    ``docs/acting.md``.
Latency     An access of the host may take some hundred clocks.
Throughput  See ``qs_acting``.
Reset       Ends the job; memories keep their contents.
Hazards     none
Invariants  none
"""

from __future__ import annotations

from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal
from amaranth.lib.wiring import Component, In

from qstep.acting.config import Algorithm
from qstep.config import Config
from qstep.errors import ConfigError
from qstep_rtl.handle_agents import AgentsSignature

__all__ = ["MOST_AGENTS", "Agents", "check_room"]

MOST_AGENTS = 16
"""As deep as the lane of agents is."""


def check_room(config: Config) -> None:
    """Raise ConfigError if hardware has no room for the agents, if there are some."""
    acting = config.acting
    if acting is None:
        return
    shares = acting.shared_table and acting.agents > 1
    if acting.agents > MOST_AGENTS or shares:
        whose = "one table" if shares else "tables of their own"
        raise ConfigError(
            f"acting has {acting.agents} agents with {whose}; hardware has 1 to {MOST_AGENTS} "
            "with tables of their own"
        )


class Agents(Component):
    """The agents of a device.

    Parameters
    ----------
    config : Config
        With ``config.acting``.

    Attributes
    ----------
    agents : In(AgentsSignature)
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__({"agents": In(AgentsSignature())})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, acting, host = self._config, self._config.acting, self.agents
        assert acting is not None
        m.submodules.core = Instance(
            "qs_acting",
            p_States=config.states,
            p_Actions=config.actions,
            p_Width=config.format.width,
            p_Agents=acting.agents,
            p_Algorithm=list(Algorithm).index(acting.algorithm),
            p_Rounding=config.rounding.code,
            p_Outcomes=acting.outcomes,
            p_Starts=acting.starts,
            i_clk_i=ClockSignal(),
            i_rst_i=ResetSignal(),
            i_bus_valid_i=host.access,
            i_bus_write_i=host.write,
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
