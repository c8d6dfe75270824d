"""Computes a farm's clock from the timing of a lane alone and of all paths outside lanes.

A copy has the same BELs and routes as the placed lane, so its paths have the same delays. nextpnr
reports longer delays: after reading a packed netlist, it cannot tell which half of a slice contains a
carry-chain bit, and treats every bit as the first. So paths inside lanes keep the delays that nextpnr
found when it placed the lane, and only the other paths are analysed again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from qstep_fpga.clocks import is_of_lanes
from qstep_fpga.families.ecp5.islands.around import Lane, Original
from qstep_fpga.families.ecp5.islands.routes import GLOBAL

__all__ = ["between", "with_lanes"]

Module = Mapping[str, Any]


def between(farm: Module, lanes: Sequence[Lane]) -> dict[str, Any]:
    """Return a routed farm without the cells and nets that are only on paths inside a lane.

    A remaining net keeps its whole route, and therefore its delays. A cell that is only on paths inside
    a lane, but is a load of a remaining net, keeps just the pins on such nets.

    Parameters
    ----------
    farm : dict
        The packed module that nextpnr wrote after routing.
    lanes : sequence of Lane
    """
    kept_of = {id(lane.original): _at_ports(lane.original) for lane in lanes}
    inside = {
        f"{lane.name}.{name}"
        for lane in lanes
        for name in lane.original.module["cells"].keys() - kept_of[id(lane.original)]
    }
    cut = {bit for name in inside for bit in _bits(farm["cells"][name], "output")}
    cells = {name: cell for name, cell in farm["cells"].items() if name not in inside}
    taken = {bit for cell in cells.values() for bit in _bits(cell, "input")} - cut
    nets = farm["netnames"]
    clocks = {bit for name, net in nets.items() if name.startswith(GLOBAL) for bit in net["bits"]}
    touched = {bit for name in inside for bit in _bits(farm["cells"][name], "input")}
    cut |= touched - taken
    cells = {name: _with_nets(cell, lambda bit: bit not in cut) for name, cell in cells.items()}
    for name in inside:
        stub = _with_nets(farm["cells"][name], lambda bit: bit not in cut and bit not in clocks)
        if any(stub["connections"].values()):
            cells[name] = stub
    left = {name: net for name, net in nets.items() if not cut.intersection(net["bits"])}
    return {**farm, "cells": cells, "netnames": left}


def _with_nets(cell: Module, is_left: Callable[[int], bool]) -> dict[str, Any]:
    wires = cell["connections"].items()
    return {**cell, "connections": {port: [*filter(is_left, bits)] for port, bits in wires}}


def _at_ports(original: Original) -> set[str]:
    """Return the cells of a lane on a path from a port to a register, or from a register to a port."""
    module = original.module
    found: set[str] = set()
    for way, onward in (("input", "output"), ("output", "input")):
        at: defaultdict[int, list[str]] = defaultdict(list)
        for name, cell in module["cells"].items():
            for bit in _bits(cell, way):
                at[bit].append(name)
        front = [
            bit
            for name, port in module["ports"].items()
            if port["direction"] == way and name != original.clock
            for bit in port["bits"]
        ]
        passed: set[str] = set()
        while front:
            for name in at[front.pop()]:
                if name not in passed:
                    passed.add(name)
                    cell = module["cells"][name]
                    front += _bits(cell, onward) if cell["type"] != "TRELLIS_FF" else ()
        found |= passed
    return found


def _bits(cell: Module, way: str) -> list[int]:
    directions, wires = cell["port_directions"], cell["connections"]
    return [bit for port, bits in wires.items() if directions[port] == way for bit in bits]


def with_lanes(report: Module, lanes: Sequence[Lane]) -> dict[str, Any]:
    """Return a timing report on the logic between lanes, extended by the paths inside lanes.

    Parameters
    ----------
    report : dict
        nextpnr's report on the result of :func:`between`: ``fmax`` and ``critical_paths``.
    lanes : sequence of Lane
    """
    slowest = max(lanes, key=lambda lane: _delay_ns(lane.original.path))
    fmax_mhz = 1e3 / _delay_ns(slowest.original.path)
    clock = max(report["fmax"], key=is_of_lanes)
    if fmax_mhz >= report["fmax"][clock]["achieved"]:
        return dict(report)
    others = [
        path
        for path in report["critical_paths"]
        if not (path["from"] == path["to"] and path["to"].endswith(clock))
    ]
    path = {"from": f"posedge {clock}", "to": f"posedge {clock}", "path": _in_farm(slowest)}
    achieved = {**report["fmax"][clock], "achieved": fmax_mhz}
    return {
        **report,
        "fmax": {**report["fmax"], clock: achieved},
        "critical_paths": [path, *others],
    }


def _delay_ns(path: Sequence[Module]) -> float:
    return float(sum(step["delay"] for step in path))


def _in_farm(lane: Lane) -> list[dict[str, Any]]:
    """Return a lane's critical path with its cells' names in the farm."""

    def there(end: Module) -> dict[str, Any]:
        return {**end, "cell": f"{lane.name}.{end['cell']}"}

    return [
        {**step, "from": there(step["from"]), "to": there(step["to"])}
        for step in lane.original.path
    ]
