"""The interface between an algorithm and a run, and the base class for parallel environments.

A :class:`Learner` takes steps, counts and times them, and provides its policy. A
:class:`VectorLearner` explores in N environments and can be resumed exactly.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from qstep._io.checkpoint import Checkpoint, check_parts
from qstep.deep.config import NetworkConfig
from qstep.deep.network import Envs, Policy, Spaces
from qstep.envs.repeatable import RepeatableVectorEnv
from qstep.envs.vector import CompiledVectorEnv, check_autoreset, led_to
from qstep.errors import CheckpointError, ConfigError

__all__ = ["PHASES", "Ended", "Learner", "Step", "Stored", "VectorLearner", "first_seed"]

_NETWORKS = "networks"
"""Prefix of the tensors' names in a checkpoint."""

_COUNTERS = ("steps", "episodes", "updates")

PHASES = ("select", "step", "store", "learn")


class Ended(NamedTuple):
    """Episodes that ended in one step of a learner, in chronological order."""

    env: NDArray[np.int64]
    episode_return: NDArray[np.float64]  # undiscounted


class Step(NamedTuple):
    """The results of one step of N environments."""

    next_observation: NDArray[np.float32]  # (N, inputs); before the reset if an episode ended
    reward: NDArray[np.float32]  # (N,)
    terminated: NDArray[np.bool_]  # (N,)
    truncated: NDArray[np.bool_]  # (N,)


def first_seed(seed: int, num_envs: int) -> int:
    """Return the first seed of a run's environments; environment i starts with this seed + i.

    Runs with consecutive seeds share no environment seeds; large seeds wrap around to stay below 2^64.
    """
    return num_envs * seed % ((1 << 64) - num_envs + 1)


class Stored(Protocol):
    """An object that stores arrays in a checkpoint, such as environments or a replay memory."""

    def checkpoint(self) -> dict[str, NDArray[Any]]: ...
    def restore(self, checkpoint: Mapping[str, NDArray[Any]], /) -> object: ...


class Learner(ABC):
    """An algorithm training on an environment; call :meth:`step` until `steps` reaches the run's length.

    Attributes
    ----------
    device : torch.device
        Device of the networks; environments are on the CPU.
    num_envs : int
        Number of environments stepped together.
    steps, episodes, updates : int
        Counts so far.
    seconds : dict of str to float
        Time spent so far in each of :data:`PHASES`. An accelerator runs asynchronously, so part of the
        time for ``learn`` is counted in ``select``.
    """

    SPACES: ClassVar[type[Spaces]] = Spaces
    """The class of spaces that the algorithm supports."""

    VERSION: ClassVar[int] = 3
    """Version of the arithmetic and the checkpoint; a checkpoint of another version is rejected."""

    num_envs = 1

    def __init__(self, spaces: Spaces, config: NetworkConfig, device: torch.device) -> None:
        self.spaces, self.config, self.device = spaces, config, device
        self.steps = self.episodes = self.updates = 0
        self.seconds = dict.fromkeys(PHASES, 0.0)

    @abstractmethod
    def step(self) -> Ended:
        """Step every environment and learn; return the episodes that ended."""

    @abstractmethod
    def policy(self, num_envs: int) -> Policy:
        """Return the greedy policy for a number of environments, valid until the network next learns."""

    @abstractmethod
    def to_modules(self) -> nn.Sequential:
        """Return a copy of the learning network on the CPU."""

    @abstractmethod
    def monitored(self) -> Iterable[Tensor]:
        """Return the tensors, not copies, that show whether learning diverges: parameters and losses."""

    @property
    def resumable(self) -> bool:
        """Whether the learner supports checkpoints."""
        return False

    @property
    def epsilon(self) -> float:
        """The current epsilon."""
        return self.config.epsilon_at(self.steps)

    @property
    def learning_rate(self) -> float:
        """The current learning rate."""
        return self.config.learning_rate_at(self.steps)

    def checkpoint(self) -> Checkpoint:
        """Return a copy of the complete state of the run; call it only between steps.

        Raises ConfigError if the learner is not :attr:`resumable`.
        """
        raise ConfigError(_STATELESS)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore a :meth:`checkpoint` of a run with the same environments and configuration.

        On the CPU, with the same version of PyTorch, the resumed run is bit-identical to an
        uninterrupted one. If a part is missing or has the wrong type or shape, CheckpointError is raised
        and nothing changes.
        """
        raise ConfigError(_STATELESS)

    def _spend(self, phase: str, since: float) -> float:
        """Add the time elapsed since `since` to a phase; return the current time."""
        now = time.perf_counter()
        self.seconds[phase] += now - since
        return now


_RESUMABLE = CompiledVectorEnv, RepeatableVectorEnv
_STATELESS = (
    "the run has no checkpoints; only dqn, pqn and sac on environments of make_vector have them"
)


class VectorLearner(Learner):
    """An algorithm on N parallel environments, resumable with those of :func:`qstep.envs.make_vector`.

    The environments, which must reset within the step that ends an episode, are first reset here with
    the seeds of :func:`first_seed`. All random numbers of the learner depend on the configuration's
    seed.
    """

    def __init__(self, envs: Envs, config: NetworkConfig, device: torch.device) -> None:
        check_autoreset(envs)
        super().__init__(
            self.SPACES(envs.single_observation_space, envs.single_action_space), config, device
        )
        seen, _ = envs.reset(seed=first_seed(config.seed, envs.num_envs))
        self.observation = self.spaces.numbers(seen)
        self.envs, self.num_envs = envs, envs.num_envs
        self.generator = np.random.default_rng(config.seed)
        self._returns = np.zeros(envs.num_envs)

    @abstractmethod
    def _tensors(self) -> dict[str, Tensor]:
        """Return the tensors of the networks and the optimiser for a checkpoint, without copies."""

    @property
    def resumable(self) -> bool:
        return isinstance(self.envs, _RESUMABLE)

    def _stored(self) -> dict[str, Stored]:
        """Return the objects that store arrays, by name; raise ConfigError if one has no checkpoints."""
        if not isinstance(self.envs, _RESUMABLE):
            raise ConfigError(_STATELESS)
        return {"envs": self.envs}

    def _move(self, actions: NDArray[Any]) -> Step:
        """Step every environment."""
        seen, reward, terminated, truncated, info = self.envs.step(actions)
        next_seen = led_to(seen, info)
        self.observation = self.spaces.numbers(seen)
        next_observation = self.observation if next_seen is seen else self.spaces.numbers(next_seen)
        return Step(next_observation, np.asarray(reward, np.float32), terminated, truncated)

    def _explore(self, greedy: NDArray[np.int64], epsilon: float) -> NDArray[np.int64]:
        """Replace a fraction of the actions with random ones, in place; return the actions."""
        explore = self.generator.random(len(greedy)) < epsilon
        drawn = self.generator.integers(self.spaces.actions, size=len(greedy))
        np.copyto(greedy, drawn, where=explore)
        return greedy

    def _count(self, step: Step) -> Ended:
        """Add the rewards of a step to the returns; count and return the finished episodes."""
        self._returns += step.reward
        env = np.flatnonzero(step.terminated | step.truncated)
        ended = Ended(env, self._returns[env])
        self._returns[env] = 0
        self.episodes += len(env)
        return ended

    def checkpoint(self) -> Checkpoint:
        parts = {owner: stored.checkpoint() for owner, stored in self._stored().items()}
        parts[_NETWORKS] = {
            name: tensor.detach().cpu().clone().numpy() for name, tensor in self._tensors().items()
        }
        arrays = {f"{owner}.{name}": a for owner, part in parts.items() for name, a in part.items()}
        return Checkpoint(
            {
                "counters": {name: getattr(self, name) for name in _COUNTERS},
                "generator": self.generator.bit_generator.state,
                "phases": dict(self.seconds),
            },
            {**arrays, "returns": self._returns.copy()},
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        own = self.checkpoint()
        check_parts(checkpoint.head, own.head)
        check_parts(checkpoint.arrays, own.arrays, any_length=["envs.episodes"])
        head, arrays = checkpoint.head, checkpoint.arrays
        try:
            self.generator.bit_generator.state = head["generator"]
        except (ValueError, TypeError, OverflowError) as cause:
            raise CheckpointError(f"the checkpoint's random generator: {cause}") from cause
        for owner, stored in self._stored().items():
            start = f"{owner}."
            stored.restore(
                {n.removeprefix(start): a for n, a in arrays.items() if n.startswith(start)}
            )
        envs = cast("CompiledVectorEnv | RepeatableVectorEnv", self.envs)
        self.observation = self.spaces.numbers(envs.observation)
        self._returns[:] = arrays["returns"]
        with torch.no_grad():
            for name, tensor in self._tensors().items():
                tensor.copy_(torch.tensor(arrays[f"{_NETWORKS}.{name}"]))
        for name in _COUNTERS:
            setattr(self, name, head["counters"][name])
        self.seconds.update(head["phases"])
