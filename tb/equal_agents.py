"""Compares agents: those of a device, of a model, and as they were at some moment."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qstep.acting.agent import AgentCounters, AgentState
from qstep.acting.device import AgentsDevice
from qstep.acting.model import ActingModel

__all__ = ["Held", "differing"]


class Held(NamedTuple):
    """What agents hold at some moment."""

    table: NDArray[np.int32]
    states: list[AgentState]
    counters: list[AgentCounters]


def differing(
    one: AgentsDevice | ActingModel | Held, other: AgentsDevice | ActingModel | Held
) -> list[str]:
    """Return everything that is not equal bit for bit."""
    equal = {
        "table": (one.table == other.table).all(),
        "states": one.states == other.states,
        "counters": one.counters == other.counters,
    }
    return [what for what, is_equal in equal.items() if not is_equal]
