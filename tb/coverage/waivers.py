"""Waivers for unreachable coverage points, with reasons, all in one file."""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tb.coverage.points import Point

__all__ = ["Verdict", "Waiver", "judged", "read_waivers"]

_FILE = Path(__file__).with_name("waivers.toml")


@dataclass(frozen=True, slots=True)
class Waiver:
    """A set of points that need not be hit.

    Parameters
    ----------
    file : str
        The source, relative to the repository.
    kind : str
        One of :data:`tb.coverage.points.KINDS`.
    what : str
        A regular expression that matches the whole text of a point; for a toggle, the text without the
        edge.
    reason : str
        Why these points cannot be reached.
    constant : bool
        Whether the reason is that these bits are constant in every simulated geometry, which yosys must
        confirm.
    """

    file: str
    kind: str
    what: str
    reason: str
    constant: bool = False

    def names(self, point: Point) -> bool:
        """Return whether the waiver applies to a point."""
        of_this = (point.file, point.kind) == (self.file, self.kind)
        return of_this and re.fullmatch(self.what, point.signal) is not None

    def __str__(self) -> str:
        return f"{self.file}, {self.kind} {self.what!r}"


def read_waivers() -> list[Waiver]:
    """Read the waivers from their file."""
    return [Waiver(**entry) for entry in tomllib.loads(_FILE.read_text(encoding="utf-8"))["waiver"]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of every point.

    Parameters
    ----------
    covered : list of Point
    waived : dict of Point to Waiver
    missed : list of Point
        Points that are neither covered nor waived.
    unneeded : list of str
        Waivers that match no point, and waivers that match a covered point, together with that point. A
        constant bit may have one edge at the start of simulation, so a bit counts as covered only with
        both edges.
    unproved : list of Point
        Points waived as constant bits that yosys cannot confirm to be constant.
    """

    covered: list[Point]
    waived: dict[Point, Waiver]
    missed: list[Point]
    unneeded: list[str]
    unproved: list[Point]

    @property
    def constants(self) -> int:
        """Number of points waived as constant bits and confirmed."""
        return sum(waiver.constant for waiver in self.waived.values()) - len(self.unproved)

    @property
    def passed(self) -> bool:
        """Whether all points are covered or waived, all waivers needed, and all constants confirmed."""
        return not (self.missed or self.unneeded or self.unproved)


def judged(
    hits: Counter[Point], waivers: Sequence[Waiver], is_constant: Callable[[Point], bool]
) -> Verdict:
    """Return the verdict on the hits; `is_constant` tests whether a toggle's bit is constant."""
    by_source: dict[tuple[str, str], list[Waiver]] = {}
    for waiver in waivers:
        by_source.setdefault((waiver.file, waiver.kind), []).append(waiver)

    def naming(point: Point) -> Iterable[Waiver]:
        return (w for w in by_source.get((point.file, point.kind), []) if w.names(point))

    half = {
        (point.file, point.line, point.column, point.signal)
        for point, count in hits.items()
        if point.kind == "toggle" and not count
    }
    verdict = Verdict([], {}, [], [], [])
    needed: set[Waiver] = set()
    unneeded: dict[Waiver, Point] = {}
    for point, count in sorted(hits.items()):
        which = list(naming(point))
        if count:
            verdict.covered.append(point)
            if (point.file, point.line, point.column, point.signal) not in half:
                for waiver in which:
                    unneeded.setdefault(waiver, point)
        elif which:
            verdict.waived[point] = which[0]
            needed.add(which[0])
            if which[0].constant and not is_constant(point):
                verdict.unproved.append(point)
        else:
            verdict.missed.append(point)
    for waiver in waivers:
        if waiver in unneeded:
            point = unneeded[waiver]
            verdict.unneeded.append(f"{waiver}: line {point.line}, {point.what!r}, is covered")
        elif waiver not in needed:
            verdict.unneeded.append(f"{waiver}: there is no such point")
    return verdict
