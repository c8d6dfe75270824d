"""Hyperparameters of network runs; an illegal value raises ConfigError."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any, Literal, TypeAlias, get_args

from qstep.errors import ConfigError
from qstep.spec.checks import assign, boolean, integer, one_of, real, shown
from qstep.spec.epsilon import Epsilon, checked_share
from qstep.spec.random import checked_seed

__all__ = ["VARIANTS", "DqnConfig", "NetworkConfig", "PqnConfig", "SacConfig", "Variant"]

Variant: TypeAlias = Literal["single", "target", "double"]
"""Which network chooses the action in the next state, and which one evaluates it; see `dqn_plain`."""

VARIANTS: tuple[Variant, ...] = get_args(Variant)

_MOST = (1 << 31) - 1
"""Upper bound on sizes that determine memory use."""


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """Hyperparameters common to all algorithms. A *step* is one step of one environment.

    Schedules depend on steps, not on updates, so they do not depend on how often the network learns.

    Parameters
    ----------
    total_timesteps : int
        Length of the run in steps, to which the schedules are scaled; 1 or more.
    hidden : tuple of int
        Units of each hidden layer.
    gamma : float
        Discount, 0..1.
    reward_scale : float
        Factor by which rewards are multiplied before learning. Keep action values near 1: DQN's smooth
        L1 loss is linear for errors above 1, where it learns medians instead of means and overlooks rare
        drops from high values.
    learning_rate : float
        Learning rate at the first step; it then changes linearly.
    final_learning_rate : float
        Learning rate at the last step.
    seed : int
        Seed of all random draws, including the network's initial parameters.
    """

    total_timesteps: int = 100_000
    hidden: tuple[int, ...] = (64, 64)
    gamma: float = 0.99
    reward_scale: float = 1.0
    learning_rate: float = 1e-3
    final_learning_rate: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        self._check(integer, "total_timesteps", low=1)
        self._check(real, "gamma")
        self._check(_finite, "learning_rate", "final_learning_rate", "reward_scale")
        self._check(_layers, "hidden")
        checked_seed(self.seed)

    def learning_rate_at(self, step: int) -> float:
        """Return the learning rate at a step: linear, then constant after the last step."""
        share = min(step / self.total_timesteps, 1.0)
        return self.learning_rate + (self.final_learning_rate - self.learning_rate) * share

    def epsilon_at(self, step: int) -> float:
        """Return the share of random actions at a step."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return asdict(self)

    def _check(self, check: Callable[..., object], *names: str, **limits: Any) -> None:
        """Replace fields with the plain values returned by a check, which rejects illegal values."""
        assign(self, **{name: check(name, getattr(self, name), **limits) for name in names})


def _finite(name: str, value: object) -> float:
    number = math.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    if not 0.0 <= number < math.inf:
        raise ConfigError(f"{name} is {shown(value)}; it must be finite and at least 0")
    return number


def _layers(name: str, value: object) -> tuple[int, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise ConfigError(
            f"{name} is {shown(value)}; it must list the units of one or more layers, such as (64, "
            "64)"
        )
    return tuple(integer(f"a layer of {name}", units, 1, _MOST) for units in value)


@dataclass(frozen=True, slots=True)
class ValueConfig(NetworkConfig):
    """Hyperparameters of networks that output action values, in addition to :class:`NetworkConfig`.

    Parameters
    ----------
    epsilon : Epsilon
        Exploration rate: constant, or linear over a share of the steps of the run.
    """

    epsilon: Epsilon = Epsilon(1.0, 0.05, "linear", 0.3, "run")  # noqa: RUF009  # frozen

    def __post_init__(self) -> None:
        NetworkConfig.__post_init__(self)
        checked_share(self.epsilon)

    def epsilon_at(self, step: int) -> float:
        return self.epsilon.at(step, self.total_timesteps)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "epsilon": self.epsilon.to_dict()}


@dataclass(frozen=True, slots=True)
class DqnConfig(ValueConfig):
    """Hyperparameters of DQN, plain or fast, in addition to :class:`ValueConfig`.

    Parameters
    ----------
    variant : {"single", "target", "double"}
        Source of the target values: the online network, the target network, or the target network for
        the action that the online network prefers (Double DQN).
    batch_size : int
        Transitions per update, 1..`buffer_size`.
    gradient_steps : int
        Updates after each step of all environments, 1 or more. With N environments, there are
        ``gradient_steps / N`` updates per step.
    buffer_size : int
        Capacity of the replay memory in transitions.
    learning_starts : int
        Steps before the first update, at least `batch_size`.
    target_update_interval : int
        Steps of all environments between updates of the target network, 1 or more.
    tau : float
        Fraction by which each update moves the target network towards the online network: 1 copies it,
        and less gives a moving average.
    prioritised : bool
        Whether to replay transitions with large errors more often.
    """

    variant: Variant = "double"
    batch_size: int = 64
    gradient_steps: int = 8
    buffer_size: int = 50_000
    learning_starts: int = 1_000
    target_update_interval: int = 1
    tau: float = 0.05
    prioritised: bool = False

    def __post_init__(self) -> None:
        ValueConfig.__post_init__(self)
        sizes = ("batch_size", "gradient_steps", "buffer_size", "learning_starts")
        self._check(integer, *sizes, "target_update_interval", low=1, high=_MOST)
        self._check(real, "tau")
        self._check(boolean, "prioritised")
        one_of("variant", self.variant, VARIANTS)
        _check_replay(self)


@dataclass(frozen=True, slots=True)
class PqnConfig(ValueConfig):
    """Hyperparameters of PQN, in addition to :class:`ValueConfig`.

    The length of a run is rounded up to whole rollouts.

    Parameters
    ----------
    q_lambda : float
        The lambda of the returns, 0..1; 0 is one-step Q-learning.
    num_steps : int
        H, the number of steps per environment in a rollout.
    update_epochs : int
        Passes over each rollout.
    num_minibatches : int
        Minibatches per pass over a rollout, one update each; at most N * H with N environments.
    max_grad_norm : float
        Maximum norm, to which longer gradients are clipped; above 0.
    """

    total_timesteps: int = 500_000
    hidden: tuple[int, ...] = (128, 128)
    reward_scale: float = 0.1
    epsilon: Epsilon = Epsilon(1.0, 0.05, "linear", 0.2, "run")  # noqa: RUF009  # frozen
    q_lambda: float = 0.95
    num_steps: int = 64
    update_epochs: int = 4
    num_minibatches: int = 16
    max_grad_norm: float = 10.0

    def __post_init__(self) -> None:
        ValueConfig.__post_init__(self)
        self._check(integer, "num_steps", "update_epochs", "num_minibatches", low=1, high=_MOST)
        self._check(real, "q_lambda")
        self._check(_finite, "max_grad_norm")
        if not self.max_grad_norm > 0.0:
            raise ConfigError(f"max_grad_norm is {self.max_grad_norm}; it must be above 0")


@dataclass(frozen=True, slots=True)
class SacConfig(NetworkConfig):
    """Hyperparameters of SAC, in addition to :class:`NetworkConfig`; defaults as in CleanRL.

    `learning_rate` is the learning rate of the policy.

    Parameters
    ----------
    critic_learning_rate : float
        Constant learning rate of the critics and of the temperature.
    batch_size : int
        Transitions per update, 1..`buffer_size`.
    gradient_steps : int
        Updates after each step of all environments, 1 or more. With N environments, there are
        ``gradient_steps / N`` updates per step.
    buffer_size : int
        Maximum capacity of the replay memory in transitions; a shorter run allocates less.
    learning_starts : int
        Steps with random actions before the first update, at least `batch_size`.
    action_hold : int
        Steps for which each random action before the first update is repeated, 1 or more; Mountain Car
        needs several.
    tau : float
        Fraction by which each update moves the target critics towards the critics, 0..1.
    policy_frequency : int
        Critic updates between updates of the policy and the temperature, which then take that many steps
        on one batch; 1 or more.
    temperature : float
        Weight of the entropy, or the initial weight if it is learned; above 0.
    learn_temperature : bool
        Whether to learn the temperature; the target entropy is minus the number of action dimensions.
    """

    total_timesteps: int = 1_000_000
    hidden: tuple[int, ...] = (256, 256)
    learning_rate: float = 3e-4
    final_learning_rate: float = 3e-4
    critic_learning_rate: float = 1e-3
    batch_size: int = 256
    gradient_steps: int = 1
    buffer_size: int = 1_000_000
    learning_starts: int = 5_000
    action_hold: int = 1
    tau: float = 0.005
    policy_frequency: int = 2
    temperature: float = 1.0
    learn_temperature: bool = True

    def __post_init__(self) -> None:
        NetworkConfig.__post_init__(self)
        sizes = ("batch_size", "gradient_steps", "buffer_size", "learning_starts", "action_hold")
        self._check(integer, *sizes, "policy_frequency", low=1, high=_MOST)
        self._check(real, "tau")
        self._check(_finite, "critic_learning_rate", "temperature")
        self._check(boolean, "learn_temperature")
        _check_replay(self)
        if not self.temperature > 0.0:
            raise ConfigError(f"temperature is {self.temperature}; it must be above 0")

    def epsilon_at(self, step: int) -> float:
        return float(step < self.learning_starts)


def _check_replay(config: DqnConfig | SacConfig) -> None:
    """Raise ConfigError unless batch_size <= learning_starts <= buffer_size."""
    if config.batch_size > config.buffer_size:
        raise ConfigError(
            f"batch_size is {config.batch_size}, larger than "
            f"buffer_size, {config.buffer_size}; make it smaller"
        )
    if not config.batch_size <= config.learning_starts <= config.buffer_size:
        raise ConfigError(
            f"learning_starts is {config.learning_starts}; it must be from batch_size, "
            f"{config.batch_size}, to buffer_size, {config.buffer_size}"
        )
