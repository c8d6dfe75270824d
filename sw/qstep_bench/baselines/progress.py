"""Progress reports of a learner with many agents."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

__all__ = ["PROGRESS_EVERY", "AgentsProgress", "OnProgress"]

PROGRESS_EVERY = 1 << 20
"""Default number of updates between two reports."""


class AgentsProgress(NamedTuple):
    """The state of learning at one moment, and what happened since the previous report.

    Attributes
    ----------
    updates : int
        Since learning began.
    episodes : int
        Episodes that ended since the previous report, including those that were cut off.
    wins : int
        The part of them that ended in the goal.
    start_value : float
        Present value of the best action in the start state.
    """

    updates: int
    episodes: int
    wins: int
    start_value: float

    @property
    def win_rate(self) -> float:
        """Share of the episodes that ended in the goal, while exploring; 0 if none ended."""
        return self.wins / self.episodes if self.episodes else 0.0


OnProgress = Callable[[AgentsProgress], None]
