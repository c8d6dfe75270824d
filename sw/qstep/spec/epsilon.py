"""Exploration: epsilon is constant, or decays over steps, episodes or a share of the run.

On the device, it is an unsigned number with :data:`EPSILON_BITS` fractional bits, and its upper bits are
compared with a draw (:func:`threshold`). A counter counts units (steps or episodes). When the counter
reaches `period`, it restarts, and epsilon decays:

    epsilon = max(end, epsilon - decrement - (epsilon >> shift))

where a shift of 0 disables the last term. A linear schedule has a decrement, and an exponential
schedule has a shift.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from qstep.errors import ConfigError
from qstep.spec.checks import assign, instance, integer, one_of, real
from qstep.spec.random import DRAW_BITS

__all__ = [
    "EPSILON_BITS",
    "FALLING",
    "KINDS",
    "UNITS",
    "Epsilon",
    "EpsilonCode",
    "checked_share",
    "falling_linearly",
    "threshold",
]

EPSILON_BITS = 24
"""Fractional bits of epsilon on the device: 1 is 2^24."""

_MOST_OVER = 1 << 32
"""Maximum number of units over which epsilon can decay."""

KINDS = ("constant", "linear", "exponential")
UNITS = ("steps", "episodes", "run")

_ONE = 1 << EPSILON_BITS
_MOST_PERIOD = (1 << 16) - 1
_FINE = 256
"""Smallest decrement that rounding changes by less than 0.2 %."""

_SHIFTS = range(1, 13)


def threshold(epsilon: int) -> int:
    """Return the threshold, 0..65536; an agent explores if its 16-bit draw is below it."""
    return epsilon >> (EPSILON_BITS - DRAW_BITS)


def falling_linearly(start: float, end: float, over: float, done: int) -> float:
    """Return epsilon after `done` of the `over` episodes or steps of its decay.

    All arguments are plain numbers, because Numba also compiles this function.
    """
    if done >= over:
        return end
    return start + (end - start) * (done / over)


class EpsilonCode(NamedTuple):
    """A schedule as stored on the device.

    Attributes
    ----------
    start, end : int
        Initial and final epsilon, 0..2^24.
    decrement : int
        Linear decay per period, 0..2^24.
    shift : int
        Shift of the exponential decay per period, 0..12; 0 for none.
    period : int
        Units per period, 1..65535.
    by_episodes : bool
        Whether the unit is an episode; otherwise it is a step.
    """

    start: int
    end: int
    decrement: int
    shift: int
    period: int
    by_episodes: bool


@dataclass(frozen=True, slots=True)
class Epsilon:
    """An exploration schedule: an agent's epsilon, and how it decays.

    Parameters
    ----------
    start, end : float
        Initial and final epsilon, 0..1; `end` must not exceed `start`. A constant epsilon is `start`.
    kind : str
        ``constant``, ``linear`` (reaches `end` after `over` units) or ``exponential`` (decreases by the
        same factor in every unit, to a hundredth of `start` after `over` units unless `end` is higher).
        If the host acts or a network learns, it must be constant or linear.
    over : int or float
        Length of the decay: 1..2^32 units, or a share of the run, 0..1. With a share of 0, epsilon is
        always `end`. Ignored if constant.
    unit : str
        ``steps`` or ``episodes`` of the agent, or ``run`` if `over` is a share of the run. Networks
        require ``run``. If the host acts, epsilon is constant within an episode.

    Raises
    ------
    ConfigError
        A value is illegal; the message names it and the legal range.

    Examples
    --------
    >>> Epsilon(1.0, 0.0, "linear", 0.5, "run").at(25, of=100)
    0.5
    """

    start: float = 0.1
    end: float = 0.0
    kind: str = "constant"
    over: float = 1
    unit: str = "steps"

    def __post_init__(self) -> None:
        one_of("epsilon kind", self.kind, KINDS)
        one_of("epsilon unit", self.unit, UNITS)
        start, end = real("epsilon start", self.start), real("epsilon end", self.end)
        if self.unit == "run":
            over = real("epsilon share", self.over)
        else:
            over = integer("epsilon over", self.over, 1, _MOST_OVER)
        if end > start:
            raise ConfigError(f"epsilon end is {end}; it must not be above epsilon start, {start}")
        if self.kind == "constant" and end not in (0, start):
            raise ConfigError(
                f"epsilon end is {end}, but a constant epsilon stays at its start, {start}; give the "
                "kind 'linear' or 'exponential'"
            )
        assign(self, start=start, end=end, over=over)

    def counted(self, length: int, unit: str) -> Epsilon:
        """Return the schedule of a run of `length` steps or episodes, in units that a device can count.

        Raises ConfigError if the share of the run is more than 2^32 units.
        """
        if self.unit != "run":
            return self
        over = int(self.over * length)
        if self.kind == "constant":
            return Epsilon(self.start)
        if over == 0 or self.start == self.end:
            return Epsilon(self.end)
        if over > _MOST_OVER:
            raise ConfigError(
                f"epsilon share is {self.over:g}, which is {over} of the {length} {unit}; it must be "
                f"at most {_MOST_OVER} {unit}"
            )
        return replace(self, over=over, unit=unit)

    def shared(self, episodes: int) -> Epsilon:
        """Return the schedule as a share of a run of `episodes`, as required if the host acts.

        Raises ConfigError if the schedule is exponential or counts steps.
        """
        if self.kind == "linear" and self.unit == "episodes":
            return replace(self, over=min(1.0, self.over / episodes), unit="run")
        return checked_share(self)

    def line(self, of: int) -> tuple[float, float, float]:
        """Return start, end and length of the decay in units, for a run of `of` units.

        The schedule must pass :func:`checked_share`.
        """
        if self.kind == "constant":
            return self.start, self.start, 0.0
        return self.start, self.end, self.over * of

    def at(self, done: int, of: int) -> float:
        """Return epsilon after `done` of the `of` episodes or steps of a run, for the unit ``run``."""
        return falling_linearly(*self.line(of), done)

    def to_dict(self) -> dict[str, float]:
        """Return start, end and share of the run, as in reports and checkpoints."""
        return dict(zip(("start", "end", "share"), self.line(1), strict=True))

    @property
    def code(self) -> EpsilonCode:
        """The closest schedule with integer parameters.

        Raises
        ------
        ConfigError
            The unit is ``run``, so the schedule depends on the length of a run.
        """
        if self.unit == "run" and self.kind != "constant":
            raise ConfigError(
                "epsilon unit is 'run'; a device counts steps or episodes, and Epsilon.counted returns "
                "the schedule of a run whose length is known"
            )
        start, end = (math.floor(value * _ONE + 0.5) for value in (self.start, self.end))
        by_episodes = self.unit == "episodes"
        if self.kind == "constant" or start == end:
            return EpsilonCode(start, start, 0, 0, 1, by_episodes)
        over = int(self.over)
        if self.kind == "linear":
            wanted = math.ceil(_FINE * over / (start - end))
            period = min(max(1, wanted), _MOST_PERIOD, over)
            decrement = max(1, round((start - end) * period / over))
            return EpsilonCode(start, end, decrement, 0, period, by_episodes)
        # exponential: each period, a whole number of units, multiplies epsilon by 1 - 2^-shift
        rate = math.log(100) / over
        exact = {shift: -math.log1p(-(2.0**-shift)) / rate for shift in _SHIFTS}
        periods = {shift: min(max(1, round(exact[shift])), _MOST_PERIOD) for shift in _SHIFTS}

        def error(shift: int) -> float:
            return abs(math.log(periods[shift] / exact[shift])) + 2.0**-shift / 16

        shift = min(_SHIFTS, key=error)
        return EpsilonCode(start, end, 0, shift, periods[shift], by_episodes)


FALLING = Epsilon(1.0, 0.05, "linear", 0.5, "run")
"""Default schedule of runs and sweeps."""


def checked_share(epsilon: object) -> Epsilon:
    """Return `epsilon` if the host and networks support it; otherwise raise ConfigError."""
    epsilon = instance("epsilon", epsilon, Epsilon)
    if epsilon.kind == "constant" or (epsilon.kind == "linear" and epsilon.unit == "run"):
        return epsilon
    raise ConfigError(
        f"epsilon is {epsilon.kind} by {epsilon.unit}; where the host acts or a network learns it must "
        "be constant, or linear by a share of the run (unit 'run')"
    )
