"""Checks and schedules that the configurations of DQN and PQN share."""

from __future__ import annotations

from typing import Protocol

from qstep.errors import ConfigError
from qstep.spec.checks import integer

__all__ = ["Learning", "check", "learning_rate_at"]


_MOST = (1 << 31) - 1
"""Limit of every count of things that take memory."""


class Learning(Protocol):
    """The fields of every configuration, see `DqnConfig`."""

    @property
    def total_timesteps(self) -> int: ...
    @property
    def hidden(self) -> tuple[int, ...]: ...
    @property
    def learning_rate(self) -> float: ...
    @property
    def final_learning_rate(self) -> float: ...
    @property
    def seed(self) -> int: ...


def check(config: Learning, counts: tuple[str, ...], shares: tuple[str, ...]) -> None:
    """Refuse values out of range.

    Parameters
    ----------
    config : Learning
        With a `reward_scale` and the named fields.
    counts : tuple of str
        Fields that must be 1 or more and, except `total_timesteps`, less than 2^31.
    shares : tuple of str
        Fields that must be 0..1.

    Raises
    ------
    ConfigError
        A value is out of its range.
    """
    for name in counts:
        if getattr(config, name) < 1:
            raise ConfigError(f"{name} is {getattr(config, name)}; it must be 1 or more")
        if name != "total_timesteps" and getattr(config, name) > _MOST:
            raise ConfigError(f"{name} is {getattr(config, name)}; it must be at most {_MOST}")
    for name in shares:
        if not 0.0 <= getattr(config, name) <= 1.0:
            raise ConfigError(f"{name} is {getattr(config, name)}; it must be from 0 to 1")
    for name in ("learning_rate", "final_learning_rate", "reward_scale"):
        if not 0.0 <= getattr(config, name) < float("inf"):
            raise ConfigError(f"{name} is {getattr(config, name)}; it must be finite, 0 or more")
    if config.hidden and max(config.hidden) > _MOST:
        raise ConfigError(f"hidden is {config.hidden}; a layer must have at most {_MOST}")
    if not config.hidden or min(config.hidden) < 1:
        raise ConfigError(f"hidden is {config.hidden}; it must be one layer or more of 1 or more")
    integer("seed", config.seed, 0, (1 << 64) - 1, "from 0 to 2^64-1")


def learning_rate_at(config: Learning, step: int) -> float:
    """Return the learning rate at a step: linear, then constant after the last step."""
    share = min(step / config.total_timesteps, 1.0)
    return config.learning_rate + (config.final_learning_rate - config.learning_rate) * share
