"""A port that forwards only accesses to existing agents.

Function    An agent that does not exist in a lane has no slot for accesses to its words. A read of such
            a word returns an undefined value; a write to it has no effect.
Latency     none; a skipped access ends after one clock.
Throughput  See the agents.
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
from qstep.spec.memory_map import INDEX
from qstep_rtl.handle_agents import AgentsSignature

__all__ = ["existing_agents"]


def existing_agents(m: Module, config: Config, host: Any) -> Any:
    """Return the agents' filtered port; `host` is the component's In(AgentsSignature)."""
    if config.lane_agents == LANE_AGENTS:
        return host
    agents = AgentsSignature().flip().create(path=("existing",))
    connect(m, flipped(host), agents)
    absent = (
        (host.region == region) & (host.index[index.bits("agent")] >= config.lane_agents)
        for region, index in INDEX.items()
        if "agent" in index.widths
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
