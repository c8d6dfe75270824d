"""How many lanes fit a chip, and in which of its sites."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from qstep.errors import BuildError
from qstep_fpga.farm.grid import LOGIC, Grid
from qstep_fpga.farm.sites import Band, Rectangle, bands, contents, widths

__all__ = ["FILLS", "Layout", "layout"]

FILLS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75)
"""How much of the logic of a site may be taken, and of what is beside them.

The less, the faster a lane is. With more than the last the placer does not come to an end: a lane of
1,476 LUT4 was not placed in a site of 1,872 in four minutes, and one of 2,139 not in 2,592 in six.
"""

Need = Mapping[str, int]


@dataclass(frozen=True)
class Layout:
    """Sites for lanes.

    Attributes
    ----------
    bands : tuple of Band
        Each with the sites of its lanes, which are placed alike; at least one.
    """

    bands: tuple[Band, ...]

    @property
    def sites(self) -> tuple[Rectangle, ...]:
        """All sites in the order of a snake: each but the first is beside or above the one before.

        The first column, downwards, is next to what is no lane, on the right; it may have fewer sites,
        the lowest ones.
        """
        found = [site for band in self.bands for site in band.sites]
        columns = sorted({site.column for site in found}, reverse=True)
        return tuple(
            site
            for number, column in enumerate(columns)
            for site in sorted(
                (site for site in found if site.column == column),
                key=lambda site: site.row,
                reverse=number % 2 == 0,
            )
        )


@dataclass(frozen=True)
class _Plan:
    """All sites of one width that have room for a lane, and what else there is."""

    bands: tuple[Band, ...]
    chip: Need
    fill: float

    @property
    def room(self) -> int:
        """How many lanes it has sites for."""
        return sum(len(band.sites) for band in self.bands)

    def takes(self, lanes: int, rest: Need) -> Layout | None:
        """Return the layout of so many lanes, or None if they do not fit with the rest beside them."""
        if lanes > self.room:
            return None
        # From left to right, so that one place is left for the rest.
        every = [site for band in self.bands for site in band.sites]
        chosen = set(sorted(every, key=lambda site: (site.column, site.row))[:lanes])
        used = [
            Band(tuple(site for site in band.sites if site in chosen), band.room)
            for band in self.bands
        ]
        beside = {
            kind: there - sum(len(band.sites) * band.room[kind] for band in used)
            for kind, there in self.chip.items()
        }
        if not _is_enough(beside, rest, self.fill):
            return None
        return Layout(tuple(band for band in used if band.sites))


def layout(grid: Grid, lane: Need, rest: Need, lanes: int, name: str) -> Layout:
    """Return sites for so many lanes, with as much room as can be.

    Parameters
    ----------
    grid : Grid
    lane, rest : dict
        What a lane needs, and all that is no lane: ``LUT4``, ``FF``, ``block RAM``, ``DSP``.
    lanes : int
        1 and more.
    name : str
        Of the chip, for errors.

    Raises
    ------
    BuildError
        They do not fit.
    """
    plans = []
    for plan in _plans(grid, lane):
        plans.append(plan)
        if found := plan.takes(lanes, rest):
            return found
    most = max((plan.room for plan in plans), default=0)
    fits = [n for n in range(1, most + 1) if any(plan.takes(n, rest) for plan in plans)]
    raise BuildError(
        f"{lanes} lanes do not fit {name}: {_why(grid, lane, rest, lanes, most)}. "
        f"Farms that fit: {_listed(fits) or 'none'}"
    )


def _plans(grid: Grid, lane: Need) -> Iterator[_Plan]:
    """Yield what can be done with a chip, the roomiest sites first, and the narrowest of these."""
    chip, tiles = _chip(grid), contents(grid)
    for fill in FILLS:
        for width in widths(grid):
            found = bands(grid, tiles, width, partial(_is_enough, need=lane, fill=fill))
            yield _Plan(found, chip, fill)


def _chip(grid: Grid) -> dict[str, int]:
    there = {kind: len(places) for kind, places in grid.places.items()}
    return {"LUT4": there[LOGIC], **there}


def _is_enough(room: Need, need: Need, fill: float) -> bool:
    return all(need.get(kind, 0) <= there for kind, there in _usable(room, fill).items())


def _usable(room: Need, fill: float) -> dict[str, int]:
    return {
        kind: math.floor(there * fill) if kind in ("LUT4", "FF") else there
        for kind, there in room.items()
    }


def _why(grid: Grid, lane: Need, rest: Need, lanes: int, most: int) -> str:
    """Say what is short on the whole chip; or, if nothing is, in its sites."""
    usable = _usable(_chip(grid), FILLS[-1])
    needed = {kind: lanes * lane.get(kind, 0) + rest.get(kind, 0) for kind in usable}
    short = [
        f"with the rest they need {needed[kind]:,} {kind}, {needed[kind] - there:,} more than the "
        f"{there:,} that they can have"
        for kind, there in usable.items()
        if needed[kind] > there
    ]
    return "; ".join(short) or (
        f"it has {most} equal sites that are large enough, and the rest goes beside them"
    )


def _listed(numbers: Sequence[int]) -> str:
    """Return numbers as text, "1 to 6, 8" for example."""
    starts = [number for number in numbers if number - 1 not in numbers]
    ends = [number for number in numbers if number + 1 not in numbers]
    return ", ".join(
        f"{first}" if first == last else f"{first} to {last}"
        for first, last in zip(starts, ends, strict=True)
    )
