"""The exploration schedule."""

from __future__ import annotations

from dataclasses import dataclass

from qstep.checks import real

__all__ = ["EpsilonSchedule", "falling_linearly"]


@dataclass(frozen=True, slots=True)
class EpsilonSchedule:
    """An epsilon that falls linearly during a share of a run, then stays.

    A run with a table is counted in episodes, and epsilon is constant within one; a run with a network
    is counted in steps.

    Parameters
    ----------
    start, end : float
        First and last epsilon, each 0..1.
    share : float
        Share of the run during which epsilon falls, 0..1; 0 means `end` from the beginning.

    Raises
    ------
    ConfigError
        A value is out of range.

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

    def at(self, done: int, of: int) -> float:
        """Return epsilon after `done` of the `of` episodes or steps of a run."""
        return falling_linearly(self.start, self.end, self.share * of, done)


def falling_linearly(start: float, end: float, over: float, done: int) -> float:
    """Return epsilon after `done` of the `over` episodes or steps in which it falls.

    It takes only plain numbers, because Numba compiles it too.
    """
    if done >= over:
        return end
    return start + (end - start) * (done / over)
