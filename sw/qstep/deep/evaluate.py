"""Greedy evaluation: how good a network is without exploring and learning."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qstep.deep.learner import Envs, Policy
from qstep.deep.spaces import Spaces
from qstep.envs.vector import final_values

__all__ = ["play"]


def play(envs: Envs, policy: Policy, seed: int) -> NDArray[np.float64]:
    """Play one episode on each environment and return the scores, shape (N,).

    There is exactly one episode per environment, since taking the first N that end would favour
    short ones. The score of an episode is the ``score`` of its final info if there is one,
    otherwise its return.

    Parameters
    ----------
    envs : gymnasium.vector.VectorEnv
        With ``AutoresetMode.SAME_STEP``. They are reset first, so do not pass those of a run.
    policy : callable
        From observations to actions.
    seed : int
        Seed of the environments.
    """
    spaces = Spaces(envs.single_observation_space, envs.single_action_space)
    seen, _ = envs.reset(seed=seed)
    returns, scores = np.zeros(envs.num_envs), np.zeros(envs.num_envs)
    playing = np.ones(envs.num_envs, np.bool_)
    while playing.any():
        actions = policy(spaces.numbers(seen))
        seen, reward, terminated, truncated, info = envs.step(actions)
        returns += reward
        ended = playing & (terminated | truncated)
        said = final_values(info, "score")
        scores[ended] = (returns if said is None else said)[ended]
        playing &= ~ended
    return scores
