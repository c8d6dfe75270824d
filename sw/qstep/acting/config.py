"""The part of a configuration that describes the agents of a device."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from qstep.checks import integer, shown
from qstep.errors import ConfigError

__all__ = ["MOST_OUTCOMES", "Acting", "Algorithm"]

MOST_OUTCOMES = 64
"""Of one action in one state."""


class Algorithm(Enum):
    """How the target of an update is made from the next state's row."""

    Q_LEARNING = "q-learning"
    SARSA = "sarsa"
    EXPECTED_SARSA = "expected-sarsa"
    DOUBLE_Q_LEARNING = "double-q"

    @classmethod
    def parse(cls, name: str | Algorithm) -> Algorithm:
        """Return the algorithm of a name; raises ConfigError where there is none."""
        try:
            return cls(name)
        except ValueError:
            raise ConfigError(
                f"algorithm is {shown(name)}; it must be one of {', '.join(a.value for a in cls)}"
            ) from None


@dataclass(frozen=True, slots=True)
class Acting:
    """What a device has that acts by itself: agents, their algorithm, and room for a world.

    Parameters
    ----------
    agents : int
        P, 1..256.
    algorithm : Algorithm or str
        How targets are made.
    shared_table : bool
        All agents learn one table, in turns; else each has its own.
    outcomes : int
        What one action in one state can lead to, at most: a power of two, 1..64.
    starts : int
        Start states, at most: a power of two, 1..65536.
    """

    agents: int = 1
    algorithm: Algorithm = Algorithm.Q_LEARNING
    shared_table: bool = False
    outcomes: int = 1
    starts: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "agents", integer("acting.agents", self.agents, 1, 256))
        object.__setattr__(self, "algorithm", Algorithm.parse(self.algorithm))
        if not isinstance(self.shared_table, bool):
            raise ConfigError(
                f"acting.shared_table is {shown(self.shared_table)}; it must be true or false"
            )
        for name, most in (("outcomes", MOST_OUTCOMES), ("starts", 65536)):
            value = integer(f"acting.{name}", getattr(self, name), 1, most)
            object.__setattr__(self, name, value)
            if value & (value - 1):
                raise ConfigError(
                    f"acting.{name} is {value}; it must be a power of two from 1 to {most}"
                )

    @property
    def tables(self) -> tuple[int, ...]:
        """Axes of all tables before (S, A): P if agents have their own, then Double Q-learning's 2."""
        own = () if self.agents == 1 or self.shared_table else (self.agents,)
        return (*own, 2) if self.algorithm is Algorithm.DOUBLE_Q_LEARNING else own
