"""An agent's settings, its state between steps, and its counters."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from qstep.errors import ConfigError
from qstep.spec.checks import assign, instance, real, shown
from qstep.spec.config import Config, checked_config
from qstep.spec.discount import learned_discount
from qstep.spec.epsilon import Epsilon
from qstep.spec.fixed import Coefficients, Rounding, coefficients, greatest_coefficient
from qstep.spec.random import NoiseState, checked_seed, first_word

__all__ = [
    "COUNTER_BITS",
    "RETURN_BITS",
    "AgentCounters",
    "AgentSettings",
    "AgentState",
    "Hyperparameters",
    "checked_hyper",
]


@dataclass(frozen=True, slots=True)
class _Rates:
    """Settings that an update uses."""

    alpha: float = 0.5
    gamma: float = 0.9

    def coefficients_for(self, config: Config) -> Coefficients:
        """Return alpha, beta and kappa as a device of `config` uses them.

        Raises
        ------
        ConfigError
            alpha does not fit the fractional bits of `config`.
        """
        return coefficients(self.alpha, self.gamma, config.coefficient_bits)

    def discount_for(self, config: Config) -> float:
        """Return the discount that a device of `config` learns.

        It is kappa / alpha, which is gamma up to rounding. Raises ConfigError as
        :meth:`coefficients_for` does.
        """
        return learned_discount(self.alpha, self.gamma, config.coefficient_bits)


@dataclass(frozen=True, slots=True, init=False)
class Hyperparameters(_Rates):
    """Run-time settings: learning rate, discount, rounding mode and seed of the rounding noise.

    Parameters
    ----------
    alpha : float
        Learning rate, 0..1. A device rejects an alpha that its coefficients cannot represent or would
        round to 0; most devices accept 0 and 2^-16..1.
    gamma : float
        Discount, 0..1.
    rounding : Rounding or str, optional
        Rounding mode; by default, the mode of the configuration (:meth:`rounding_for`).
    seed : int
        Seed of the rounding noise, 0..2^64-1.

    Raises
    ------
    ConfigError
        A value is illegal; the message names it and the legal range.
    """

    rounding: Rounding | None = None
    seed: int = 0

    def __init__(
        self,
        alpha: float = 0.5,
        gamma: float = 0.9,
        rounding: Rounding | str | None = None,
        seed: int = 0,
    ) -> None:
        real("alpha", alpha)
        real("gamma", gamma)
        mode = None if rounding is None else Rounding.parse(rounding)
        assign(self, alpha=float(alpha), gamma=float(gamma), rounding=mode, seed=checked_seed(seed))

    @classmethod
    def first_for(cls, config: Config) -> Hyperparameters:
        """Return the defaults of a device of `config`.

        If an alpha of 0.5 does not fit, the greatest alpha that fits is used.
        """
        bits = checked_config(config).coefficient_bits
        return cls(alpha=min(0.5, greatest_coefficient(bits) / (1 << bits)))

    @property
    def noise(self) -> NoiseState:
        """The generator's registers before the first draw."""
        return NoiseState.from_seed(self.seed)

    def rounding_for(self, config: Config) -> Rounding:
        """Return the rounding mode that a device of `config` uses with these settings."""
        return checked_config(config).rounding if self.rounding is None else self.rounding

    def to_dict(self, config: Config) -> dict[str, Any]:
        """Return plain values, with the rounding mode that a device of `config` uses."""
        return {**asdict(self), "rounding": self.rounding_for(config).value}


def checked_hyper(hyper: Hyperparameters) -> Hyperparameters:
    """Return `hyper` if they are Hyperparameters; otherwise raise ConfigError."""
    if not isinstance(hyper, Hyperparameters):
        raise ConfigError(f"hyperparameters are {shown(hyper)}; they must be Hyperparameters")
    return hyper


COUNTER_BITS = 48
RETURN_BITS = 64
"""Widths in bits of a counter and of the sum of returns."""


@dataclass(frozen=True, slots=True)
class AgentSettings(_Rates):
    """An agent's settings, which may differ between agents, so that one run can be a sweep.

    Parameters
    ----------
    alpha, gamma : float
        As in :class:`~qstep.Hyperparameters`.
    epsilon : Epsilon
        Exploration schedule; an epsilon of 1 is the random policy, and 0 the greedy policy.
    seed : int
        Seed, 0..2^64-1. Agents with the same seed have different draws, because their agent numbers
        differ.

    Raises
    ------
    ConfigError
        A value is illegal; the message names it and the legal range.
    """

    epsilon: Epsilon = field(default_factory=Epsilon)
    seed: int = 0

    def __post_init__(self) -> None:
        real("alpha", self.alpha)
        real("gamma", self.gamma)
        checked_seed(self.seed)
        instance("epsilon", self.epsilon, Epsilon, ", such as qstep.Epsilon(0.1)")


@dataclass(slots=True)
class AgentState:
    """An agent's state between steps; together with the table, it is sufficient to resume a run.

    Attributes
    ----------
    word : int
        Word of the random generator, 1..2^64-1.
    epsilon : int
        Current epsilon, 0..2^24.
    epsilon_count : int
        Units since epsilon last decayed, less than the schedule's period.
    begun : bool
        Whether the first start state and its action have been drawn.
    state : int or tuple of int
        The agent's state: a row, or the numbers of a tile-coded world.
    action : int
        The next action.
    explored : bool
        Whether `action` was drawn at random.
    episode_steps : int
        Steps of the current episode, less than the step limit; 0 if there is no limit.
    """

    word: int
    epsilon: int
    epsilon_count: int = 0
    begun: bool = False
    state: Any = 0
    action: int = 0
    explored: bool = False
    episode_steps: int = 0

    @classmethod
    def first(cls, settings: AgentSettings, agent: int) -> AgentState:
        """Return the state of agent number `agent` before its first step."""
        return cls(first_word(settings.seed, agent), settings.epsilon.code.start)


@dataclass(slots=True)
class AgentCounters:
    """An agent's counters, which wrap around.

    Attributes
    ----------
    steps : int
        Number of steps, 48 bits.
    terminations, truncations : int
        Numbers of episodes that terminated or were truncated, 48 bits each; :attr:`episodes` is their
        sum.
    saturations : int
        Number of updates whose rounded sum did not fit the format, 48 bits.
    return_sum : int
        Sum of the undiscounted returns of all episodes, including the unfinished one: the exact sum of
        the raw rewards, 64 bits, two's complement.
    """

    steps: int = 0
    terminations: int = 0
    truncations: int = 0
    saturations: int = 0
    return_sum: int = 0

    @property
    def episodes(self) -> int:
        """Number of episodes that have ended."""
        return self.terminations + self.truncations

    def wrap(self) -> None:
        """Wrap each counter to its width."""
        for name in ("steps", "terminations", "truncations", "saturations"):
            setattr(self, name, getattr(self, name) % (1 << COUNTER_BITS))
        half = 1 << RETURN_BITS - 1
        self.return_sum = (self.return_sum + half) % (2 * half) - half
