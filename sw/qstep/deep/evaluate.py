"""Greedy evaluation: how good is a network when nothing is explored and nothing is learnt."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qstep.deep.learner import Policy
from qstep.envs.vector import VectorEnv

__all__ = ["play"]


def play(envs: VectorEnv, policy: Policy, seed: int) -> NDArray[np.int64]:
    """Play one episode on each environment and return the scores, shape (N,).

    Exactly one episode an environment: taking the first N that end would favour the short ones.

    Parameters
    ----------
    envs : VectorEnv
        Reset first, so not those of a run.
    policy : callable
        From observations to actions.
    seed : int
        Of the environments.
    """
    envs.reset(seed)
    scores = np.full(envs.num_envs, -1, np.int64)
    playing = np.ones(envs.num_envs, np.bool_)
    while playing.any():
        step = envs.step(policy(envs.observation))
        ended = playing & (step.terminated | step.truncated)
        scores[ended] = step.score[ended]
        playing &= ~ended
    return scores
