"""Greedy evaluation: how good is a network when nothing is explored and nothing is learnt."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qstep.deep.learner import Policy
from qstep.envs.boards import Boards

__all__ = ["play"]


def play(boards: Boards, policy: Policy, seed: int) -> NDArray[np.int64]:
    """Play one episode on each board and return the scores, shape (N,).

    Exactly one episode a board: taking the first N that end would favour the short ones.

    Parameters
    ----------
    boards : Boards
        Reset first, so not those of a run.
    policy : callable
        From observations to actions.
    seed : int
        Of the boards.
    """
    boards.reset(seed)
    scores = np.full(len(boards), -1, np.int64)
    playing = np.ones(len(boards), np.bool_)
    while playing.any():
        step = boards.step(policy(boards.observation))
        ended = playing & (step.terminated | step.truncated)
        scores[ended] = step.score[ended]
        playing &= ~ended
    return scores
