"""The networks, multi-layer perceptrons; their greedy policy, and its evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray
from torch import nn

from qstep.deep.spaces import Spaces
from qstep.envs.vector import final_values
from qstep.errors import ConfigError

__all__ = ["Envs", "Policy", "greedy", "modules", "play"]

Envs: TypeAlias = VectorEnv[Any, Any, Any]

Policy: TypeAlias = Callable[[NDArray[np.float32]], NDArray[np.int64]]
"""From N observations, shape (N, inputs), to N actions."""


def modules(sizes: Sequence[int], seed: int, normalise: bool = False) -> nn.Sequential:
    """Make linear layers with ReLU between them, initialised as PyTorch does.

    The global generator is left as it was, so networks with the same seed are equal whatever else is
    drawn: every run of a comparison starts from the same network.

    Parameters
    ----------
    sizes : sequence of int
        Inputs, hidden units of each layer, actions; each 1 or more.
    seed : int
        0 or more.
    normalise : bool
        Normalise each hidden layer before its ReLU.

    Raises
    ------
    ConfigError
        There are fewer than two sizes, or one is not positive.
    """
    if len(sizes) < 2 or min(sizes) < 1:
        raise ConfigError(f"sizes are {tuple(sizes)}; they must be two or more, each 1 or more")
    layers: list[nn.Module] = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for inputs, outputs in pairwise(sizes):
            layers += [nn.Linear(inputs, outputs)]
            if normalise:
                layers += [nn.LayerNorm(outputs)]
            layers += [nn.ReLU()]
    return nn.Sequential(*layers[: -2 if normalise else -1])


def greedy(network: nn.Module) -> Policy:
    """Return the greedy policy of a network, read at each call; ties go to the lowest action."""
    device = next(network.parameters()).device

    def actions(observation: NDArray[np.float32]) -> NDArray[np.int64]:
        with torch.no_grad():
            value = network(torch.from_numpy(observation).to(device))
        best: NDArray[np.int64] = value.cpu().numpy().argmax(1)
        return best

    return actions


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
