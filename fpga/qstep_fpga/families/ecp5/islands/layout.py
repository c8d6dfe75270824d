"""Determines how many lanes fit on a chip, and in which sites."""

from __future__ import annotations

import itertools
import math
from bisect import bisect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from qstep.errors import BuildError
from qstep_fpga.families.ecp5.islands.bands import Band, bands, widths
from qstep_fpga.families.ecp5.islands.grid import Grid, Tile
from qstep_fpga.families.ecp5.islands.sites import Names, Site, contents, room_of

__all__ = ["FILLS", "Layout", "layout"]

FILLS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8)
"""Maximum utilization of the logic in a site, and next to the sites; lower values are tried first.

Lower utilization makes a lane faster: 1,507 LUT4s reach 202 MHz in a site of 2,016, but only 171 MHz in
a site of 1,872.
"""

Need = Mapping[str, int]


@dataclass(frozen=True)
class Layout:
    """Sites for lanes.

    Attributes
    ----------
    bands : tuple of Band
        At least one band of sites; all lanes in a band have the same placement.
    beside : frozenset of tuple
        Tiles for all other logic, at the right edge of the chip.
    """

    bands: tuple[Band, ...]
    beside: frozenset[Tile]

    @property
    def sites(self) -> tuple[Site, ...]:
        """All sites in the order of the chain, which snakes through one band after another.

        The chain visits all sites of a band before the next band, because adjacent sites in a band are
        closer than sites in different bands. The last column may have sites only in the first bands, so
        the largest area for other logic is next to the last band. The chain therefore starts at the
        right end of the last band.
        """
        return tuple(
            site
            for number, band in enumerate(reversed(self.bands))
            for site in sorted(band.sites, key=lambda site: site.column, reverse=number % 2 == 0)
        )


@dataclass(frozen=True)
class _Plan:
    """All sites of one width that are large enough for a lane, and the contents of the chip."""

    bands: tuple[Band, ...]
    tiles: Mapping[Tile, Names]
    fill: float

    @property
    def room(self) -> int:
        """Number of lanes that fit in the sites."""
        return sum(len(band.sites) for band in self.bands)

    def takes(self, lanes: int, rest: Need) -> Layout | None:
        """Return the layout for a number of lanes, or None if lanes and other logic do not fit."""
        if lanes > self.room:
            return None
        every = [site for band in self.bands for site in band.sites]
        chosen = set(sorted(every, key=lambda site: (site.column, site.row))[:lanes])
        used = [
            Band(tuple(site for site in band.sites if site in chosen), band.room)
            for band in self.bands
        ]
        last = max(site.column for site in chosen)
        of_lanes = set(itertools.chain.from_iterable(chosen))
        beside = frozenset(tile for tile in self.tiles if tile[0] >= last) - of_lanes
        if not _is_enough(room_of(self.tiles[tile] for tile in beside), rest, self.fill):
            return None
        return Layout(tuple(band for band in used if band.sites), beside)

    def most(self, rest: Need) -> int:
        """Return how many lanes fit; each additional lane leaves fewer tiles for the other logic."""
        return bisect(range(1, self.room + 1), False, key=lambda n: self.takes(n, rest) is None)


def layout(grid: Grid, lane: Need, rest: Need, lanes: int, name: str) -> Layout:
    """Return the largest possible sites for a number of lanes.

    Parameters
    ----------
    grid : Grid
    lane, rest : dict
        Needs of a lane and of all other logic: ``LUT4``, ``FF``, ``block RAM``, ``DSP``.
    lanes : int
        Number of lanes, at least 1.
    name : str
        Name of the chip, for error messages.

    Raises
    ------
    BuildError
        The lanes do not fit.
    """
    plans = []
    for plan in _plans(grid, lane):
        plans.append(plan)
        if found := plan.takes(lanes, rest):
            return found
    sites = max(plan.room for plan in plans)
    most = max(plan.most(rest) for plan in plans)
    raise BuildError(
        f"{lanes} lanes do not fit {name}: {_why(plans[-1].tiles, lane, rest, lanes, sites)}. "
        f"At most {most} fit"
    )


def _plans(grid: Grid, lane: Need) -> Iterator[_Plan]:
    """Yield the possible plans for a chip: lowest utilization first, rectangles before other shapes."""
    tiles = contents(grid)
    for fill in FILLS:
        is_enough = partial(_is_enough, need=lane, fill=fill)
        for leaving, width in itertools.product((False, True), widths(grid)):
            found = bands(grid, tiles, width, is_enough, leaving)
            yield _Plan(found, tiles, fill)


def _is_enough(room: Need, need: Need, fill: float) -> bool:
    return all(need.get(kind, 0) <= there for kind, there in _usable(room, fill).items())


def _usable(room: Need, fill: float) -> dict[str, int]:
    return {
        kind: math.floor(there * fill) if kind in ("LUT4", "FF") else there
        for kind, there in room.items()
    }


def _why(tiles: Mapping[Tile, Names], lane: Need, rest: Need, lanes: int, most: int) -> str:
    """Explain why the lanes do not fit: the resources that are short, or else the number of sites."""
    usable = _usable(room_of(tiles.values()), FILLS[-1])
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
