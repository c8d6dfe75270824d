"""The configuration of a DQN run, checked when it is made; both forms of DQN use it."""

from __future__ import annotations

from dataclasses import dataclass, field

from qstep.deep.ranges import check
from qstep.deep.variants import VARIANTS, Variant
from qstep.errors import ConfigError
from qstep.spec.epsilon import EpsilonSchedule

__all__ = ["DqnConfig"]


@dataclass(frozen=True, slots=True)
class DqnConfig:
    """Hyperparameters of DQN. A *step* is one step of one environment.

    Epsilon and the learning rate go by steps, not by updates, so they are the same at the same step
    however often the network learns.

    Parameters
    ----------
    total_timesteps : int
        Length of the run, to which the schedules refer; 1 or more.
    hidden : tuple of int
        Units of each hidden layer.
    variant : {"single", "target", "double"}
        Where the target values come from: the online network, the target network, or its values of
        the actions that the online network prefers (Double DQN).
    gamma : float
        Discount, 0..1.
    reward_scale : float
        Factor for rewards before learning. Smooth L1 is linear beyond an error of 1, where it
        learns medians instead of means and overlooks rare drops from high values. Keep values near 1.
    batch_size : int
        Transitions of an update, 1..`buffer_size`.
    gradient_steps : int
        Updates after each step of all environments, 1 or more. With N environments that is
        ``gradient_steps / N`` a step.
    buffer_size : int
        Transitions in the replay memory.
    learning_starts : int
        Steps before the first update, at least `batch_size`.
    target_update_interval : int
        Steps of all environments between two moves of the target network, 1 or more.
    tau : float
        How far the target moves towards the online network: 1 copies it, less is a moving average.
    learning_rate : float
        Learning rate at the first step; it then changes linearly.
    final_learning_rate : float
        Learning rate at the last step.
    epsilon : EpsilonSchedule
        Exploration, by steps.
    prioritised : bool
        Replay transitions with large errors more often.
    seed : int
        Seed of everything that is drawn, including the network's initial parameters.

    Raises
    ------
    ConfigError
        A value is out of range.
    """

    total_timesteps: int = 100_000
    hidden: tuple[int, ...] = (64, 64)
    variant: Variant = "double"
    gamma: float = 0.99
    reward_scale: float = 1.0
    batch_size: int = 64
    gradient_steps: int = 8
    buffer_size: int = 50_000
    learning_starts: int = 1_000
    target_update_interval: int = 1
    tau: float = 0.05
    learning_rate: float = 1e-3
    final_learning_rate: float = 0.0
    epsilon: EpsilonSchedule = field(default_factory=lambda: EpsilonSchedule(1.0, 0.05, 0.3))
    prioritised: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        counts = (
            "total_timesteps",
            "batch_size",
            "gradient_steps",
            "buffer_size",
            "learning_starts",
            "target_update_interval",
        )
        check(self, counts, shares=("gamma", "tau"))
        if self.variant not in VARIANTS:
            raise ConfigError(
                f"variant is {self.variant!r}; it must be one of {', '.join(VARIANTS)}"
            )
        if self.batch_size > self.buffer_size:
            raise ConfigError(
                f"batch_size is {self.batch_size}, larger than "
                f"buffer_size, {self.buffer_size}; make it smaller"
            )
        if not self.batch_size <= self.learning_starts <= self.buffer_size:
            raise ConfigError(
                f"learning_starts is {self.learning_starts}; it must be from batch_size, "
                f"{self.batch_size}, to buffer_size, {self.buffer_size}"
            )
