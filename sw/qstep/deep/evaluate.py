"""Greedy evaluation: how good is a network when nothing is explored and nothing is learnt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from qstep.deep.network import Pass, Stack
from qstep.envs.boards import Boards

__all__ = ["Score", "greedy_scores", "score_of"]


@dataclass(frozen=True, slots=True)
class Score:
    """What greedy episodes gave.

    Attributes
    ----------
    frames, episodes : int
        Of training, before it.
    mean, low, high : float
        Mean, lowest and highest score of an episode.
    """

    frames: int
    episodes: int
    mean: float
    low: float
    high: float


def greedy_scores(boards: Boards, network: Stack, seed: int) -> NDArray[np.int64]:
    """Play one episode on each board, greedily, and return the scores, shape (N,).

    Exactly one episode a board: taking the first N that end would favour the short ones.

    Parameters
    ----------
    boards : Boards
        Reset first, so not those of a run.
    network : Stack
        One.
    seed : int
        Of the boards.
    """
    run = Pass(network, len(boards))
    rows = torch.ones(len(boards), network.sizes[0] + 1, device=network.flat.device)
    seen, columns = rows[:, :-1], rows.t()[None]
    boards.reset(seed)
    scores = np.full(len(boards), -1, np.int64)
    playing = np.ones(len(boards), np.bool_)
    while playing.any():
        seen.copy_(torch.from_numpy(boards.observation))
        step = boards.step(run(columns)[0].argmax(0).cpu().numpy())
        ended = playing & (step.terminated | step.truncated)
        scores[ended] = step.score[ended]
        playing &= ~ended
    return scores


def score_of(
    make: Callable[[int, int], Boards],
    network: Stack,
    seed: int,
    frames: int,
    episodes: int,
    games: int = 100,
) -> Score:
    """Evaluate a network on fresh boards, ``make(games, seed)``."""
    scores = greedy_scores(make(games, seed), network, seed)
    return Score(frames, episodes, float(scores.mean()), float(scores.min()), float(scores.max()))
