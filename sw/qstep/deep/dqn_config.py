"""What a DQN run is made of, checked when it is written down; both forms of DQN take it."""

from __future__ import annotations

from dataclasses import dataclass, field

from qstep.deep.q_loss_plain import VARIANTS, Variant
from qstep.deep.ranges import check
from qstep.errors import ConfigError
from qstep.learn.schedule import EpsilonSchedule

__all__ = ["DqnConfig"]


@dataclass(frozen=True, slots=True)
class DqnConfig:
    """Hyperparameters of DQN. A *frame* is one step of one board.

    Epsilon and the learning rate go by frames, not by updates, so they are the same at the same frame
    however often the network learns.

    Parameters
    ----------
    frames : int
        Length of the run, over which the schedules stretch; 1 or more.
    hidden : tuple of int
        Units of each hidden layer.
    variant : {"single", "target", "double"}
        Of the loss, see `q_loss_plain`.
    gamma : float
        Discount, 0..1.
    reward_scale : float
        Rewards are multiplied by it before they are learnt from. Smooth L1 is linear beyond an error of
        1, where it learns medians instead of means: rare falls from high values are overlooked. Keep
        values near 1.
    batch : int
        Transitions of an update, 1..`replay`.
    updates_per_step : int
        Updates after each step of all boards, 1 or more. With N boards that is
        ``updates_per_step / N`` a frame.
    replay : int
        Transitions that are remembered.
    warm_up : int
        Frames before the first update, at least `batch`.
    target_every : int
        Steps of all boards between two moves of the target network, 1 or more.
    target_rate : float
        How far it moves towards the other one: 1 copies it, less is a moving average.
    rate, last_rate : float
        Learning rate at the first and at the last frame; linear in between.
    epsilon : EpsilonSchedule
        Of exploration, by frames.
    prioritised : bool
        Replay what the network is wrong about, see `prioritised`.
    seed : int
        Of everything that is drawn, the network's first parameters included.

    Raises
    ------
    ConfigError
        A value is out of its range.
    """

    frames: int = 100_000
    hidden: tuple[int, ...] = (64, 64)
    variant: Variant = "double"
    gamma: float = 0.99
    reward_scale: float = 1.0
    batch: int = 64
    updates_per_step: int = 8
    replay: int = 50_000
    warm_up: int = 1_000
    target_every: int = 1
    target_rate: float = 0.05
    rate: float = 1e-3
    last_rate: float = 0.0
    epsilon: EpsilonSchedule = field(default_factory=lambda: EpsilonSchedule(1.0, 0.05, 0.3))
    prioritised: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        counts = ("frames", "batch", "updates_per_step", "replay", "warm_up", "target_every")
        check(self, counts, shares=("gamma", "target_rate"))
        if self.variant not in VARIANTS:
            raise ConfigError(
                f"variant is {self.variant!r}; it must be one of {', '.join(VARIANTS)}"
            )
        if self.batch > self.replay:
            raise ConfigError(
                f"batch is {self.batch}, larger than the replay of {self.replay}; make it smaller"
            )
        if not self.batch <= self.warm_up <= self.replay:
            raise ConfigError(
                f"warm_up is {self.warm_up}; it must be from batch, {self.batch}, to replay, "
                f"{self.replay}"
            )
