"""Sites: the tiles of a chip that a lane occupies."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from qstep_fpga.families.ecp5.islands.grid import LOGIC, Grid, Tile

__all__ = ["Names", "Room", "Site", "contents", "extent", "near", "room_of"]

Names = tuple[str, ...]
"""Names of a tile's resources."""

Room = Mapping[str, int]
"""Amount of each resource."""


@dataclass(frozen=True, slots=True)
class Site:
    """Tiles for one lane.

    Attributes
    ----------
    column, row : int
        The site's leftmost column and lowest row.
    shape : frozenset of tuple
        The site's tiles, relative to `column` and `row`.
    """

    column: int
    row: int
    shape: frozenset[Tile]

    def __contains__(self, tile: Tile) -> bool:
        return (tile[0] - self.column, tile[1] - self.row) in self.shape

    def __iter__(self) -> Iterator[Tile]:
        return ((self.column + x, self.row + y) for x, y in self.shape)

    def __len__(self) -> int:
        return len(self.shape)

    def beyond(self, other: Site) -> Tile:
        """Return the offset from another site, in columns and rows."""
        return self.column - other.column, self.row - other.row


def extent(grid: Grid) -> frozenset[Tile]:
    """Return the tiles of the smallest rectangle around all logic of a chip."""
    columns, rows = zip(*grid.tiles(LOGIC), strict=True)
    return frozenset(
        itertools.product(range(min(columns), max(columns) + 1), range(min(rows), max(rows) + 1))
    )


def near(tiles: Collection[Tile], distance: int) -> set[Tile]:
    """Return tiles and all tiles within a distance of one of them, in columns and in rows."""
    away = range(-distance, distance + 1)
    return {(column + x, row + y) for column, row in tiles for x in away for y in away}


def contents(grid: Grid) -> Mapping[Tile, Names]:
    """Return the resources of each tile."""
    found: defaultdict[Tile, Names] = defaultdict(tuple)
    for kind, bels in grid.places.items():
        for bel in bels:
            found[bel.tile] += (bel.name if kind != LOGIC else LOGIC,)
    return found


def room_of(tiles: Iterable[Names]) -> Room:
    """Return the amount of each resource in tiles."""
    names = list(itertools.chain.from_iterable(tiles))
    logic = names.count(LOGIC)
    memories = sum(name.startswith("EBR") for name in names)
    return {"LUT4": logic, "FF": logic, "block RAM": memories, "DSP": len(names) - logic - memories}
