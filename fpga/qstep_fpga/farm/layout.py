"""How many lanes fit a chip, and in which of its sites."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from qstep.errors import BuildError
from qstep_fpga.farm.grid import LOGIC, Grid
from qstep_fpga.farm.sites import Rectangle, Shape, shapes

__all__ = ["FILL", "Layout", "layout"]

FILL = {"LUT4": 0.7, "FF": 0.75}
"""How much of the logic may be taken, of a site and beside them.

With more the placer leaves the site, or does not come to an end: in a site of 2,592 LUT4 a lane of 2,139
was not placed in six minutes; in one of 6,120 two were, in five.
"""

Need = Mapping[str, int]


@dataclass(frozen=True)
class Layout:
    """Sites for lanes.

    Attributes
    ----------
    sites : tuple of Rectangle
        In the order of a snake: each but the first is beside or above the one before.
    together : int
        Lanes in each of them.
    lane, rest : dict
        How much of each resource a lane may take, and what is no lane.
    """

    sites: tuple[Rectangle, ...]
    together: int
    lane: Need
    rest: Need

    def lacks(self, lane: Need, rest: Need) -> list[str]:
        """Say what is short, for a lane that needs so much, and all that is no lane."""
        return [
            f"{what} needs {need[kind]:,} {kind}, {need[kind] - there:,} more than the {there:,} that "
            "it can have"
            for what, need, room in (("a lane", lane, self.lane), ("the rest", rest, self.rest))
            for kind, there in room.items()
            if need.get(kind, 0) > there
        ]

    def tightness(self, lane: Need, rest: Need) -> float:
        """Return how much more is needed than is there; up to 1 all fits."""
        return max(
            need.get(kind, 0) / max(there, 0.5)
            for need, room in ((lane, self.lane), (rest, self.rest))
            for kind, there in room.items()
        )


def layout(grid: Grid, lane: Need, rest: Need, lanes: int, name: str) -> Layout:
    """Return sites for so many lanes: with as few together as can be, and as small as can be.

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
    chip = _chip(grid)
    there = sorted(shapes(grid), key=lambda shape: (shape.room["LUT4"], -len(shape.sites)))
    ways = list(_ways(there, chip, lanes))
    fitting = [way for way in ways if way.tightness(lane, rest) <= 1]
    if fitting:
        return min(fitting, key=lambda way: way.together)
    most = min(chip[kind] // number for kind, number in lane.items() if number)
    fits = [
        number
        for number in range(1, most + 1)
        if any(way.tightness(lane, rest) <= 1 for way in _ways(there, chip, number))
    ]
    raise BuildError(
        f"{lanes} lanes do not fit {name}: {_why(ways, lane, rest)}. "
        f"Farms that fit: {_listed(fits) or 'none'}"
    )


def _why(ways: Sequence[Layout], lane: Need, rest: Need) -> str:
    """Say what is short in the way that comes closest."""
    if not ways:
        return "no number of its equal sites divides them"
    near = min(ways, key=lambda way: way.tightness(lane, rest))
    lacks = "; ".join(near.lacks(lane, rest))
    return f"with {near.together} in each of {len(near.sites)} equal sites {lacks}"


def _chip(grid: Grid) -> dict[str, int]:
    there = {kind: len(places) for kind, places in grid.places.items()}
    return {"LUT4": there[LOGIC], **there}


def _ways(there: Sequence[Shape], chip: Need, lanes: int) -> Iterator[Layout]:
    """Yield the ways to lay so many lanes out; nothing is copied where all are in one site."""
    for shape in there:
        for sites in range(1, len(shape.sites) + 1):
            together, left = divmod(lanes, sites)
            if not left and (sites > 1 or lanes == 1):
                lane = {kind: room // together for kind, room in _usable(shape.room).items()}
                rest = {kind: chip[kind] - sites * room for kind, room in shape.room.items()}
                yield Layout(shape.sites[:sites], together, lane, _usable(rest))


def _usable(room: Need) -> dict[str, int]:
    return {kind: math.floor(there * FILL.get(kind, 1)) for kind, there in room.items()}


def _listed(numbers: Sequence[int]) -> str:
    """Return numbers as text, "1 to 6, 8" for example."""
    starts = [number for number in numbers if number - 1 not in numbers]
    ends = [number for number in numbers if number + 1 not in numbers]
    return ", ".join(
        f"{first}" if first == last else f"{first} to {last}"
        for first, last in zip(starts, ends, strict=True)
    )
