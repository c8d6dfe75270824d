"""The exploration schedule."""

from __future__ import annotations

from dataclasses import dataclass

from qstep.checks import real

__all__ = ["EpsilonSchedule"]


@dataclass(frozen=True, slots=True)
class EpsilonSchedule:
    """Epsilon falls linearly over a share of the episodes, then stays.

    The budget of a run is counted in episodes, so the decay is too; epsilon is constant within one.

    Parameters
    ----------
    start, end : float
        First and last epsilon, each 0..1.
    share : float
        Share of the episodes over which it falls, 0..1; 0 means `end` from the first episode on.

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

    def at(self, episode: int, of: int) -> float:
        """Return epsilon of an episode, counted from 0, in a run of `of` episodes."""
        falling = self.share * of
        if episode >= falling:
            return self.end
        return self.start + (self.end - self.start) * (episode / falling)
