"""A world in the device's form: the outcomes of each state and action as alias tables.

A set of at most K outcomes (K a power of two), with integer weights that sum to 65536, is cut into
K slots of 65536 / K, each with at most two outcomes (Walker's alias method, ACM TOMS 3, 1977). The
upper log2(K) bits of a 16-bit draw choose the slot; the other bits, compared with the slot's split,
choose the outcome. So a single read of the memory gives the answer, and every probability is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qstep.acting.draws import DRAW_BITS

__all__ = ["Answer", "WorldTable"]


class Answer(NamedTuple):
    """A world's answer: raw reward, next state, and whether the episode terminated there."""

    reward: int
    next_state: int
    terminated: bool


@dataclass(frozen=True)
class WorldTable:
    """The memories of a world for one :class:`~qstep.Config`.

    K is ``config.acting.outcomes`` and N ``config.acting.starts``.

    Attributes
    ----------
    split : ndarray of int32, shape (S, A, K)
        0..65536 / K: the slot's first outcome is chosen if the rest of the draw is below this.
    next_state : ndarray of int32, shape (S, A, K, 2)
        First and second outcome of each slot; likewise in the next two arrays.
    reward : ndarray of int32, shape (S, A, K, 2)
        Raw, in the format of the configuration.
    terminated : ndarray of bool, shape (S, A, K, 2)
    start_split : ndarray of int32, shape (N,)
        0..65536 / N.
    start_state : ndarray of int32, shape (N, 2)
    max_episode_steps : int
        Steps after which an episode is truncated, 1..65535; 0 for none.
    """

    split: NDArray[np.int32]
    next_state: NDArray[np.int32]
    reward: NDArray[np.int32]
    terminated: NDArray[np.bool_]
    start_split: NDArray[np.int32]
    start_state: NDArray[np.int32]
    max_episode_steps: int

    def answer(self, state: int, action: int, draw: int) -> Answer:
        """Return the outcome of an action for a draw of 0..65535."""
        slot, side = _chosen(self.split[state, action], draw)
        place = state, action, slot, side
        return Answer(
            int(self.reward[place]), int(self.next_state[place]), bool(self.terminated[place])
        )

    def start(self, draw: int) -> int:
        """Return the start state for a draw of 0..65535."""
        return int(self.start_state[_chosen(self.start_split, draw)])


def _chosen(split: NDArray[np.int32], draw: int) -> tuple[int, int]:
    """Return the slot and side (0 or 1) that a draw selects."""
    slot, rest = divmod(draw, (1 << DRAW_BITS) // len(split))
    return slot, int(rest >= split[slot])
