"""A world as the device holds it: for each state and action, what can happen, by alias tables.

A set of at most K outcomes (K a power of two) whose weights are integers that sum to 65536 is cut into K
slots of 65536 / K, each of which holds two outcomes at most (Walker's alias method, ACM TOMS 3, 1977).
The upper log2(K) bits of a draw of 16 bits choose the slot and the others, compared with the slot's
split, the outcome. So one read of the memory answers, and every probability is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qstep.acting.draws import DRAW_BITS

__all__ = ["Answer", "WorldTable"]


class Answer(NamedTuple):
    """What a world answers: raw reward, next state, and whether the episode terminated there."""

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
        0..65536 / K: what the rest of the draw must be below for the first outcome of the slot.
    next_state : ndarray of int32, shape (S, A, K, 2)
        First and second outcome of each slot; likewise the next two.
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
    """Return slot and side (0 or 1) that a draw falls to."""
    slot, rest = divmod(draw, (1 << DRAW_BITS) // len(split))
    return slot, int(rest >= split[slot])
