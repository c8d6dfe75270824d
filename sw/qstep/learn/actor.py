"""Actors for the learner: one environment in Python, or many compiled ones in turns.

An actor makes one stretch after the other. It acts epsilon-greedily on a given table, and returns the
transitions that the device is to learn from, in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from qstep.learn.host_checkpoint import Columns, Episode
from qstep.learn.host_evaluate import Evaluation
from qstep.spec.epsilon import EpsilonSchedule

__all__ = ["Actor", "Stretch"]


class Stretch(NamedTuple):
    """A stretch of an actor's steps.

    Attributes
    ----------
    columns : Columns
        Its transitions, one or more.
    episodes : list of Episode
        The episodes that ended in it.
    """

    columns: Columns
    episodes: list[Episode]


class Actor(Protocol):
    """Acts in one or more environments; its generators are the learner's."""

    @property
    def resting(self) -> bool:
        """Whether its next stretch depends only on :meth:`arrays` now."""

    def begin(self) -> None:
        """Draw the starts of the first episodes."""

    def act(self, table: NDArray[np.int32], done: int, steps: int, episodes: int) -> Stretch:
        """Make a stretch.

        Parameters
        ----------
        table : ndarray of int32, shape (S, A)
            The table to act on.
        done : int
            Episodes that ended earlier, 0 or more.
        steps, episodes : int
            Most steps, and most episodes that may end in it; 1 or more each.
        """

    def explore(self, epsilon: EpsilonSchedule) -> None:
        """Explore so from now on; where epsilon is constant within an episode, from the next one on."""

    def evaluate(self, table: NDArray[np.int32], episodes: int, done: int) -> Evaluation:
        """Play some episodes greedily, without effect on the unfinished ones of :meth:`act`."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return copies of the state between two stretches, for :meth:`restore`."""

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from :meth:`arrays`; raises EnvironmentSpaceError for those of other environments."""
