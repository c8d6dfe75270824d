"""A port to agents at which only those are accessed that exist.

Function    An agent that a lane does not have has no slot in which its words could be accessed. A read
            of them returns anything, a write does nothing.
Latency     none; an access that is left out ends after a clock.
Throughput  That of the agents.
Reset       Aborts an access.
Hazards     none
Invariants  none
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import connect, flipped

from qstep.spec.agents import LANE_AGENTS
from qstep.spec.config import Config
from qstep.spec.protocol import AGENT_BITS, FIRST_AGENT_BIT
from qstep_rtl.handle_agents import AgentsSignature

__all__ = ["existing_agents"]


def existing_agents(m: Module, config: Config, host: Any) -> Any:
    """Return the port of the agents behind `host`, which is In(AgentsSignature) of the component."""
    if config.lane_agents == LANE_AGENTS:
        return host
    agents = AgentsSignature(config.lanes).flip().create(path=("existing",))
    connect(m, flipped(host), agents)
    absent = (
        (host.region == region) & (host.index[first : first + AGENT_BITS] >= config.lane_agents)
        for region, first in FIRST_AGENT_BIT.items()
    )
    is_absent = Signal()
    left_out = Signal()
    m.d.comb += [
        is_absent.eq(reduce(or_, absent)),
        agents.access.eq(host.access & ~is_absent),
        host.done.eq(agents.done | left_out),
    ]
    m.d.sync += left_out.eq(host.access & is_absent & ~left_out)
    return agents
