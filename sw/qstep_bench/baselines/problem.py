"""The input of the baselines: a transition model, or a recorded stream of transitions."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from qstep.envs.gridworld import DeterministicModel

__all__ = ["Stream", "winning"]


class Stream(NamedTuple):
    """Transitions in the order in which they are applied: five arrays of shape (n,)."""

    state: NDArray[np.int32]
    action: NDArray[np.int32]
    reward: NDArray[np.float64]
    next_state: NDArray[np.int32]
    terminated: NDArray[np.bool_]

    @classmethod
    def empty(cls, count: int) -> Self:
        """Return an uninitialised stream of `count` transitions."""
        return cls(
            np.empty(count, np.int32),
            np.empty(count, np.int32),
            np.empty(count, np.float64),
            np.empty(count, np.int32),
            np.empty(count, np.bool_),
        )

    def first(self, count: int) -> Stream:
        """Return views of the first `count` transitions."""
        part = slice(count)
        return Stream(
            self.state[part],
            self.action[part],
            self.reward[part],
            self.next_state[part],
            self.terminated[part],
        )


def winning(model: DeterministicModel) -> NDArray[np.bool_]:
    """Return an (S, A) mask of winning steps, which end an episode with the highest terminal reward.

    Terminal states that lead to themselves (goal, hole, wall) are never left, so they do not count.
    """
    states = np.arange(len(model.next_state))[:, None]
    ending = model.terminated & (model.next_state != states)
    best = model.reward.max(initial=-np.inf, where=ending)
    return np.asarray(ending & (model.reward == best))
