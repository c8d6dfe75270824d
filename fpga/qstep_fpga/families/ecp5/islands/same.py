"""Checks that a farm has the same cells, connections, and routes inside lanes as its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qstep_fpga.families.ecp5.islands.around import Around, Lane, net_outside
from qstep_fpga.families.ecp5.islands.dummies import DUMMY
from qstep_fpga.families.ecp5.islands.grid import parse
from qstep_fpga.families.ecp5.islands.routes import shifted, steps

__all__ = ["changes"]


def changes(farm: Mapping[str, Any], around: Around, lanes: Sequence[Lane]) -> Iterator[str]:
    """Describe each difference between a farm and its parts; parameters as for ``check.problems``."""
    yield from _cells(farm, around, lanes)
    yield from _nets(farm, around, lanes)
    yield from _routes(farm, lanes)


def _cells(farm: Mapping[str, Any], around: Around, lanes: Sequence[Lane]) -> Iterator[str]:
    """Check that the cells and their parameters are the same, in the same positions of each site."""
    expected = {
        name: (cell, cell["attributes"].get("NEXTPNR_BEL"))
        for name, cell in around.module["cells"].items()
        if not name.startswith(DUMMY)
    }
    for lane in lanes:
        for name, cell in lane.original.module["cells"].items():
            place = parse(cell["attributes"]["NEXTPNR_BEL"]).moved(lane.by)
            expected[f"{lane.name}.{name}"] = cell, str(place)
    for name in sorted(set(expected) ^ set(farm["cells"])):
        yield f"{name} is {'missing' if name in expected else 'new'}"
    numbers: set[str] = set()
    for name in expected.keys() & farm["cells"].keys():
        (before, place), after = expected[name], farm["cells"][name]
        if after["type"] != before["type"]:
            yield f"{name} is {after['type']} and was {before['type']}"
        for parameter in before["parameters"].keys() | after["parameters"].keys():
            was, now = before["parameters"].get(parameter), after["parameters"].get(parameter)
            if was != now:
                yield f"{parameter} of {name} is {now} and was {was}"
        if after["attributes"].get("NEXTPNR_BEL") != place:
            yield f"{name} is at {after['attributes'].get('NEXTPNR_BEL')} and was to be at {place}"
        number = after["attributes"].get("WID")
        if number in numbers:
            yield f"{name} has the contents of another block RAM"
        if number is not None:
            numbers.add(number)


def _routes(farm: Mapping[str, Any], lanes: Sequence[Lane]) -> Iterator[str]:
    """Check that routes inside a lane are unchanged, so its delays equal the placed lane's."""
    for lane in lanes:
        packed = lane.original.module
        ports = {bit for port in packed["ports"].values() for bit in port["bits"]}
        for name, net in packed["netnames"].items():
            if ports.isdisjoint(net["bits"]):
                there = farm["netnames"].get(f"{lane.name}.{name}", {"attributes": {}})
                before, after = (one["attributes"].get("ROUTING", "") for one in (net, there))
                if _ways(shifted(before, lane.by)) != _ways(after):
                    yield f"{lane.name}.{name} has another route than in the lane that was placed"


def _ways(route: str) -> set[tuple[str, str]]:
    return {(wire, switch) for wire, switch, _ in steps(route)}


def _nets(farm: Mapping[str, Any], around: Around, lanes: Sequence[Lane]) -> Iterator[str]:
    """Check that the connections are unchanged: no net was split, and no two nets were merged."""
    now: dict[Any, Any] = {}
    was: dict[Any, Any] = {}
    for cell, port, index, before in _expected(around, lanes):
        bits = farm["cells"].get(cell, {"connections": {}})["connections"].get(port, [])
        after = bits[index] if index < len(bits) else None
        if now.setdefault(before, after) != after or was.setdefault(after, before) != before:
            yield f"{cell}.{port} is connected to something else than before"


def _expected(around: Around, lanes: Sequence[Lane]) -> Iterator[tuple[str, str, int, Any]]:
    """Yield the pins of all parts: cell, port, index, and a value that identifies the net."""
    parts = around.module["cells"]
    for name, cell in parts.items():
        if not name.startswith(DUMMY):
            for port, bits in cell["connections"].items():
                for index, bit in enumerate(bits):
                    yield name, port, index, bit
    for lane in lanes:
        packed = lane.original.module
        nets = {
            bit: net_outside(around, lane, port, index)
            for port, described in packed["ports"].items()
            for index, bit in enumerate(described["bits"])
        }
        for name, cell in packed["cells"].items():
            for port, bits in cell["connections"].items():
                for index, bit in enumerate(bits):
                    outside = nets.get(bit)
                    net = (lane.name, bit) if outside is None else outside
                    yield f"{lane.name}.{name}", port, index, net
