"""The configuration of a PQN run, checked when it is made."""

from __future__ import annotations

from dataclasses import dataclass, field

from qstep.deep.ranges import check
from qstep.errors import ConfigError
from qstep.spec.epsilon import EpsilonSchedule

__all__ = ["PqnConfig"]


@dataclass(frozen=True, slots=True)
class PqnConfig:
    """Hyperparameters of PQN. A *step* is one step of one environment.

    Parameters
    ----------
    total_timesteps : int
        Length of the run, to which the schedules refer; rounded up to whole rollouts.
    hidden : tuple of int
        Units of each hidden layer.
    gamma : float
        Discount, 0..1.
    q_lambda : float
        The lambda of the returns, 0..1; 0 is one-step Q-learning.
    reward_scale : float
        Factor for rewards before learning.
    num_steps : int
        H, steps of each environment in a rollout.
    update_epochs : int
        Passes over each rollout.
    num_minibatches : int
        Pieces of a rollout, one update each; at most N * H on N environments.
    learning_rate : float
        Learning rate at the first step; it then changes linearly.
    final_learning_rate : float
        Learning rate at the last step.
    max_grad_norm : float
        A longer gradient is shortened to this; above 0.
    epsilon : EpsilonSchedule
        Exploration, by steps.
    seed : int
        Seed of everything that is drawn, including the network's initial parameters.

    Raises
    ------
    ConfigError
        A value is out of range.
    """

    total_timesteps: int = 500_000
    hidden: tuple[int, ...] = (128, 128)
    gamma: float = 0.99
    q_lambda: float = 0.95
    reward_scale: float = 0.1
    num_steps: int = 64
    update_epochs: int = 4
    num_minibatches: int = 16
    learning_rate: float = 1e-3
    final_learning_rate: float = 0.0
    max_grad_norm: float = 10.0
    epsilon: EpsilonSchedule = field(default_factory=lambda: EpsilonSchedule(1.0, 0.05, 0.2))
    seed: int = 0

    def __post_init__(self) -> None:
        check(
            self,
            ("total_timesteps", "num_steps", "update_epochs", "num_minibatches"),
            shares=("gamma", "q_lambda"),
        )
        if not self.max_grad_norm > 0.0:
            raise ConfigError(f"max_grad_norm is {self.max_grad_norm}; it must be above 0")
