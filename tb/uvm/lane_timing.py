"""The required timing of the lane: issue edges, hazards between transitions, and minimum hold times."""

import numpy as np
from numpy.typing import NDArray
from tb.uvm.lane_pins import flag

from qstep import Config
from qstep_rtl.timing import write_stage

__all__ = ["expected_issue", "forwarded", "issue_edges", "same_entry", "same_row"]


def issue_edges(clocks: NDArray[np.void], offers: NDArray[np.void]) -> NDArray[np.int64]:
    """Return the edge at which each offer left the issue register: the first one without a hold."""
    free = clocks["edge"][~flag(clocks, "hold")].astype(np.int64)
    after = np.searchsorted(free, offers["edge"], side="right")
    # An offer that is still in the register at the last clock (a reset) has not left it.
    return np.append(free, np.iinfo(np.int64).max)[after]


def same_entry(offers: NDArray[np.void], lag: int) -> NDArray[np.bool_]:
    """Return, from index `lag` on, whether each update has the same entry as the one `lag` earlier."""
    now, before = offers[lag:], offers[:-lag]
    return np.array((now["state"] == before["state"]) & (now["action"] == before["action"]))


def same_row(offers: NDArray[np.void], lag: int) -> NDArray[np.bool_]:
    """Return, from index `lag` on, whether each next row is updated by the transition `lag` earlier."""
    return np.array(offers["next_state"][lag:] == offers["state"][:-lag])


def expected_issue(
    config: Config, offers: NDArray[np.void], issue: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the earliest issue edge of each transition, given the issue edges of previous ones."""
    earliest = offers["edge"].astype(np.int64) + 1
    for lag in range(1, min(config.loop_depth, len(offers))):
        needed = issue[:-lag] + config.loop_depth
        bound = np.where(same_entry(offers, lag) | same_row(offers, lag), needed, 0)
        earliest[lag:] = np.maximum(earliest[lag:], bound)
    return earliest


def forwarded(
    config: Config, offers: NDArray[np.void], issue: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return whether an operand of each transition is the result of one still in flight."""
    result = np.zeros(len(offers), np.bool_)
    for lag in range(1, min(write_stage(config) + 1, len(offers))):
        near = issue[lag:] - issue[:-lag] <= write_stage(config)
        result[lag:] |= near & (same_entry(offers, lag) | same_row(offers, lag))
    return result
