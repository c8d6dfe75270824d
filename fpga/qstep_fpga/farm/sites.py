"""The sites of a chip for lanes: bands of rectangles with the same places in the same spots."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from qstep_fpga.farm.grid import LOGIC, Grid, Tile

__all__ = ["Band", "Rectangle", "bands", "contents", "extent", "widths"]

Room = Mapping[str, int]
"""How many there are of each resource."""


@dataclass(frozen=True, slots=True)
class Rectangle:
    """Tiles from a column and a row on.

    Attributes
    ----------
    column, row : int
        Of its first tile.
    width, height : int
        In tiles.
    """

    column: int
    row: int
    width: int
    height: int

    def __contains__(self, tile: Tile) -> bool:
        return 0 <= tile[0] - self.column < self.width and 0 <= tile[1] - self.row < self.height

    def overlaps(self, other: Rectangle) -> bool:
        """Whether a tile is in both."""
        return (
            abs(2 * (self.column - other.column) + self.width - other.width)
            < self.width + other.width
            and abs(2 * (self.row - other.row) + self.height - other.height)
            < self.height + other.height
        )

    def beyond(self, other: Rectangle) -> Tile:
        """Return how many columns and rows it is further than another one."""
        return self.column - other.column, self.row - other.row


@dataclass(frozen=True)
class Band:
    """Equal sites side by side.

    Attributes
    ----------
    sites : tuple of Rectangle
        From left to right; none overlaps another.
    room : dict
        How much of each resource one of them has.
    """

    sites: tuple[Rectangle, ...]
    room: Room


def extent(grid: Grid) -> Rectangle:
    """Return the rectangle that all logic of a chip is in."""
    tiles = grid.tiles(LOGIC)
    columns, rows = {column for column, _ in tiles}, {row for _, row in tiles}
    first = min(columns), min(rows)
    return Rectangle(*first, max(columns) - first[0] + 1, max(rows) - first[1] + 1)


def widths(grid: Grid) -> list[int]:
    """Return how wide sites may be, the narrowest first: up to half the groups of block RAMs."""
    columns = _groups(grid)
    across = Counter(after - before for before, after in pairwise(columns)).most_common(1)[0][0]
    return [number * across for number in range(1, len(columns) // 2 + 1)]


def contents(grid: Grid) -> Mapping[Tile, tuple[str, ...]]:
    """Return what each tile has."""
    found: defaultdict[Tile, tuple[str, ...]] = defaultdict(tuple)
    for kind, bels in grid.places.items():
        for bel in bels:
            found[bel.tile] += (bel.name if kind != LOGIC else LOGIC,)
    return found


def bands(
    grid: Grid,
    tiles: Mapping[Tile, tuple[str, ...]],
    width: int,
    is_enough: Callable[[Room], bool],
) -> tuple[Band, ...]:
    """Return the most bands that a chip has room for, one above the other, each as low as can be.

    Parameters
    ----------
    grid : Grid
    tiles : dict
        Its :func:`contents`.
    width : int
        Of their sites, in tiles.
    is_enough : callable
        Whether a site has room for a lane.
    """
    whole = extent(grid)
    starts = [start for start in _groups(grid) if start + width <= whole.column + whole.width]
    found: list[Band] = []
    row, end = whole.row, whole.row + whole.height
    while band := _band(tiles, starts, width, range(row, end), is_enough):
        found.append(band)
        row += band.sites[0].height
    return tuple(found)


def _groups(grid: Grid) -> list[int]:
    """Return the columns in which a group of block RAMs begins."""
    return sorted({bel.column for bel in grid.places["block RAM"] if bel.name == "EBR0"})


def _band(
    there: Mapping[Tile, tuple[str, ...]],
    starts: Sequence[int],
    width: int,
    rows: range,
    is_enough: Callable[[Room], bool],
) -> Band | None:
    """Return the most equal sites from a row on, or None if no site has room enough."""
    alike: defaultdict[tuple[tuple[str, ...], ...], list[Rectangle]] = defaultdict(list)
    for column in starts:
        tiles: list[tuple[str, ...]] = []
        count: Counter[str] = Counter()
        for height, row in enumerate(rows, 1):
            line = [there.get((column + x, row), ()) for x in range(width)]
            tiles += line
            count.update(itertools.chain.from_iterable(line))
            if is_enough(_room(count)):
                site = Rectangle(column, rows.start, width, height)
                before = alike[tuple(tiles)]
                if not (before and before[-1].overlaps(site)):
                    before.append(site)
                break
    if not alike:
        return None
    tiles_of, sites = max(alike.items(), key=lambda entry: len(entry[1]))
    return Band(tuple(sites), _room(Counter(itertools.chain.from_iterable(tiles_of))))


def _room(names: Counter[str]) -> dict[str, int]:
    memories = sum(number for name, number in names.items() if name.startswith("EBR"))
    logic = names[LOGIC]
    others = names.total() - memories - logic
    return {"LUT4": logic, "FF": logic, "block RAM": memories, "DSP": others}
