"""What acts for the learner: one environment in Python, or many compiled ones in turns.

An actor is asked for one stretch after the other. It acts epsilon-greedily on the table that it is
given, and gives back what the device is to learn from, in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from qstep.learn.checkpoint import Columns, Episode
from qstep.learn.evaluate import Evaluation
from qstep.learn.schedule import EpsilonSchedule

__all__ = ["Actor", "Stretch"]


class Stretch(NamedTuple):
    """What an actor did at one go.

    Attributes
    ----------
    columns : Columns
        Its transitions, one or more.
    episodes : list of Episode
        Those that ended in it.
    """

    columns: Columns
    episodes: list[Episode]


class Actor(Protocol):
    """Acts in one or more environments; its generators are the learner's."""

    @property
    def resting(self) -> bool:
        """Whether :meth:`arrays` are now all that its next stretch depends on."""

    def begin(self) -> None:
        """Draw what the first episodes begin with."""

    def act(self, table: NDArray[np.int32], done: int, steps: int, episodes: int) -> Stretch:
        """Make a stretch.

        Parameters
        ----------
        table : ndarray of int32, shape (S, A)
            To act on.
        done : int
            Episodes that ended before, 0 or more.
        steps, episodes : int
            How many steps it may have, and how many episodes may end in it; 1 or more each.
        """

    def explore(self, epsilon: EpsilonSchedule) -> None:
        """Explore so from now on; where epsilon is constant within an episode, from the next one on."""

    def evaluate(self, table: NDArray[np.int32], episodes: int, done: int) -> Evaluation:
        """Play so many episodes greedily; those that :meth:`act` is in the middle of do not notice."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return copies of what goes on from one stretch to the next, for :meth:`restore`."""

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from :meth:`arrays`; raises EnvironmentSpaceError if they are of other environments."""
