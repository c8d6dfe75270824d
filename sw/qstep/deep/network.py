"""The networks, multi-layer perceptrons: their inputs, their greedy policy, and its evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete, Space
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray
from torch import Tensor, nn

from qstep.errors import ConfigError, EnvironmentSpaceError
from qstep.spec.checks import shown

__all__ = ["Envs", "Games", "Policy", "Spaces", "greedy", "modules", "modules_of", "play"]

Envs: TypeAlias = VectorEnv[Any, Any, Any]

Policy: TypeAlias = Callable[[NDArray[np.float32]], NDArray[np.int64]]
"""From N observations, shape (N, inputs), to N actions."""

_MOST_INPUTS = 4096
"""Most numbers in an observation; the replay memory holds tens of thousands of observations."""


class Spaces:
    """The spaces of one environment, checked to fit a network of `inputs` and `actions`.

    A Box of floats is read as its numbers, row by row, as float32; a Discrete as one number per value: 1
    for the present value and 0 for the others. Values and actions must count from 0, as in every
    environment of :func:`qstep.envs.make_any`. A space of another kind raises EnvironmentSpaceError.

    Examples
    --------
    >>> spaces = Spaces(Discrete(3), Discrete(2))
    >>> spaces.numbers(np.array([0, 2])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """

    output = "values"
    """What a network returns, by the name that an exported one has for it."""

    def __init__(self, observation: Space[Any], action: Space[Any]) -> None:
        if isinstance(observation, Discrete):
            self.inputs = int(observation.n)
        elif isinstance(observation, Box) and np.issubdtype(observation.dtype, np.floating):
            self.inputs = int(np.prod(observation.shape))
        else:
            raise EnvironmentSpaceError(
                f"the observation space is {observation}; a network needs a Box of floats or a Discrete"
            )
        if not isinstance(action, Discrete):
            raise EnvironmentSpaceError(
                f"the action space is {action}; a network needs a Discrete one"
            )
        if not 1 <= self.inputs <= _MOST_INPUTS:
            raise EnvironmentSpaceError(
                f"the observation space is {observation}, {self.inputs} numbers; a network needs 1 to "
                f"{_MOST_INPUTS}"
            )
        for space in (observation, action):
            if isinstance(space, Discrete) and space.start != 0:
                raise EnvironmentSpaceError(
                    f"a space is {space}; a network needs one that starts at 0, as in every environment "
                    "of qstep.envs.make_any"
                )
        self.actions = int(action.n)
        self._observation, self._is_discrete = observation, isinstance(observation, Discrete)

    def numbers(self, observations: NDArray[Any]) -> NDArray[np.float32]:
        """Return N observations as float32, shape (N, inputs); no copy if they already are that."""
        if not self._is_discrete:
            return np.asarray(observations, np.float32).reshape(len(observations), self.inputs)
        numbers = np.zeros((len(observations), self.inputs), np.float32)
        numbers[np.arange(len(observations)), observations] = 1.0
        return numbers

    def checked(self, observation: Any) -> NDArray[np.float32]:
        """Return one observation as :meth:`numbers`; ConfigError unless it is in the space."""
        space = self._observation
        try:
            seen = np.asarray(observation, None if self._is_discrete else space.dtype)
            fits = space.contains(seen)
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise ConfigError(f"observation is {shown(observation)}; it must be one of {space}")
        return self.numbers(seen[np.newaxis])

    def example(self, count: int) -> Tensor:
        """Return `count` observations, all zero, as Gymnasium gives a batch, but with float32."""
        if self._is_discrete:
            return torch.zeros(count, dtype=torch.int64)
        return torch.zeros(count, *self._observation.shape or ())

    def reader(self) -> nn.Module:
        """Return :meth:`numbers` as a module of batches such as :meth:`example`."""
        return _OneHot(self.inputs) if self._is_discrete else nn.Flatten()


class _OneHot(nn.Module):
    """From N values, int64 of shape (N,), to numbers of shape (N, values)."""

    values: Tensor

    def __init__(self, values: int) -> None:
        super().__init__()
        self.register_buffer("values", torch.arange(values))

    def forward(self, value: Tensor) -> Tensor:
        return torch.eq(value[:, None], self.values).float()


def modules(sizes: Sequence[int], seed: int, normalise: bool = False) -> nn.Sequential:
    """Make linear layers with ReLU between them, initialised as PyTorch does.

    `sizes` are the inputs, the units of each hidden layer, and the actions. With `normalise`, each
    hidden layer is normalised before its ReLU. The global generator is left as it was, so networks with
    the same seed are equal whatever else is drawn: every run of a comparison starts from the same one.
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
    """Make the network of :func:`modules` that has this ``state_dict``; ConfigError if there is none."""
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
    """Greedy episodes, one per environment; each array is float64 of shape (N,)."""

    score: NDArray[np.float64]
    """The ``score`` of the final info if there is one, otherwise the return."""
    episode_return: NDArray[np.float64]
    length: NDArray[np.float64]

    @property
    def columns(self) -> dict[str, float]:
        """Their means and extremes, under the names that report, history and metrics have for them."""
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
    short ones. The environments, which reset within the step that ends an episode, are reset first.
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
        score = info.get("final_info", {}).get("score")
        games.score[ended] = (games.episode_return if score is None else score)[ended]
        playing &= ~ended
    return games
