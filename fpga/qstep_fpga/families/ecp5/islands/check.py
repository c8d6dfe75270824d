"""Checks that the tools skip for copied lanes: BELs, wires, connections, netlist.

The checks do not depend on how a farm was built: they read the final output of place and route, and
compare it with the placed lanes and the logic around them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qstep.errors import BuildError
from qstep_fpga.families.ecp5.islands.around import Around, Lane
from qstep_fpga.families.ecp5.islands.grid import Bel, parse
from qstep_fpga.families.ecp5.islands.routes import ends, reached, steps
from qstep_fpga.families.ecp5.islands.same import changes

__all__ = ["check_farm", "pin_wire", "problems"]

_TILE = re.compile(r"X(\d+)/Y(\d+)/")
_SHOWN = 5

Pins = dict[Any, list[tuple[str, str, str]]]
"""Cell, port and direction of each pin, by net."""


def check_farm(farm: Mapping[str, Any], around: Around, lanes: Sequence[Lane]) -> None:
    """Raise BuildError if a placed and routed farm differs from its parts; see :func:`problems`."""
    found = list(problems(farm, around, lanes))
    if found:
        more = f", and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise BuildError(f"the copied lanes are wrong: {'; '.join(found[:_SHOWN])}{more}")


def problems(farm: Mapping[str, Any], around: Around, lanes: Sequence[Lane]) -> Iterator[str]:
    """Yield a description of each fault in a farm.

    Parameters
    ----------
    farm : dict
        The packed module that nextpnr wrote after routing.
    around : Around
    lanes : sequence of Lane
    """
    yield from _places(farm, lanes)
    yield from _wires(farm)
    yield from _routes(farm)
    yield from changes(farm, around, lanes)


def _places(farm: Mapping[str, Any], lanes: Sequence[Lane]) -> Iterator[str]:
    """Check that each BEL has at most one cell, and that a site contains only its lane's cells."""
    owner: dict[str, str] = {}
    sites = {tile: lane.name for lane in lanes for tile in lane.site}
    for name, cell in farm["cells"].items():
        place = cell["attributes"].get("NEXTPNR_BEL")
        if place is None:
            yield f"{name} has no place"
            continue
        if place in owner:
            yield f"{name} and {owner[place]} are both at {place}"
        owner[place] = name
        found = _TILE.match(place)
        site = sites.get((int(found[1]), int(found[2]))) if found else None
        if site != next((lane.name for lane in lanes if name.startswith(f"{lane.name}.")), None):
            yield f"{name} is at {place}, {f'in the site of {site}' if site else 'outside its site'}"


def _wires(farm: Mapping[str, Any]) -> Iterator[str]:
    """Check that each wire has one driver: no two nets use it, and no two switches lead to it."""
    owner: dict[str, str] = {}
    for name, net in farm["netnames"].items():
        for wire, _ in _route(net):
            if wire in owner:
                yield f"wire {wire} belongs to {name} and to {owner[wire]}"
            owner[wire] = name


def _routes(farm: Mapping[str, Any]) -> Iterator[str]:
    """Check that every net is routed: switches connect the driver's wire to the wire of each sink."""
    pins = _pins(farm)
    for name, net in farm["netnames"].items():
        (bit,) = net["bits"]
        drivers = [pin for pin in pins[bit] if pin[2] == "output"]
        sinks = [pin for pin in pins[bit] if pin[2] == "input"]
        if not drivers or not sinks:
            continue
        if len(drivers) > 1:
            yield f"{name} is driven by {drivers[0][0]} and by {drivers[1][0]}"
        found, broken = _reached(net)
        if broken:
            yield f"the route of {name} has no way to {broken}"
        for cell, port, _ in (*drivers, *sinks):
            bel = farm["cells"][cell]["attributes"].get("NEXTPNR_BEL", "")
            wire = pin_wire(bel, port)
            if wire is not None and wire not in found:
                yield f"{name} is not routed to {cell}.{port} at {wire}"


def _reached(net: Mapping[str, Any]) -> tuple[set[str], str]:
    """Return the wires that are reachable from the driver's wire, and an unreachable wire, if any.

    Clock trunks are not listed as switches: in each tile, a clock starts with a separate wire.
    """
    after: dict[str, list[str]] = defaultdict(list)
    roots = []
    wires = set()
    for wire, switch in _route(net):
        wires.add(wire)
        if not switch:
            roots.append(wire)
            continue
        way = ends(switch)
        if way is None or way[1] != wire:
            return set(), wire
        after[way[0]].append(wire)
    local = [wire for wire in roots if "/G_" not in wire]
    clocks = [wire for wire in (*after, *roots) if "/G_" in wire]
    found = reached([*clocks, *local[:1]], after)
    return found, min(wires - found, default="")


def _route(net: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a net's wires, each with the switch that leads to it; the driver's wire has no switch."""
    return ((wire, switch) for wire, switch, _ in steps(net["attributes"].get("ROUTING", "")))


def pin_wire(bel: str, port: str) -> str | None:
    """Return the wire at a port of a cell at a BEL, in nextpnr's names; None if unknown."""
    try:
        where = parse(bel)
    except ValueError:
        return None
    wire = _wire(where, port)
    return wire and f"X{where.column}/Y{where.row}/{wire}"


def _wire(bel: Bel, port: str) -> str | None:
    if bel.name.startswith("EBR"):
        return f"J{port}_EBR"
    if bel.name.startswith("MULT18_"):
        return f"J{port}_MULT18"
    if not bel.name.startswith("SLICE"):
        return None
    letter, kind = bel.name[5], bel.name[7:]
    number = "ABCD".index(letter)
    if kind == "RAMW":
        inner = re.fullmatch(r"([ABCD])([01])", port)
        return f"{inner[1]}{4 + int(inner[2])}_SLICE" if inner else f"{port}{letter}_SLICE"
    half = int(kind[-1])
    if port in ("CLK", "LSR", "CE", "WCK", "WRE"):
        return f"{port}{number}_SLICE"
    if port.startswith("WAD"):
        return f"{port}{letter}_SLICE"
    if port == "WD":
        return f"WD{half}{letter}_SLICE"
    if port in ("FCI", "FCO"):
        if (port == "FCI") == bool(half):
            return f"FCI{letter}1_SLICE"
        at_end = letter == ("A" if port == "FCI" else "D")
        return f"{port}{'' if at_end else letter}_SLICE"
    return f"{port}{2 * number + half}_SLICE"


def _pins(module: Mapping[str, Any]) -> Pins:
    pins: Pins = defaultdict(list)
    for name, cell in module["cells"].items():
        for port, bits in cell["connections"].items():
            for bit in bits:
                pins[bit].append((name, port, cell["port_directions"][port]))
    return pins
