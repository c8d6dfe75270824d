"""Functional coverage: named coverage points with bins that must all be hit."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

__all__ = ["Covergroup"]


class Covergroup:
    """Coverage points, each with a fixed set of bins and their hit counts.

    Examples
    --------
    >>> group = Covergroup({"saturation": ["none", "up", "down"]})
    >>> group.hit("saturation", "up", 3)
    >>> group.holes()
    ['saturation: none', 'saturation: down']
    """

    def __init__(self, points: Mapping[str, Iterable[Hashable]]) -> None:
        self.hits: dict[str, dict[Hashable, int]] = {}
        self.add(points)

    def add(self, points: Mapping[str, Iterable[Hashable]]) -> None:
        """Add points; existing points are not changed."""
        for point, bins in points.items():
            self.hits.setdefault(point, dict.fromkeys(bins, 0))

    def hit(self, point: str, which: Hashable, count: int = 1) -> None:
        """Count hits of a bin; raise KeyError for an unlisted bin, which is a bug in the bench."""
        self.hits[point][which] += int(count)

    def holes(self) -> list[str]:
        """Return the bins that were never hit, as ``point: bin``."""
        return [
            f"{point}: {_text(which)}"
            for point, bins in self.hits.items()
            for which, count in bins.items()
            if not count
        ]

    def summary(self) -> dict[str, tuple[int, int]]:
        """Return, for each point, the number of bins that were hit and the total number of bins."""
        return {
            point: (sum(count > 0 for count in bins.values()), len(bins))
            for point, bins in self.hits.items()
        }

    def report(self) -> dict[str, Any]:
        """Return the summary, the holes and the hits of each bin as plain values that can be stored."""
        hits = {
            point: {_text(which): count for which, count in bins.items()}
            for point, bins in self.hits.items()
        }
        return {"coverage": self.summary(), "holes": self.holes(), "hits": hits}

    def table(self) -> str:
        """Return the summary as text, one line per point."""
        lines = [f"{'point':<22} {'hit':>5} {'bins':>5}"]
        lines += [
            f"{point:<22} {hit:>5} {bins:>5}" for point, (hit, bins) in self.summary().items()
        ]
        return "\n".join(lines)


def _text(which: Hashable) -> str:
    return " ".join(str(part) for part in which) if isinstance(which, tuple) else str(which)
