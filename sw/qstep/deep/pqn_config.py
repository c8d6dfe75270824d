"""What a PQN run is made of, checked when it is written down."""

from __future__ import annotations

from dataclasses import dataclass, field

from qstep.deep.ranges import check
from qstep.errors import ConfigError
from qstep.learn.schedule import EpsilonSchedule

__all__ = ["PqnConfig"]


@dataclass(frozen=True, slots=True)
class PqnConfig:
    """Hyperparameters of PQN. A *frame* is one step of one board.

    Parameters
    ----------
    frames : int
        Length of the run, over which the schedules stretch; rounded up to whole rollouts.
    hidden : tuple of int
        Units of each hidden layer.
    gamma : float
        Discount, 0..1.
    decay : float
        The lambda of the returns, 0..1; 0 is one-step Q-learning.
    reward_scale : float
        Rewards are multiplied by it before they are learnt from.
    horizon : int
        H, steps of each board in a rollout.
    epochs : int
        How often a rollout is gone through.
    minibatches : int
        Pieces of a rollout, one update each; at most N * H on N boards.
    rate, last_rate : float
        Learning rate at the first and at the last frame; linear in between.
    gradient_norm : float
        A longer gradient is shortened to it; above 0.
    epsilon : EpsilonSchedule
        Of exploration, by frames.
    seed : int
        Of everything that is drawn, the network's first parameters included.

    Raises
    ------
    ConfigError
        A value is out of its range.
    """

    frames: int = 500_000
    hidden: tuple[int, ...] = (128, 128)
    gamma: float = 0.99
    decay: float = 0.95
    reward_scale: float = 0.1
    horizon: int = 64
    epochs: int = 4
    minibatches: int = 16
    rate: float = 1e-3
    last_rate: float = 0.0
    gradient_norm: float = 10.0
    epsilon: EpsilonSchedule = field(default_factory=lambda: EpsilonSchedule(1.0, 0.05, 0.2))
    seed: int = 0

    def __post_init__(self) -> None:
        check(self, ("frames", "horizon", "epochs", "minibatches"), shares=("gamma", "decay"))
        if not self.gradient_norm > 0.0:
            raise ConfigError(f"gradient_norm is {self.gradient_norm}; it must be above 0")
