"""The arguments of every `learn` of the baselines.

Each is called as ``learn(model, updates, how)``: a `DeterministicModel`, the number of updates, and a
:class:`Learning`. The textbook forms (`Learn`) return a table of their own kind; those in PyTorch
(`LearnTogether`) take an :class:`AgentsLearning`, a device and a :class:`Watch` as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from qstep.envs.gridworld import DeterministicModel

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "AGENTS",
    "LEARNING",
    "UNWATCHED",
    "AgentsLearning",
    "AgentsProgress",
    "Learn",
    "LearnTogether",
    "Learning",
    "OnProgress",
    "Watch",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """How one walker learns.

    Parameters
    ----------
    alpha, gamma, epsilon : float
        Learning rate, discount and share of random actions, each 0..1.
    seed : int
        Of the random numbers.
    """

    alpha: float = 0.5
    gamma: float = 0.9
    epsilon: float = 0.1
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsLearning(Learning):
    """How many agents learn that share a table.

    Parameters
    ----------
    alpha, gamma, epsilon, seed
        As in :class:`Learning`; the random numbers are drawn on the device.
    agents : int
        Agents that step together, 1 or more.
    episode_cap : int
        Steps after which an episode is cut off (truncated, so its last step still bootstraps).
    """

    agents: int = 512
    episode_cap: int = 50


LEARNING, AGENTS = Learning(), AgentsLearning()


PROGRESS_EVERY = 1 << 20
"""Default number of updates between two reports."""


class AgentsProgress(NamedTuple):
    """The state of learning at one moment, and what happened since the previous report.

    Attributes
    ----------
    updates : int
        Since learning began.
    episodes : int
        Episodes that ended since the previous report, including those that were cut off.
    wins : int
        The part of them that ended in the goal.
    start_value : float
        Present value of the best action in the start state.
    """

    updates: int
    episodes: int
    wins: int
    start_value: float

    @property
    def win_rate(self) -> float:
        """Share of the episodes that ended in the goal, while exploring; 0 if none ended."""
        return self.wins / self.episodes if self.episodes else 0.0


OnProgress = Callable[[AgentsProgress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Reports while agents learn.

    Parameters
    ----------
    report : callable, optional
        Called with the progress after about `every` updates, and at the end.
    every : int
        1 or more; each report waits for the device.
    """

    report: OnProgress | None = None
    every: int = PROGRESS_EVERY


UNWATCHED = Watch()


class Learn(Protocol):
    """A textbook form, which walks epsilon-greedily and learns from each step."""

    def __call__(self, model: DeterministicModel, updates: int, how: Learning = ..., /) -> Any:
        """Take `updates` steps, each with one update, and return the table.

        A finished episode is followed by the next.
        """


class LearnTogether(Protocol):
    """A form in PyTorch, in which many agents walk epsilon-greedily and share a table."""

    def __call__(
        self,
        model: DeterministicModel,
        updates: int,
        how: AgentsLearning = ...,
        device: str = ...,
        watch: Watch = ...,
        /,
    ) -> Tensor:
        """Take `updates` steps over all agents; return the table, float32 (S, A), on the device.

        Updates are rounded up to whole rounds of all agents; the plain form continues to the end of the
        current episodes, the graph to the end of 64 rounds.

        Raises
        ------
        TorchDeviceError
            There is no such device here; the graph has only ``cuda``.
        """
