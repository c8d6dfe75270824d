"""The exploration schedule."""

from __future__ import annotations

from dataclasses import dataclass

from qstep.checks import real
from qstep.errors import ConfigError

__all__ = ["EpsilonSchedule", "check_falling", "falling_linearly"]


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
