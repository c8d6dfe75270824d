"""The networks, multi-layer perceptrons; their greedy policy, and its evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray
from torch import Tensor, nn

from qstep.deep.spaces import Spaces
from qstep.envs.vector import final_values
from qstep.errors import ConfigError

__all__ = ["Envs", "Games", "Policy", "greedy", "modules", "modules_of", "play"]

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


def modules_of(state: Mapping[str, Tensor]) -> nn.Sequential:
    """Make the network of :func:`modules` that has this ``state_dict``.

    Raises
    ------
    ConfigError
        There is no such network.
    """
    weights = [tensor for name, tensor in state.items() if name.endswith(".weight")]
    linear = [weight for weight in weights if weight.ndim == 2]
    try:
        sizes = (linear[0].shape[1], *(len(weight) for weight in linear))
        made = modules(sizes, seed=0, normalise=len(weights) > len(linear))
        made.load_state_dict(dict(state))
    except (IndexError, RuntimeError) as cause:
        raise ConfigError(f"its tensors are not those of a network of QStep: {cause}") from cause
    return made


def greedy(network: nn.Module) -> Policy:
    """Return the greedy policy of a network, read at each call; ties go to the lowest action."""
    device = next(network.parameters()).device

    def actions(observation: NDArray[np.float32]) -> NDArray[np.int64]:
        with torch.no_grad():
            value = network(torch.from_numpy(observation).to(device))
        best: NDArray[np.int64] = value.cpu().numpy().argmax(1)
        return best

    return actions


class Games(NamedTuple):
    """Greedy episodes, one per environment; each array has shape (N,).

    Attributes
    ----------
    score : ndarray of float64
        The ``score`` of the final info if there is one, otherwise the return.
    episode_return, length : ndarray of float64
    """

    score: NDArray[np.float64]
    episode_return: NDArray[np.float64]
    length: NDArray[np.float64]

    @property
    def columns(self) -> dict[str, float]:
        """What report, history and metrics say about them."""
        return {
            "greedy_score": float(self.score.mean()),
            "greedy_score_low": float(self.score.min()),
            "greedy_score_high": float(self.score.max()),
            "greedy_return": float(self.episode_return.mean()),
            "greedy_length": float(self.length.mean()),
        }


def play(envs: Envs, policy: Policy, seed: int) -> Games:
    """Play one episode on each environment, without exploring and learning.

    There is exactly one episode per environment, since taking the first N that end would favour
    short ones.

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
    games = Games(*np.zeros((3, envs.num_envs)))
    playing = np.ones(envs.num_envs, np.bool_)
    while playing.any():
        seen, reward, terminated, truncated, info = envs.step(policy(spaces.numbers(seen)))
        games.episode_return[playing] += reward[playing]
        games.length[playing] += 1
        ended = playing & (terminated | truncated)
        score = final_values(info, "score")
        games.score[ended] = (games.episode_return if score is None else score)[ended]
        playing &= ~ended
    return games
