"""Put copies of a placed and routed lane into what was placed around them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qstep_fpga.farm.around import Around, Lane, clock_of, stand_in
from qstep_fpga.farm.grid import Bel, parse
from qstep_fpga.farm.dummies import DUMMY

__all__ = ["joined", "routed", "shifted_route"]

_WHERE = re.compile(r"X(\d+)/Y(\d+)/")


def joined(
    around: Around, lanes: Sequence[Lane], packed: Mapping[str, Any]
) -> tuple[dict[str, Any], int]:
    """Return the netlist of the whole farm, and how many nets of the copies have lost their routes.

    A route is lost where its wires are those of another one, or of a tile outside the chip; place and
    route finds another.

    Parameters
    ----------
    around : Around
    lanes : sequence of Lane
        `packed` is where the first of them is.
    packed : dict
        The lane, placed and routed.

    Returns
    -------
    (dict, int)
        A packed module with ``NEXTPNR_BEL`` on all its cells, and the count.
    """
    cells, nets = around.module["cells"], around.module["netnames"]
    farm = {**around.module, "cells": dict(_kept(cells)), "netnames": dict(nets)}
    names = {bit: name for name, net in nets.items() for bit in net["bits"]}
    fresh = max(names, default=0) + 1
    between: dict[int | str, int] = {}
    taken: set[str] = set()
    memories = 1 + max(_numbers(farm["cells"]), default=0)
    clock = clock_of(packed)
    lost = 0
    for lane in lanes:
        right = lane.site.column - lanes[0].site.column
        up = lane.site.row - lanes[0].site.row
        inside: dict[int | str, int] = {}
        for port, index, own in _port_bits(packed):
            outer = lane.ports.get(port, ())
            stand = cells.get(stand_in(lane.name, port, index))
            if stand is not None:
                inside[own] = _net_of(stand, port == clock)
            elif index < len(outer) and isinstance(outer[index], int):
                if outer[index] not in between:
                    between[outer[index]] = fresh
                    fresh += 1
                inside[own] = between[outer[index]]
        outputs = {
            bit
            for port in packed["ports"].values()
            if port["direction"] == "output"
            for bit in port["bits"]
        }
        for name, net in packed["netnames"].items():
            (bit,) = net["bits"]
            known = bit in inside
            if not known:
                inside[bit] = fresh
                fresh += 1
            if known and bit not in outputs:
                continue  # its driver, and so its route, is elsewhere
            route = shifted_route(net["attributes"].get("ROUTING", ""), right, up)
            wires = set(routed(route))
            if wires & taken:
                route, wires = "", set()
                lost += 1
            taken |= wires
            own_name = names.setdefault(inside[bit], f"{lane.name}.{name}")
            before = farm["netnames"].get(own_name, {"hide_name": 0, "attributes": {}})
            attributes = {**before["attributes"], "ROUTING": route}
            farm["netnames"][own_name] = {**before, "bits": [inside[bit]], "attributes": attributes}
        for name, cell in packed["cells"].items():
            at = parse(cell["attributes"]["NEXTPNR_BEL"])
            bel = Bel(at.column + right, at.row + up, at.name)
            attributes = {**cell["attributes"], "NEXTPNR_BEL": str(bel)}
            if "WID" in attributes:  # one number a block RAM, by which its contents are found
                attributes["WID"] = f"{memories:032b}"
                memories += 1
            wires_of = {
                port: [inside[bit] for bit in bits] for port, bits in cell["connections"].items()
            }
            farm["cells"][f"{lane.name}.{name}"] = {
                **cell,
                "attributes": attributes,
                "connections": wires_of,
            }
    used = {
        bit for cell in farm["cells"].values() for bits in cell["connections"].values() for bit in bits
    } | {bit for port in farm["ports"].values() for bit in port["bits"]}
    farm["netnames"] = {
        name: net for name, net in farm["netnames"].items() if used.intersection(net["bits"])
    }
    return farm, lost


def shifted_route(route: str, right: int, up: int) -> str:
    """Return a route of nextpnr so many tiles further right and down."""
    return _WHERE.sub(
        lambda where: f"X{int(where[1]) + right}/Y{int(where[2]) + up}/", route
    )


def routed(route: str) -> Iterator[str]:
    """Yield the wires of a route: it is triples of wire, the switch that leads there, and how firmly."""
    return (wire for wire in route.strip().split(";")[::3] if wire)


def _kept(cells: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((name, cell) for name, cell in cells.items() if not name.startswith(DUMMY))


def _numbers(cells: Mapping[str, Any]) -> list[int]:
    found = (cell["attributes"].get("WID") for cell in cells.values())
    return [int(number, 2) for number in found if number is not None]


def _port_bits(packed: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    for port, described in packed["ports"].items():
        for index, bit in enumerate(described["bits"]):
            yield port, index, bit


def _net_of(stand: Mapping[str, Any], is_clock: bool) -> int:
    """Return the net of the port that a register stands in for."""
    wires = stand["connections"]
    port = "CLK" if is_clock else next(p for p in ("Q", "M", "DI") if wires.get(p))
    bit: int = wires[port][0]
    return bit
