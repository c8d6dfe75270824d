"""What a learner of many agents says of itself as it goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

__all__ = ["PROGRESS_EVERY", "AgentsProgress", "OnProgress"]

PROGRESS_EVERY = 1 << 20
"""Updates between two reports, unless told otherwise."""


class AgentsProgress(NamedTuple):
    """The state of learning at one moment, and what happened since the report before.

    Attributes
    ----------
    updates : int
        Since learning began.
    episodes : int
        Episodes that ended since the report before, those that were cut off included.
    wins : int
        Those of them that ended in the goal.
    start_value : float
        Value of the start: of its best action, now.
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
