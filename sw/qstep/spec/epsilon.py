"""An agent's epsilon: constant, or falling linearly or exponentially, by steps or by episodes.

On the device it is an unsigned fraction of :data:`EPSILON_BITS` bits, of which the upper 16 decide
(:func:`threshold`). A counter counts units, which are steps or episodes. When it reaches `period` it
starts again and

    epsilon = max(end, epsilon - decrement - (epsilon >> shift))

where a shift of 0 subtracts nothing. A linear schedule has a decrement, an exponential one a shift.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from qstep.errors import ConfigError
from qstep.spec.checks import integer, real, shown
from qstep.spec.random import DRAW_BITS

__all__ = [
    "EPSILON_BITS",
    "KINDS",
    "MOST_OVER",
    "UNITS",
    "Epsilon",
    "EpsilonCode",
    "EpsilonSchedule",
    "check_falling",
    "falling_linearly",
    "threshold",
]


@dataclass(frozen=True, slots=True)
class EpsilonSchedule:
    """An epsilon that falls linearly during a share of a run, then stays.

    A run with a table is counted in episodes, and epsilon is constant within one; a run with a network
    is counted in steps.

    Parameters
    ----------
    start : float
        First epsilon, 0..1.
    end : float
        Last epsilon, 0..1, and at most `start`.
    share : float
        Share of the run during which epsilon falls, 0..1; 0 means `end` from the beginning.

    Raises
    ------
    ConfigError
        A value is out of range, or `end` is above `start`.

    Examples
    --------
    >>> EpsilonSchedule(1.0, 0.0, 0.5).at(25, of=100)
    0.5
    """

    start: float = 1.0
    end: float = 0.05
    share: float = 0.5

    def __post_init__(self) -> None:
        for name in ("start", "end", "share"):
            object.__setattr__(self, name, real(f"epsilon {name}", getattr(self, name)))
        check_falling(self.start, self.end)

    @classmethod
    def of(cls, epsilon: Epsilon, episodes: int) -> EpsilonSchedule:
        """Return the schedule of an agent's epsilon over so many episodes.

        Raises
        ------
        ConfigError
            It is exponential, or counts steps.
        """
        if epsilon.kind == "constant":
            return cls(epsilon.start, epsilon.start, 0.0)
        if epsilon.kind != "linear" or epsilon.unit != "episodes":
            raise ConfigError(
                f"epsilon is {epsilon.kind} by {epsilon.unit}; where the host acts it must be constant, "
                "or linear by episodes"
            )
        return cls(epsilon.start, epsilon.end, min(1.0, epsilon.over / episodes))

    def at(self, done: int, of: int) -> float:
        """Return epsilon after `done` of the `of` episodes or steps of a run."""
        return falling_linearly(self.start, self.end, self.share * of, done)


def check_falling(start: float, end: float) -> None:
    """Raise ConfigError if an epsilon would rise from `start` to `end`."""
    if end > start:
        raise ConfigError(f"epsilon end is {end}; it must not be above epsilon start, {start}")


def falling_linearly(start: float, end: float, over: float, done: int) -> float:
    """Return epsilon after `done` of the `over` episodes or steps in which it falls.

    It takes only plain numbers, because Numba compiles it too.
    """
    if done >= over:
        return end
    return start + (end - start) * (done / over)


EPSILON_BITS = 24
"""Fractional bits of epsilon on the device: 1 is 2^24."""

MOST_OVER = 1 << 32
"""Most units in which an epsilon can fall."""

KINDS = ("constant", "linear", "exponential")
UNITS = ("steps", "episodes")

_ONE = 1 << EPSILON_BITS
_MOST_PERIOD = (1 << 16) - 1
_FINE = 256
"""Decrement from which rounding it changes it by less than 0.2 %."""

_SHIFTS = range(1, 13)


def threshold(epsilon: int) -> int:
    """Return the threshold, 0..65536, below which a draw of 16 bits makes an agent explore."""
    return epsilon >> (EPSILON_BITS - DRAW_BITS)


class EpsilonCode(NamedTuple):
    """A schedule in the device's form.

    Attributes
    ----------
    start, end : int
        0..2^24.
    decrement : int
        0..2^24.
    shift : int
        0..12; 0 for none.
    period : int
        1..65535 units.
    by_episodes : bool
        The unit is an episode, otherwise a step.
    """

    start: int
    end: int
    decrement: int
    shift: int
    period: int
    by_episodes: bool


@dataclass(frozen=True, slots=True)
class Epsilon:
    """How much an agent explores.

    Parameters
    ----------
    start, end : float
        First and last epsilon, 0..1, `end` not above `start`. Constant schedules use only `start`.
    kind : str
        ``constant``, ``linear`` (reaches `end` after `over` units) or ``exponential`` (falls by the same
        factor in every unit, to a hundredth of `start` after `over` units unless `end` is higher).
    over : int
        Units, 1..2^32; unused by a constant schedule.
    unit : str
        ``steps`` or ``episodes``, the agent's own.

    Raises
    ------
    ConfigError
        A value is illegal; the message names it and the legal range.
    """

    start: float = 0.1
    end: float = 0.0
    kind: str = "constant"
    over: int = 1
    unit: str = "steps"

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            object.__setattr__(self, name, real(f"epsilon {name}", getattr(self, name)))
        for name, names in (("kind", KINDS), ("unit", UNITS)):
            given = getattr(self, name)
            if not isinstance(given, str) or given not in names:
                raise ConfigError(
                    f"epsilon {name} is {shown(given)}; it must be one of {', '.join(names)}"
                )
        object.__setattr__(self, "over", integer("epsilon over", self.over, 1, MOST_OVER))
        if self.kind != "constant":
            check_falling(self.start, self.end)

    @property
    def code(self) -> EpsilonCode:
        """The schedule in integers, as closely as possible."""
        start, end = (math.floor(value * _ONE + 0.5) for value in (self.start, self.end))
        by_episodes = self.unit == "episodes"
        if self.kind == "constant" or start == end:
            return EpsilonCode(start, start, 0, 0, 1, by_episodes)
        if self.kind == "linear":
            wanted = math.ceil(_FINE * self.over / (start - end))
            period = min(max(1, wanted), _MOST_PERIOD, self.over)
            decrement = max(1, round((start - end) * period / self.over))
            return EpsilonCode(start, end, decrement, 0, period, by_episodes)
        # exponential: a period, which is a whole number of units, subtracts 2^-shift of epsilon
        rate = math.log(100) / self.over

        def units(shift: int) -> float:
            return -math.log1p(-(2.0**-shift)) / rate

        def error(shift: int) -> float:
            period = min(max(1, round(units(shift))), _MOST_PERIOD)
            return abs(math.log(period / units(shift))) + 2.0**-shift / 16

        shift = min(_SHIFTS, key=error)
        period = min(max(1, round(units(shift))), _MOST_PERIOD)
        return EpsilonCode(start, end, 0, shift, period, by_episodes)
