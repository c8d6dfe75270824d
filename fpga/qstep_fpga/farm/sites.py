"""The equal sites of a chip: rectangles with the same places in the same spots."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from qstep_fpga.farm.grid import LOGIC, Grid, Tile

__all__ = ["Rectangle", "Shape", "extent", "shapes"]


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
class Shape:
    """Sites of one shape, none overlapping another.

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


def shapes(grid: Grid) -> Iterator[Shape]:
    """Yield the sites of each shape of which there are several.

    They are so many columns and rows of block RAMs, or as wide or as high as the chip.
    """
    whole = extent(grid)
    columns = sorted({bel.column for bel in grid.places["block RAM"] if bel.name == "EBR0"})
    rows = sorted({row for _, row in grid.tiles("block RAM")})
    contents: dict[Tile, tuple[str, ...]] = defaultdict(tuple)
    for kind, bels in grid.places.items():
        for bel in bels:
            contents[bel.tile] += (bel.name if kind != LOGIC else LOGIC,)
    across, down = _period(columns), _period(rows)
    widths = [n * across for n in range(1, len(columns) // 2 + 1)]
    heights = [n * down for n in range(1, len(rows))]
    for height in (*heights, whole.height):
        strips = _strips(contents, whole, height)
        for width in (*widths, whole.width):
            starts = [whole.column] if width == whole.width else columns
            found = list(_repeated(strips, starts, width, height))
            if found:
                yield max(found, key=lambda shape: (len(shape.sites), shape.room[LOGIC]))


def _period(places: list[int]) -> int:
    """Return the commonest distance of neighbours."""
    return Counter(after - before for before, after in pairwise(places)).most_common(1)[0][0]


def _strips(
    contents: Mapping[Tile, tuple[str, ...]], whole: Rectangle, height: int
) -> dict[Tile, tuple[tuple[str, ...], ...]]:
    """Return what each strip of so many tiles, one above the other, has; by its first tile."""
    return {
        (column, row): tuple(contents.get((column, row + y), ()) for y in range(height))
        for column in range(whole.column, whole.column + whole.width)
        for row in range(whole.row, whole.row + whole.height - height + 1)
    }


def _repeated(
    strips: Mapping[Tile, tuple[tuple[str, ...], ...]],
    starts: Sequence[int],
    width: int,
    height: int,
) -> Iterator[Shape]:
    """Yield the rectangles of one size that repeat, those of each content by themselves."""
    alike: defaultdict[tuple[int, ...], list[Rectangle]] = defaultdict(list)
    number: dict[tuple[tuple[str, ...], ...], int] = {}
    for row in sorted({row for _, row in strips}):
        for column in starts:
            tiles = [(column + x, row) for x in range(width)]
            if tiles[-1] in strips:
                pattern = tuple(number.setdefault(strips[tile], len(number)) for tile in tiles)
                alike[pattern].append(Rectangle(column, row, width, height))
    kinds = list(number)
    for pattern, rectangles in alike.items():
        chosen: list[Rectangle] = []
        for rectangle in rectangles:
            if not any(rectangle.overlaps(other) for other in chosen):
                chosen.append(rectangle)
        if len(chosen) > 1:
            yield Shape(
                _snake(chosen),
                _room(name for strip in pattern for names in kinds[strip] for name in names),
            )


def _room(names: Iterable[str]) -> dict[str, int]:
    count = Counter(names)
    memories = sum(number for name, number in count.items() if name.startswith("EBR"))
    logic = count.pop(LOGIC, 0)
    return {"LUT4": logic, "FF": logic, "block RAM": memories, "DSP": count.total() - memories}


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
