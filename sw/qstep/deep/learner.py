"""What DQN and PQN have in common: exploring on environments, counting what ended, going on exactly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from qstep.checkpoint import Checkpoint, check_parts
from qstep.envs.vector import VectorEnv, VectorStep
from qstep.envs.vector_checks import check_numbers
from qstep.errors import CheckpointError

__all__ = ["PHASES", "Ended", "NetworkLearner", "Policy"]

_NETWORKS = "networks"
"""Before the names of the tensors in a checkpoint."""

PHASES = ("select", "step", "store", "learn")

Policy = Callable[[NDArray[np.float32]], NDArray[np.int64]]
"""From N observations, shape (N, inputs), to N actions."""


class Ended(NamedTuple):
    """Episodes that ended in one step of a learner, in order of time.

    Attributes
    ----------
    env : ndarray of int64
    score : ndarray of int32
    episode_return : ndarray of float64
        Undiscounted return.
    """

    env: NDArray[np.int64]
    score: NDArray[np.int32]
    episode_return: NDArray[np.float64]


class Room(Protocol):
    """What keeps arrays of its own: envs, a replay memory."""

    def checkpoint(self) -> dict[str, NDArray[Any]]: ...
    def restore(self, checkpoint: Mapping[str, NDArray[Any]], /) -> object: ...


class NetworkLearner(ABC):
    """A run on N environments.

    Call :meth:`step` until :attr:`steps` has reached ``config.total_timesteps``.

    Parameters
    ----------
    envs : VectorEnv
        With observations of one number or more.
    device : torch.device
        Of the networks; environments are on the CPU.
    seed : int
        Of exploration and of whatever else the learner draws.

    Attributes
    ----------
    steps, episodes, updates : int
        So far.
    seconds : dict of str to float
        Spent so far in each of :data:`PHASES`.

    Raises
    ------
    EnvironmentSpaceError
        The environments' observations are indices into a table.
    """

    COUNTERS: ClassVar[tuple[str, ...]] = ("steps", "episodes", "updates")
    """Attributes that a checkpoint keeps in its head."""

    def __init__(self, envs: VectorEnv, device: torch.device, seed: int) -> None:
        check_numbers(envs)
        self.envs, self.device = envs, device
        self.generator = np.random.default_rng(seed)
        self.steps = self.episodes = self.updates = 0
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self._returns = np.zeros(envs.num_envs)

    @abstractmethod
    def step(self) -> Ended:
        """Play on with every environment, and learn."""

    @abstractmethod
    def policy(self, num_envs: int) -> Policy:
        """Return the greedy policy of the network, as it is at each call, for so many environments."""

    @abstractmethod
    def to_modules(self) -> nn.Sequential:
        """Return a copy of the network that learns, on the CPU."""

    @abstractmethod
    def _tensors(self) -> dict[str, Tensor]:
        """Return the tensors that a checkpoint keeps, themselves: networks and optimiser."""

    def _rooms(self) -> dict[str, Room]:
        """Return what keeps its own arrays in a checkpoint, by name."""
        return {"envs": self.envs}

    def _explore(self, greedy: NDArray[np.int64], epsilon: float) -> NDArray[np.int64]:
        """Replace a share of the actions by random ones, in place; return them."""
        explore = self.generator.random(len(greedy)) < epsilon
        drawn = self.generator.integers(self.envs.actions, size=len(greedy))
        np.copyto(greedy, drawn, where=explore)
        return greedy

    def _count(self, step: VectorStep) -> Ended:
        """Add a step of the environments to the returns; return and count the episodes that it ended."""
        self._returns += step.reward
        env = np.flatnonzero(step.terminated | step.truncated)
        ended = Ended(env, step.score[env], self._returns[env])
        self._returns[env] = 0
        self.episodes += len(env)
        return ended

    def checkpoint(self) -> Checkpoint:
        """Return copies of all that the rest of the run depends on, for :meth:`restore`.

        Only between two steps: within one there is more.
        """
        rooms = {name: room.checkpoint() for name, room in self._rooms().items()}
        rooms[_NETWORKS] = {
            name: tensor.detach().cpu().clone().numpy() for name, tensor in self._tensors().items()
        }
        arrays = {f"{room}.{name}": a for room, kept in rooms.items() for name, a in kept.items()}
        return Checkpoint(
            {
                "counters": {name: getattr(self, name) for name in self.COUNTERS},
                "generator": self.generator.bit_generator.state,
                "phases": dict(self.seconds),
            },
            {**arrays, "returns": self._returns.copy()},
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go on from a :meth:`checkpoint` of a run with equal environments and configuration.

        On the CPU, with the same version of PyTorch, the rest of the run is then bit for bit that of
        the one which went on.

        Raises
        ------
        CheckpointError
            A part is missing, or is of another type or shape; then nothing has changed. Or a generator
            is in no state that it can be in.
        """
        check_parts(checkpoint, self.checkpoint())
        head, arrays = checkpoint.head, checkpoint.arrays
        try:
            self.generator.bit_generator.state = head["generator"]
        except (ValueError, TypeError, OverflowError) as cause:
            raise CheckpointError(f"generator of the checkpoint: {cause}") from cause
        for room, keeper in self._rooms().items():
            start = f"{room}."
            keeper.restore(
                {n.removeprefix(start): a for n, a in arrays.items() if n.startswith(start)}
            )
        self._returns[:] = arrays["returns"]
        with torch.no_grad():
            for name, tensor in self._tensors().items():
                tensor.copy_(torch.tensor(arrays[f"{_NETWORKS}.{name}"]))
        for name in self.COUNTERS:
            setattr(self, name, head["counters"][name])
        self.seconds.update(head["phases"])
