"""Routes as nextpnr writes them: a tree of wires, each with the switch that leads to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from qstep_fpga.families.ecp5.islands.grid import Tile

__all__ = ["FIRM", "GLOBAL", "NO_ROUTE", "ends", "firm", "reached", "shifted", "steps", "tile_of"]

NO_ROUTE = " "
"""An empty route; nextpnr raises an exception if the text itself is empty."""

GLOBAL = "$glbnet$"
"""Prefix of the names of global clock nets, which the router does not route."""

FIRM = 5
"""Strength of a wire that the router does not rip up: nextpnr's STRENGTH_LOCKED."""

_WHERE = re.compile(r"X(\d+)/Y(\d+)/")
_SWITCH = re.compile(r"X(\d+)/Y(\d+)/(-?\d+)_(-?\d+)_(\w+)->(-?\d+)_(-?\d+)_(\w+)")


def steps(route: str) -> Iterator[tuple[str, str, str]]:
    """Yield a route's wires, each with its switch and strength; the driver's wire has no switch."""
    words = route.strip().split(";")
    return zip(words[0::3], words[1::3], words[2::3], strict=False)


def ends(switch: str) -> tuple[str, str] | None:
    """Return the wires that a switch leads from and to, or None if it is not a switch."""
    match = _SWITCH.fullmatch(switch)
    if match is None:
        return None
    column, row = int(match[1]), int(match[2])
    before, after = (
        f"X{column + int(match[group])}/Y{row + int(match[group + 1])}/{match[group + 2]}"
        for group in (3, 6)
    )
    return before, after


def tile_of(wire: str) -> Tile:
    """Return the tile that a wire is named after."""
    column, row, _ = wire.split("/", 2)
    return int(column[1:]), int(row[1:])


def shifted(route: str, by: Tile) -> str:
    """Return a route moved by some columns and rows."""
    return _WHERE.sub(lambda at: f"X{int(at[1]) + by[0]}/Y{int(at[2]) + by[1]}/", route)


def firm(route: str) -> str:
    """Return a route with a strength that prevents the router from changing it."""
    return ";".join(f"{wire};{switch};{FIRM}" for wire, switch, _ in steps(route)) or NO_ROUTE


def reached(wires: Iterable[str], after: Mapping[str, Sequence[str]]) -> set[str]:
    """Return wires and all wires reachable from them; `after` gives each wire's direct successors."""
    found = set(wires)
    front = list(found)
    while front:
        for wire in after.get(front.pop(), ()):
            if wire not in found:
                found.add(wire)
                front.append(wire)
    return found
