"""The networks (multi-layer perceptrons), their inputs, their greedy policy and its evaluation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete, Space
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray
from torch import Tensor, nn

from qstep.errors import ConfigError, EnvironmentSpaceError
from qstep.spec.checks import shown

__all__ = [
    "BoxSpaces",
    "Envs",
    "Games",
    "Interval",
    "Policy",
    "Spaces",
    "greedy",
    "modules",
    "modules_of",
    "play",
    "spaces_of",
]

Envs: TypeAlias = VectorEnv[Any, Any, Any]

Policy: TypeAlias = Callable[[NDArray[np.float32]], NDArray[Any]]
"""A function from N observations, shape (N, inputs), to N actions of the environment's space."""

_MOST_INPUTS = 4096
"""Maximum length of an observation; the replay memory stores tens of thousands of observations."""


class Spaces:
    """The spaces of one environment, checked to fit a network of `inputs` inputs and `actions` outputs.

    A Box of floats is flattened row by row to float32, and a Discrete is one-hot encoded. Discrete
    values and actions must start at 0, as in every environment of :func:`qstep.envs.make_any`. Any other
    kind of space raises EnvironmentSpaceError.

    Examples
    --------
    >>> spaces = Spaces(Discrete(3), Discrete(2))
    >>> spaces.numbers(np.array([0, 2])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """

    output = "values"
    """Name of the network's output in an exported model."""

    def __init__(self, observation: Space[Any], action: Space[Any]) -> None:
        if isinstance(observation, Discrete):
            self.inputs = int(observation.n)
        elif isinstance(observation, Box) and np.issubdtype(observation.dtype, np.floating):
            self.inputs = int(np.prod(observation.shape))
        else:
            raise EnvironmentSpaceError(
                f"the observation space is {observation}; a network needs a Box of floats or a Discrete"
            )
        self.actions = self._outputs(action)
        if not 1 <= self.inputs <= _MOST_INPUTS:
            raise EnvironmentSpaceError(
                f"the observation space is {observation}, {self.inputs} numbers; a network needs 1 to "
                f"{_MOST_INPUTS}"
            )
        for space in (observation, action):
            if isinstance(space, Discrete) and space.start != 0:
                raise EnvironmentSpaceError(
                    f"a space is {space}; it must start at 0, as in every environment from "
                    "qstep.envs.make_any"
                )
        self._both = observation, action
        self._observation, self._is_discrete = observation, isinstance(observation, Discrete)

    def _outputs(self, action: Space[Any]) -> int:
        """Return the number of outputs that an action space needs, or reject it."""
        if not isinstance(action, Discrete):
            raise EnvironmentSpaceError(
                f"the action space is {action}; a network needs a Discrete one, or SAC for a bounded Box"
            )
        return int(action.n)

    def chosen(self, outputs: NDArray[np.float32]) -> NDArray[Any]:
        """Return the argmax of each row of outputs, shape (N, actions); ties go to the lowest action."""
        best: NDArray[np.int64] = outputs.argmax(1)
        return best

    def check_fits(self, envs: Envs) -> None:
        """Raise EnvironmentSpaceError unless environments have the same input and action counts."""
        other = type(self)(envs.single_observation_space, envs.single_action_space)
        if (other.inputs, other.actions) != (self.inputs, self.actions):
            found, wanted = (f"{seen} and {acts}" for seen, acts in (other._both, self._both))
            raise EnvironmentSpaceError(
                f"the spaces of an environment are {found}; the network was made for {wanted}"
            )

    def numbers(self, observations: NDArray[Any]) -> NDArray[np.float32]:
        """Return N observations as float32 of shape (N, inputs), without a copy if possible."""
        if not self._is_discrete:
            return np.asarray(observations, np.float32).reshape(len(observations), self.inputs)
        numbers = np.zeros((len(observations), self.inputs), np.float32)
        numbers[np.arange(len(observations)), observations] = 1.0
        return numbers

    def checked(self, observation: Any) -> NDArray[np.float32]:
        """Return :meth:`numbers` of one observation; raise ConfigError if it is not in the space."""
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
        """Return a batch of `count` zero observations in Gymnasium's format, but in float32."""
        if self._is_discrete:
            return torch.zeros(count, dtype=torch.int64)
        return torch.zeros(count, *self._observation.shape or ())

    def reader(self) -> nn.Module:
        """Return :meth:`numbers` as a module for batches in the format of :meth:`example`."""
        return _OneHot(self.inputs) if self._is_discrete else nn.Flatten()


class _OneHot(nn.Module):
    """Maps N values, int64 of shape (N,), to numbers of shape (N, values)."""

    values: Tensor

    def __init__(self, values: int) -> None:
        super().__init__()
        self.register_buffer("values", torch.arange(values))

    def forward(self, value: Tensor) -> Tensor:
        return torch.eq(value[:, None], self.values).float()


class BoxSpaces(Spaces):
    """The spaces of one environment whose actions are a Box of floats with finite bounds.

    A network has `actions` outputs, one for each number of an action.

    Attributes
    ----------
    observed, acted : Interval
        Ranges of the numbers of an observation and of an action. An observed number without finite
        bounds is treated as ranging from -1 to 1.
    """

    output = "actions"

    def __init__(self, observation: Space[Any], action: Space[Any]) -> None:
        super().__init__(observation, action)
        self.acted = Interval.of(action)
        self.observed = Interval(np.zeros(self.inputs), np.ones(self.inputs))
        if isinstance(observation, Box):
            bounds, usual = Interval.of(observation), self.observed
            bounded = np.isfinite(bounds.half) & (bounds.half > 0.0)
            self.observed = Interval(
                *(np.where(bounded, *both) for both in zip(bounds, usual, strict=True))
            )

    def _outputs(self, action: Space[Any]) -> int:
        if isinstance(action, Discrete):
            raise EnvironmentSpaceError(
                f"the action space is {action}; SAC needs a Box of floats with finite bounds: use DQN"
            )
        if not isinstance(action, Box) or not np.issubdtype(action.dtype, np.floating):
            raise EnvironmentSpaceError(
                f"the action space is {action}; SAC needs a Box of floats with finite bounds"
            )
        half = Interval.of(action).half
        if not len(half) or not (np.isfinite(half) & (half > 0.0)).all():
            raise EnvironmentSpaceError(
                f"the action space is {action}, from {action.low.tolist()} to {action.high.tolist()}; "
                "SAC needs finite bounds, with each low below its high"
            )
        return len(half)

    def chosen(self, outputs: NDArray[np.float32]) -> NDArray[Any]:
        """Return N actions, clipped to the space, from outputs (N, actions)."""
        space = self._both[1]
        actions = outputs.reshape(-1, *space.shape or ())
        return np.clip(actions, space.low, space.high, dtype=space.dtype)  # type: ignore[attr-defined]


class Interval(NamedTuple):
    """Ranges of K numbers, from middle - half to middle + half; both are float64 of shape (K,)."""

    middle: NDArray[np.float64]
    half: NDArray[np.float64]

    @classmethod
    def of(cls, box: Any) -> Interval:
        """Return the ranges of a Box's numbers, infinite if their width exceeds float32."""
        low, high = (bound.astype(np.float64).ravel() for bound in (box.low, box.high))
        with np.errstate(over="ignore", invalid="ignore"):
            width = (high - low).astype(np.float32).astype(np.float64)
            return cls(0.5 * (low + high), 0.5 * width)

    def inside(self, numbers: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return numbers of shape (N, K), scaled from these ranges to -1..1."""
        return ((numbers - self.middle) / self.half).astype(np.float32)

    def outside(self, numbers: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the inverse of :meth:`inside`."""
        return (self.middle + self.half * numbers).astype(np.float32)


def spaces_of(observation: Space[Any], action: Space[Any]) -> Spaces:
    """Return the :class:`Spaces` for a network, by the kind of action space."""
    return (BoxSpaces if isinstance(action, Box) else Spaces)(observation, action)


def modules(
    sizes: Sequence[int], seed: int, normalise: bool = False, squash: bool = False
) -> nn.Sequential:
    """Return linear layers with ReLUs between them, initialised as in PyTorch.

    `sizes` are the numbers of inputs, of units in each hidden layer, and of outputs. With `normalise`,
    each hidden layer is normalised before its ReLU; with `squash`, the last ReLU is replaced with a
    tanh. The global random generator is left unchanged. Networks with the same seed are equal, whatever
    other random numbers are drawn, so all runs of a comparison start from the same network.
    """
    if len(sizes) < 2 or min(sizes) < 1:
        raise ConfigError(f"sizes are {tuple(sizes)}; there must be two or more, each at least 1")
    layers: list[nn.Module] = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for inputs, outputs in pairwise(sizes):
            layers += [nn.Linear(inputs, outputs)]
            if normalise:
                layers += [nn.LayerNorm(outputs)]
            layers += [nn.ReLU()]
    made = nn.Sequential(*layers[: -2 if normalise else -1])
    if squash:
        made[-2] = nn.Tanh()
    return made


def modules_of(state: Mapping[str, Tensor], squash: bool = False) -> nn.Sequential:
    """Return the network of :func:`modules` with a ``state_dict``; raise ConfigError if none fits."""
    weights = [tensor for name, tensor in state.items() if name.endswith(".weight")]
    linear = [weight for weight in weights if weight.ndim == 2]
    try:
        sizes = (linear[0].shape[1], *(len(weight) for weight in linear))
        made = modules(sizes, seed=0, normalise=len(weights) > len(linear), squash=squash)
        made.load_state_dict(dict(state))
    except (IndexError, RuntimeError) as cause:
        raise ConfigError(f"its tensors do not match a QStep network: {cause}") from cause
    return made


def greedy(network: nn.Module, spaces: Spaces) -> Policy:
    """Return a network's greedy policy in its spaces; each call uses the current parameters."""
    device = next(network.parameters()).device

    def actions(observation: NDArray[np.float32]) -> NDArray[Any]:
        with torch.no_grad():
            outputs = network(torch.from_numpy(observation).to(device))
        return spaces.chosen(outputs.cpu().numpy())

    return actions


class Games(NamedTuple):
    """Greedy episodes, one per environment; each array is float64 of shape (N,)."""

    score: NDArray[np.float64]
    """The ``score`` in the final info if present, otherwise the return."""
    episode_return: NDArray[np.float64]
    length: NDArray[np.float64]

    @property
    def columns(self) -> dict[str, float]:
        """Means and extremes, with their names in the report, the history and the metrics."""
        return {
            "greedy_score": float(self.score.mean()),
            "greedy_score_low": float(self.score.min()),
            "greedy_score_high": float(self.score.max()),
            "greedy_return": float(self.episode_return.mean()),
            "greedy_length": float(self.length.mean()),
        }


def play(envs: Envs, policy: Policy, seed: int) -> Games:
    """Play one episode in each environment, without exploring or learning.

    Each environment plays exactly one episode, because the first N to finish would be biased towards
    short episodes. The environments, which reset within the step that ends an episode, are reset first.
    Raises EnvironmentSpaceError if a score is not a finite number.
    """
    spaces = spaces_of(envs.single_observation_space, envs.single_action_space)
    seen, _ = envs.reset(seed=seed)
    games = Games(*np.zeros((3, envs.num_envs)))
    playing = np.ones(envs.num_envs, np.bool_)
    while playing.any():
        seen, reward, terminated, truncated, info = envs.step(policy(spaces.numbers(seen)))
        games.episode_return[playing] += reward[playing]
        games.length[playing] += 1
        ended = playing & (terminated | truncated)
        scores = info.get("final_info", {}).get("score", games.episode_return)
        for i in np.flatnonzero(ended):
            games.score[i] = _checked_score(scores[i])
        playing &= ~ended
    return games


def _checked_score(score: Any) -> float:
    if not isinstance(score, Real) or not math.isfinite(score):
        raise EnvironmentSpaceError(
            f"the score in an episode's last info is {shown(score)}; it must be a finite number"
        )
    return float(score)
