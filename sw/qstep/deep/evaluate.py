"""Greedy evaluation: how good is a network when nothing is explored and nothing is learnt."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from qstep.deep.network import Greedy, Stack
from qstep.envs.boards import Boards

__all__ = ["greedy_scores", "play"]


def play(
    boards: Boards, act: Callable[[NDArray[np.float32]], NDArray[np.int64]], seed: int
) -> NDArray[np.int64]:
    """Play one episode on each board and return the scores, shape (N,).

    Exactly one episode a board: taking the first N that end would favour the short ones.

    Parameters
    ----------
    boards : Boards
        Reset first, so not those of a run.
    act : callable
        From observations to actions.
    seed : int
        Of the boards.
    """
    boards.reset(seed)
    scores = np.full(len(boards), -1, np.int64)
    playing = np.ones(len(boards), np.bool_)
    while playing.any():
        step = boards.step(act(boards.observation))
        ended = playing & (step.terminated | step.truncated)
        scores[ended] = step.score[ended]
        playing &= ~ended
    return scores


def greedy_scores(boards: Boards, network: Stack, seed: int) -> NDArray[np.int64]:
    """Let one network :func:`play` greedily."""
    return play(boards, Greedy(network, len(boards)), seed)
