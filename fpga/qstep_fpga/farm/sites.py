"""The equal sites of a chip: rectangles with the same places in the same spots."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from qstep.errors import BuildError
from qstep_fpga.farm.grid import LOGIC, Grid, Tile

__all__ = ["FILL", "Layout", "Rectangle", "extent", "layout"]

FILL = {"LUT4": 0.85, "FF": 0.75}
"""How much of a site's logic a lane may take: with more the placer finds no place, or a slow one."""

_LARGEST = 4
"""Columns of block RAMs, and rows of them, that one site spans at most."""


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
class Layout:
    """Sites for lanes, none overlapping another.

    Attributes
    ----------
    sites : tuple of Rectangle
        In the order of a snake: each but the first is beside or above the one before.
    room : dict
        How many of each resource one of them has.
    """

    sites: tuple[Rectangle, ...]
    room: dict[str, int]


def extent(grid: Grid) -> Rectangle:
    """Return the rectangle that all logic of a chip is in."""
    tiles = grid.tiles(LOGIC)
    columns, rows = {column for column, _ in tiles}, {row for _, row in tiles}
    first = min(columns), min(rows)
    return Rectangle(*first, max(columns) - first[0] + 1, max(rows) - first[1] + 1)


def layout(grid: Grid, need: Mapping[str, int], lanes: int, name: str) -> Layout:
    """Return sites for `lanes` lanes, of the shape of which the chip holds the most.

    Parameters
    ----------
    grid : Grid
    need : dict
        Of one lane: ``LUT4``, ``FF``, ``block RAM``, ``DSP``.
    lanes : int
        1 and more.
    name : str
        Of the chip, for errors.

    Raises
    ------
    BuildError
        A lane needs more than the largest site has, or there are too few sites.
    """
    shapes = list(_shapes(grid))
    fitting = [shape for shape in shapes if not _lacks(need, shape.room)]
    if not fitting:
        largest = max(shapes, key=lambda shape: (shape.room[LOGIC], len(shape.sites)))
        raise BuildError(f"a lane fits no site of {name}: {_shortage(need, largest.room)}")
    best = max(fitting, key=lambda shape: (len(shape.sites), -shape.room[LOGIC]))
    if len(best.sites) < lanes:
        raise BuildError(
            f"{lanes} lanes do not fit {name}: it has {len(best.sites)} equal sites for a lane of this "
            f"size, {lanes - len(best.sites)} too few. {_next_smaller(need, shapes, lanes)}"
            f"The largest farm has {len(best.sites)} lanes"
        )
    return Layout(best.sites[:lanes], best.room)


def _next_smaller(need: Mapping[str, int], shapes: list[Layout], lanes: int) -> str:
    """Say what a lane has too much of for the largest sites of which there are enough."""
    enough = [shape for shape in shapes if len(shape.sites) >= lanes]
    if not enough:
        return ""
    largest = max(enough, key=lambda shape: (-len(_lacks(need, shape.room)), shape.room[LOGIC]))
    return f"Of smaller sites there are {len(largest.sites)}: {_shortage(need, largest.room)}. "


def _usable(room: Mapping[str, int]) -> dict[str, int]:
    return {kind: math.floor(there * FILL.get(kind, 1)) for kind, there in room.items()}


def _lacks(need: Mapping[str, int], room: Mapping[str, int]) -> dict[str, int]:
    """Return what a lane needs more than a site has, and how much more."""
    over = {kind: need.get(kind, 0) - there for kind, there in _usable(room).items()}
    return {kind: number for kind, number in over.items() if number > 0}


def _shortage(need: Mapping[str, int], room: Mapping[str, int]) -> str:
    return "; ".join(
        f"{kind}: a lane needs {need[kind]:,}, {over:,} more than the {_usable(room)[kind]:,} that can "
        "be used of one"
        for kind, over in _lacks(need, room).items()
    )


def _shapes(grid: Grid) -> Iterator[Layout]:
    """Yield the best layout of each shape: so many columns and rows of block RAMs, that repeat."""
    columns = sorted({bel.column for bel in grid.places["block RAM"] if bel.name == "EBR0"})
    rows = sorted(grid.tiles("block RAM"), key=lambda tile: tile[1])
    across = _period(columns)
    down = _period(sorted({row for _, row in rows}))
    contents: dict[Tile, tuple[str, ...]] = defaultdict(tuple)
    for kind, bels in grid.places.items():
        for bel in bels:
            contents[bel.tile] += (bel.name if kind != LOGIC else LOGIC,)
    last = max(column for column, _ in contents), max(row for _, row in contents)
    for width in range(across, _LARGEST * across + 1, across):
        for height in range(down, _LARGEST * down + 1, down):
            found = list(_repeated(contents, last, width, height))
            if found:
                yield max(found, key=lambda shape: (len(shape.sites), shape.room[LOGIC]))


def _period(places: list[int]) -> int:
    """Return the commonest distance of neighbours."""
    return Counter(after - before for before, after in pairwise(places)).most_common(1)[0][0]


def _repeated(
    contents: Mapping[Tile, tuple[str, ...]], last: Tile, width: int, height: int
) -> Iterator[Layout]:
    """Yield the layouts of rectangles of one size that repeat, one for each content."""
    alike: dict[frozenset[tuple[Tile, tuple[str, ...]]], list[Rectangle]] = defaultdict(list)
    # Rectangles whose first column has the first block RAM of a group: the others hold the same.
    for row in range(last[1] - height + 2):
        for column in range(last[0] - width + 2):
            first = [contents.get((column, row + y), ()) for y in range(height)]
            if "EBR0" not in [name for names in first for name in names]:
                continue
            rectangle = Rectangle(column, row, width, height)
            pattern = frozenset(
                ((x, y), names)
                for x in range(width)
                for y in range(height)
                if (names := contents.get((column + x, row + y)))
            )
            alike[pattern].append(rectangle)
    for pattern, rectangles in alike.items():
        chosen: list[Rectangle] = []
        for rectangle in rectangles:
            if not any(rectangle.overlaps(other) for other in chosen):
                chosen.append(rectangle)
        yield Layout(_snake(chosen), _room(pattern))


def _room(pattern: frozenset[tuple[Tile, tuple[str, ...]]]) -> dict[str, int]:
    names = [name for _, content in pattern for name in content]
    logic = names.count(LOGIC)
    memories = sum(name.startswith("EBR") for name in names)
    return {"LUT4": logic, "FF": logic, "block RAM": memories, "DSP": len(names) - logic - memories}


def _snake(rectangles: list[Rectangle]) -> tuple[Rectangle, ...]:
    """Return them column by column, up and down in turns."""
    columns = sorted({rectangle.column for rectangle in rectangles})
    return tuple(
        rectangle
        for number, column in enumerate(columns)
        for rectangle in sorted(
            (r for r in rectangles if r.column == column),
            key=lambda r: r.row,
            reverse=bool(number % 2),
        )
    )
