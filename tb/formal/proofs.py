"""All proofs by name, and those of each test run."""

from __future__ import annotations

from tb.formal.agent_lane_proofs import AGENT_LANE
from tb.formal.agent_proofs import AGENTS
from tb.formal.farm_proofs import FARM
from tb.formal.lane_proofs import LANE
from tb.formal.link_proofs import LINK
from tb.formal.step_proofs import STEP

__all__ = ["FAST", "PROOFS"]

PROOFS = {proof.name: proof for proof in (*LINK, *FARM, *AGENTS, *STEP, *AGENT_LANE, *LANE)}
"""All proofs by name."""

FAST = (
    *("cobs", "crc", "handler", "stop", "table", "tree", "update-16-1", "lane-2x16-1"),
    *("world", "choice-double-q", "agent-update", "crossing"),
)
"""Names of the proofs in each test run."""
