"""What DQN and PQN have in common: exploring on boards, counting what ended, going on exactly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from qstep.deep.checkpoint import State, check_parts
from qstep.envs.board_checks import check_numbers
from qstep.envs.boards import Boards, BoardsStep

__all__ = ["PHASES", "Ended", "Learner", "Policy"]

PHASES = ("select", "step", "store", "learn")

Policy = Callable[[NDArray[np.float32]], NDArray[np.int64]]
"""From N observations, shape (N, inputs), to N actions."""


class Ended(NamedTuple):
    """Episodes that ended in one step of a learner, in order of time.

    Attributes
    ----------
    board : ndarray of int64
    score : ndarray of int32
    total : ndarray of float64
        Undiscounted return.
    """

    board: NDArray[np.int64]
    score: NDArray[np.int32]
    total: NDArray[np.float64]


class Room(Protocol):
    """What keeps arrays of its own: boards, a replay memory."""

    def snapshot(self) -> dict[str, NDArray[Any]]: ...
    def restore(self, snapshot: Mapping[str, NDArray[Any]], /) -> object: ...


class Learner(ABC):
    """A run on N boards. Call :meth:`step` until :attr:`frames` has reached ``config.frames``.

    Parameters
    ----------
    boards : Boards
        With observations of one number or more.
    device : torch.device
        Of the networks; boards are on the CPU.
    seed : int
        Of exploration and of whatever else the learner draws.

    Attributes
    ----------
    frames, episodes, updates : int
        So far.
    seconds : dict of str to float
        Spent so far in each of :data:`PHASES`.

    Raises
    ------
    EnvironmentSpaceError
        The boards' observations are indices into a table.
    """

    COUNTERS: ClassVar[tuple[str, ...]] = ("frames", "episodes", "updates")
    """Attributes that a snapshot keeps in its head."""

    def __init__(self, boards: Boards, device: torch.device, seed: int) -> None:
        check_numbers(boards)
        self.boards, self.device = boards, device
        self.generator = np.random.default_rng(seed)
        self.frames = self.episodes = self.updates = 0
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self._totals = np.zeros(len(boards))

    @abstractmethod
    def step(self) -> Ended:
        """Play on with every board, and learn."""

    @abstractmethod
    def policy(self, boards: int) -> Policy:
        """Return the greedy policy of the network, as it is at each call, for so many boards."""

    @abstractmethod
    def to_modules(self) -> nn.Sequential:
        """Return a copy of the network that learns, on the CPU."""

    @abstractmethod
    def _tensors(self) -> dict[str, Tensor]:
        """Return the tensors that a snapshot keeps, themselves: networks and optimiser."""

    def _rooms(self) -> dict[str, Room]:
        """Return what keeps its own arrays in a snapshot, by name."""
        return {"boards": self.boards}

    def _explore(self, greedy: NDArray[np.int64], epsilon: float) -> NDArray[np.int64]:
        """Replace a share of the actions by random ones, in place; return them."""
        explore = self.generator.random(len(greedy)) < epsilon
        drawn = self.generator.integers(self.boards.actions, size=len(greedy))
        np.copyto(greedy, drawn, where=explore)
        return greedy

    def _count(self, step: BoardsStep) -> Ended:
        """Add a step of the boards to the returns; return and count the episodes that it ended."""
        self._totals += step.reward
        board = np.flatnonzero(step.terminated | step.truncated)
        ended = Ended(board, step.score[board], self._totals[board])
        self._totals[board] = 0
        self.episodes += len(board)
        return ended

    def snapshot(self) -> State:
        """Return copies of all that the rest of the run depends on, for :meth:`restore`.

        Only between two steps: within one there is more.
        """
        rooms = {name: room.snapshot() for name, room in self._rooms().items()}
        arrays = {f"{room}.{name}": a for room, kept in rooms.items() for name, a in kept.items()}
        return State(
            {
                "counters": {name: getattr(self, name) for name in self.COUNTERS},
                "generator": self.generator.bit_generator.state,
                "phases": dict(self.seconds),
            },
            {name: tensor.detach().cpu().clone() for name, tensor in self._tensors().items()},
            {**arrays, "totals": self._totals.copy()},
        )

    def restore(self, state: State) -> None:
        """Go on from a :meth:`snapshot` of a run with equal boards and configuration.

        On the CPU, with the same version of PyTorch, the rest of the run is then bit for bit that of
        the one which went on.

        Raises
        ------
        CheckpointError
            A part is missing, or is of another type or shape; then nothing has changed.
        """
        check_parts(state, self.snapshot())
        for room, keeper in self._rooms().items():
            start = f"{room}."
            keeper.restore(
                {n.removeprefix(start): a for n, a in state.arrays.items() if n.startswith(start)}
            )
        self._totals[:] = state.arrays["totals"]
        with torch.no_grad():
            for name, tensor in self._tensors().items():
                tensor.copy_(state.tensors[name])
        self.generator.bit_generator.state = state.head["generator"]
        for name in self.COUNTERS:
            setattr(self, name, state.head["counters"][name])
        self.seconds.update(state.head["phases"])
