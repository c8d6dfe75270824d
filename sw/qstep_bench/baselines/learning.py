"""Arguments of the baselines' `learn` functions.

Each function is called as ``learn(model, updates, how)``, with a `DeterministicModel`, the number of
updates, and a :class:`Learning`. The textbook programs (`Learn`) return different types of tables. The
PyTorch programs (`LearnTogether`) take an :class:`AgentsLearning`, a device and a :class:`Watch`.
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
    """Learning parameters of one walker.

    Parameters
    ----------
    alpha, gamma, epsilon : float
        Learning rate, discount and share of random actions, each 0..1.
    seed : int
        Seed of the random numbers.
    """

    alpha: float = 0.5
    gamma: float = 0.9
    epsilon: float = 0.1
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsLearning(Learning):
    """Learning parameters of many agents.

    Parameters
    ----------
    alpha, gamma, epsilon, seed
        The same as in :class:`Learning`; the random numbers are drawn on the device.
    agents : int
        Number of agents that step together, 1 or more.
    episode_cap : int
        Steps after which an episode is cut off (truncated, so its last step still bootstraps).
    """

    agents: int = 512
    episode_cap: int = 50


LEARNING, AGENTS = Learning(), AgentsLearning()


PROGRESS_EVERY = 1 << 20
"""Default number of updates between reports."""


class AgentsProgress(NamedTuple):
    """The current progress of learning, and the events since the previous report.

    Attributes
    ----------
    updates : int
        Updates since learning began.
    episodes : int
        Episodes that ended since the previous report, including truncated ones.
    wins : int
        Episodes that reached the goal since the previous report.
    start_value : float
        Current value of the best action in the start state.
    """

    updates: int
    episodes: int
    wins: int
    start_value: float

    @property
    def win_rate(self) -> float:
        """Fraction of episodes that reached the goal while exploring; 0 if no episode ended."""
        return self.wins / self.episodes if self.episodes else 0.0


OnProgress = Callable[[AgentsProgress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """How to report progress while agents learn.

    Parameters
    ----------
    report : callable, optional
        Called with the progress after about `every` updates, and at the end.
    every : int
        Updates between reports, 1 or more; each report waits for the device.
    """

    report: OnProgress | None = None
    every: int = PROGRESS_EVERY


UNWATCHED = Watch()


class Learn(Protocol):
    """A textbook program, which walks epsilon-greedily and learns from each step."""

    def __call__(self, model: DeterministicModel, updates: int, how: Learning = ..., /) -> Any:
        """Take `updates` steps, each with one update, and return the table.

        When an episode ends, the next one starts.
        """


class LearnTogether(Protocol):
    """A PyTorch program, in which many epsilon-greedy agents share a table."""

    def __call__(
        self,
        model: DeterministicModel,
        updates: int,
        how: AgentsLearning = ...,
        device: str = ...,
        watch: Watch = ...,
        /,
    ) -> Tensor:
        """Take `updates` steps in total; return the table, float32 (S, A), on the device.

        Updates are rounded up to whole rounds of all agents. The plain program also continues until the
        current episodes have ended, and the graph until it has run a multiple of 64 rounds.

        Raises
        ------
        TorchDeviceError
            This machine has no such device, or the program is the graph and the device is not ``cuda``.
        """
