"""How many updates a clock the lane makes of a stream, from its hold rule alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qstep.compiled import compiled

__all__ = ["issue_clocks", "updates_per_clock"]


def issue_clocks(
    loop_depth: int,
    state: NDArray[np.integer],
    action: NDArray[np.integer],
    next_state: NDArray[np.integer],
) -> NDArray[np.int64]:
    """Return the clock in which each transition enters the pipeline; the first one enters in clock 0.

    The rule is that of ``qs_hazard`` (``docs/lane.md``): a transition that needs the entry or the row
    that another one updates enters `loop_depth` clocks after that one, or later. The benches of the
    lane hold every transition of the RTL to it, and ``LaneThroughput`` compares the count of clocks.

    Parameters
    ----------
    loop_depth : int
        1..3.
    state, action, next_state : ndarray of int, shape (n,)
        Transitions in order; each is offered as soon as the one before it is taken.

    Returns
    -------
    ndarray of int64, shape (n,)
    """
    clocks: NDArray[np.int64] = _issue_clocks(loop_depth, state, action, next_state)
    return clocks


def updates_per_clock(
    loop_depth: int,
    state: NDArray[np.integer],
    action: NDArray[np.integer],
    next_state: NDArray[np.integer],
) -> float:
    """Return the updates per clock of a lane that is offered at least one transition, one a clock."""
    return len(state) / (int(issue_clocks(loop_depth, state, action, next_state)[-1]) + 1)


@compiled
def _issue_clocks(loop_depth, state, action, next_state):  # type: ignore[no-untyped-def]
    clocks = np.zeros(len(state), np.int64)
    for i in range(1, len(state)):
        clocks[i] = clocks[i - 1] + 1
        for j in range(max(0, i - loop_depth + 1), i):
            if state[j] == next_state[i] or (state[j] == state[i] and action[j] == action[i]):
                clocks[i] = max(clocks[i], clocks[j] + loop_depth)
    return clocks
