"""Updates per clock of a lane, computed from the hold rule (streams) or from the rotation (agents)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qstep._io.compiled import compiled
from qstep.errors import ConfigError
from qstep.spec.agents import Algorithm
from qstep.spec.config import Config

__all__ = ["issue_clocks", "steps_per_clock", "updates_per_clock"]


@compiled
def issue_clocks(loop_depth, state, action, next_state):  # type: ignore[no-untyped-def]
    """Return the clock in which each transition enters the pipeline; the first enters in clock 0.

    Each transition is offered as soon as the previous one is accepted. ``qs_hazard`` implements the rule
    (``docs/lane.md``): a transition that reads an entry or a row enters at least `loop_depth` (1..3)
    clocks after a transition that updates it. The lane's testbenches check the RTL against this rule.
    """
    clocks = np.zeros(len(state), np.int64)
    for i in range(1, len(state)):
        clocks[i] = clocks[i - 1] + 1
        for j in range(max(0, i - loop_depth + 1), i):
            if state[j] == next_state[i] or (state[j] == state[i] and action[j] == action[i]):
                clocks[i] = max(clocks[i], clocks[j] + loop_depth)
    return clocks


def steps_per_clock(config: Config) -> float:
    """Return the total steps per clock of a device's agents, from 1/26 to 1 per lane.

    Each agent has one clock in its lane's rotation. A rotation is as long as an update in ``qs_agents``
    (``qs_agents_pkg``: `slots`), but at least 16 clocks. Agents that share a table take at most this
    many steps per clock, and fewer if they wait for each other.
    """
    acting = config.acting
    if acting is None:
        raise ConfigError("acting is None; only agents make steps")
    rotation = 10 + config.action_bits
    if acting.algorithm is Algorithm.DOUBLE_Q_LEARNING:
        rotation += 1
    elif acting.algorithm is Algorithm.EXPECTED_SARSA:
        rotation += 4 if config.actions > 2 else 5
    if config.planes > 1:
        rotation += (config.planes - 1).bit_length() + 2
    return acting.agents / max(16, rotation)


def updates_per_clock(
    loop_depth: int,
    state: NDArray[np.integer],
    action: NDArray[np.integer],
    next_state: NDArray[np.integer],
) -> float:
    """Return a lane's updates per clock if one or more transitions are offered to it, one per clock."""
    return len(state) / (int(issue_clocks(loop_depth, state, action, next_state)[-1]) + 1)
