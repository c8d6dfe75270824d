"""Greedy evaluation: how good is a network when nothing is explored and nothing is learnt."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qstep.deep.learner import Envs, Policy
from qstep.deep.spaces import Spaces
from qstep.envs.vector import final_values

__all__ = ["play"]


def play(envs: Envs, policy: Policy, seed: int) -> NDArray[np.float64]:
    """Play one episode on each environment and return the scores, shape (N,).

    Exactly one episode an environment: taking the first N that end would favour the short ones. The
    score of an episode is the ``score`` of its final info, where the environment says one, else its
    return.

    Parameters
    ----------
    envs : gymnasium.vector.VectorEnv
        Reset first, so not those of a run; with ``AutoresetMode.SAME_STEP``.
    policy : callable
        From observations to actions.
    seed : int
        Of the environments.
    """
    spaces = Spaces(envs.single_observation_space, envs.single_action_space)
    seen, _ = envs.reset(seed=seed)
    returns, scores = np.zeros(envs.num_envs), np.zeros(envs.num_envs)
    playing = np.ones(envs.num_envs, np.bool_)
    while playing.any():
        actions = spaces.taken(policy(spaces.numbers(seen)))
        seen, reward, terminated, truncated, info = envs.step(actions)
        returns += reward
        ended = playing & (terminated | truncated)
        said = final_values(info, "score")
        scores[ended] = (returns if said is None else said)[ended]
        playing &= ~ended
    return scores
