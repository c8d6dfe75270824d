"""Bands of identical, adjacent sites: each site has the same cells in the same positions."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from qstep_fpga.families.ecp5.islands.grid import LOGIC, Grid, Tile
from qstep_fpga.families.ecp5.islands.sites import Names, Room, Site, room_of

__all__ = ["Band", "bands", "widths"]


@dataclass(frozen=True)
class Band:
    """Identical, adjacent sites.

    Attributes
    ----------
    sites : tuple of Site
        Sites from left to right, without overlap.
    room : dict
        Amount of each resource in one site.
    """

    sites: tuple[Site, ...]
    room: Room


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a site.

    Attributes
    ----------
    left, right : tuple of int
        Rows in the left half of the site's columns, and in the right half.
    above : tuple of int
        The first row above the site, in the left half and in the right half.
    """

    left: tuple[int, ...]
    right: tuple[int, ...]
    above: tuple[int, int]

    def shape(self, width: int) -> frozenset[Tile]:
        """Return the site's tiles, relative to its first column and lowest row."""
        return frozenset(
            (x, row - self.left[0])
            for half, rows in zip(_halves(width), (self.left, self.right), strict=True)
            for x, row in itertools.product(half, rows)
        )


@dataclass(frozen=True, slots=True)
class _Line:
    """Half a row of a site: its resources, and a number that is the same for identical halves."""

    kind: int
    room: Room


def widths(grid: Grid) -> list[int]:
    """Return the possible widths of sites, narrowest first, up to half the groups of block RAMs."""
    columns = _groups(grid)
    across = Counter(after - before for before, after in pairwise(columns)).most_common(1)[0][0]
    return [number * across for number in range(1, len(columns) // 2 + 1)]


def bands(
    grid: Grid,
    tiles: Mapping[Tile, Names],
    width: int,
    is_enough: Callable[[Room], bool],
    leaving: bool = False,
) -> tuple[Band, ...]:
    """Return the stack of bands with the most sites that fit on a chip.

    All bands have sites in the same columns, and each band is placed as low as possible. A site occupies
    whole rows, starting where the site below it ends.

    Parameters
    ----------
    grid : Grid
    tiles : dict
        Contents of the chip's tiles.
    width : int
        Width of the sites, in tiles.
    is_enough : callable
        Function that returns whether a site's resources are enough for a lane.
    leaving : bool
        Whether a site may cede a row of block RAMs or multipliers to the site above it, if this gives
        more sites. In the left half of its columns, the site then ends below that row; in the right half
        it skips the row and continues above it.
    """
    columns, rows = zip(*grid.tiles(LOGIC), strict=True)
    starts = [start for start in _groups(grid) if start + width <= max(columns) + 1]
    end = max(rows) + 1
    special = {row for (_, row), names in tiles.items() if leaving and LOGIC not in names}
    growth = _Growth(tiles, starts, width, end, is_enough)

    @cache
    def above(left: int, right: int) -> tuple[Band, ...]:
        """Return the bands from these rows upwards."""
        if (found := growth.band(left, right, end)) is None:
            return ()
        top = found[0].above[1]
        every = [found]
        for row in sorted(special):
            if max(left, right) < row < top and (other := growth.band(left, right, row)):
                every.append(other)
        stacks = ((band, *above(*rows.above)) for rows, band in every)
        aligned = (_aligned(stack) for stack in stacks)
        return max(aligned, key=lambda stack: len(stack) * len(stack[0].sites))

    return above(min(rows), min(rows))


def _aligned(stack: Sequence[Band]) -> tuple[Band, ...]:
    """Return the bands, reduced to the sites in columns that all bands use."""
    columns = [{site.column for site in band.sites} for band in stack]
    common = set.intersection(*columns)
    return tuple(
        Band(tuple(site for site in band.sites if site.column in common), band.room)
        for band in stack
    )


class _Growth:
    """Grows sites of one width, row by row."""

    def __init__(
        self,
        tiles: Mapping[Tile, Names],
        starts: Sequence[int],
        width: int,
        end: int,
        is_enough: Callable[[Room], bool],
    ) -> None:
        self._tiles, self._starts, self._width = tiles, starts, width
        self._end, self._is_enough = end, is_enough
        self._lines: dict[tuple[int, int], tuple[_Line, ...]] = {}
        self._kinds: dict[tuple[Names, ...], _Line] = {}

    def band(self, left: int, right: int, leaves: int) -> tuple[_Rows, Band] | None:
        """Return the largest band of identical sites that start at these rows of both halves, or None.

        The sites exclude the row `leaves` and, in the left half, all rows above it. If `left` is below
        `right`, it is a row that the sites below excluded.
        """
        alike: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
        found: dict[tuple[int, ...], tuple[_Rows, Room]] = {}
        for column in self._starts:
            grown = self._site(column, left, right, leaves)
            if grown is not None:
                kinds, rows, room = grown
                found[kinds] = rows, room
                if not alike[kinds] or column - alike[kinds][-1] >= self._width:
                    alike[kinds].append(column)
        if not alike:
            return None
        most = max(alike, key=lambda kinds: len(alike[kinds]))
        rows, room = found[most]
        shape = rows.shape(self._width)
        return rows, Band(tuple(Site(at, left, shape) for at in alike[most]), room)

    def _site(
        self, column: int, left: int, right: int, leaves: int
    ) -> tuple[tuple[int, ...], _Rows, Room] | None:
        """Return a site's kinds of half rows, rows and resources, or None if it does not fit."""
        kinds: list[int] = []
        room: Counter[str] = Counter()
        own: tuple[list[int], list[int]] = [], []
        for row in range(left, self._end):
            in_right = row != leaves and (row >= right or row == left)
            for line, is_own, rows in zip(
                self._both(column, row), (row < leaves, in_right), own, strict=True
            ):
                if is_own:
                    kinds.append(line.kind)
                    rows.append(row)
                    room.update(line.room)
            if self._is_enough(room):
                above = min(row + 1, leaves), row + 1
                return tuple(kinds), _Rows(tuple(own[0]), tuple(own[1]), above), room
        return None

    def _both(self, column: int, row: int) -> tuple[_Line, ...]:
        """Return both halves of a row."""
        if (column, row) not in self._lines:
            self._lines[column, row] = tuple(
                self._line(tuple(self._tiles.get((column + x, row), ()) for x in half))
                for half in _halves(self._width)
            )
        return self._lines[column, row]

    def _line(self, tiles: tuple[Names, ...]) -> _Line:
        if tiles not in self._kinds:
            self._kinds[tiles] = _Line(len(self._kinds), room_of(tiles))
        return self._kinds[tiles]


def _halves(width: int) -> tuple[range, range]:
    """Return the columns of the left and right halves; the left half contains any middle column."""
    middle = (width + 1) // 2
    return range(middle), range(middle, width)


def _groups(grid: Grid) -> list[int]:
    """Return the columns in which a group of block RAMs begins."""
    return sorted({bel.column for bel in grid.places["block RAM"] if bel.name == "EBR0"})
