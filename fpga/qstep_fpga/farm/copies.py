"""Put copies of a placed and routed lane into what was placed around them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qstep_fpga.farm.around import Around, Lane, net_outside
from qstep_fpga.farm.dummies import DUMMY
from qstep_fpga.farm.grid import Tile, parse
from qstep_fpga.farm.sites import Rectangle

__all__ = ["joined", "routed", "shifted_route"]

_NO_ROUTE = " "
"""As nextpnr writes it: it ends with an exception where the text is empty."""

_WHERE = re.compile(r"X(\d+)/Y(\d+)/")


def joined(around: Around, lanes: Sequence[Lane], chip: Rectangle) -> tuple[dict[str, Any], int]:
    """Return the netlist of the whole farm, and how many nets of the copies have lost their routes.

    A net loses its route where a wire of it is another one's, or would be beyond the logic of the chip;
    place and route finds another way.

    Parameters
    ----------
    around : Around
    lanes : sequence of Lane
    chip : Rectangle
        What its logic is in.

    Returns
    -------
    (dict, int)
        A packed module with ``NEXTPNR_BEL`` on all its cells, and the count.
    """
    cells, nets = around.module["cells"], dict(around.module["netnames"])
    kept = {name: cell for name, cell in cells.items() if not name.startswith(DUMMY)}
    farm = {**around.module, "cells": kept, "netnames": nets}
    names = {bit: name for name, net in nets.items() for bit in net["bits"]}
    fresh = itertools.count(max(names, default=0) + 1)
    numbers = itertools.count(max(_numbers(kept), default=0) + 1)
    between: dict[int | str, int] = {}
    taken: set[str] = set()
    lost = 0
    for lane in lanes:
        by, packed = lane.by, lane.original.module
        # The lane's nets to the farm's, those of its ports first.
        bits: dict[int, int] = {}
        for port, index, bit in _port_bits(packed):
            outside = net_outside(around, lane, port, index)
            if isinstance(outside, int):
                bits[bit] = outside
            elif outside is not None:
                if outside[1] not in between:
                    between[outside[1]] = next(fresh)
                bits[bit] = between[outside[1]]
        inputs = {bit for port, _, bit in _port_bits(packed) if not _is_output(packed, port)}
        for name, net in packed["netnames"].items():
            (bit,) = net["bits"]
            if bit in inputs and bit in bits:
                continue  # its driver, and so its route, is elsewhere
            if bit not in bits:
                bits[bit] = next(fresh)
            route = shifted_route(net["attributes"].get("ROUTING", _NO_ROUTE), by)
            wires = set(routed(route))
            if wires & taken or (by != (0, 0) and any(_tile(wire) not in chip for wire in wires)):
                route, wires = _NO_ROUTE, set()
                lost += 1
            taken |= wires
            name_there = names.setdefault(bits[bit], f"{lane.name}.{name}")
            there = nets.get(name_there, {"hide_name": 0, "attributes": {}})
            attributes = {**there["attributes"], "ROUTING": route}
            nets[name_there] = {**there, "bits": [bits[bit]], "attributes": attributes}
        for name, cell in packed["cells"].items():
            kept[f"{lane.name}.{name}"] = _copied(cell, by, bits, numbers)
    used = {bit for cell in kept.values() for bits in cell["connections"].values() for bit in bits}
    used |= {bit for port in farm["ports"].values() for bit in port["bits"]}
    farm["netnames"] = {name: net for name, net in nets.items() if used.intersection(net["bits"])}
    return farm, lost


def _copied(
    cell: Mapping[str, Any], by: Tile, bits: Mapping[int, int], numbers: Iterator[int]
) -> dict[str, Any]:
    """Return a cell so many tiles further, with other nets; `numbers` are those of contents."""
    place = parse(cell["attributes"]["NEXTPNR_BEL"]).moved(by)
    attributes = {**cell["attributes"], "NEXTPNR_BEL": str(place)}
    if "WID" in attributes:  # by which the bitstream finds the contents of a block RAM
        attributes["WID"] = f"{next(numbers):032b}"
    wires = {port: [bits[bit] for bit in own] for port, own in cell["connections"].items()}
    return {**cell, "attributes": attributes, "connections": wires}


def shifted_route(route: str, by: Tile) -> str:
    """Return a route of nextpnr so many columns and rows further."""
    return _WHERE.sub(lambda at: f"X{int(at[1]) + by[0]}/Y{int(at[2]) + by[1]}/", route)


def routed(route: str) -> Iterator[str]:
    """Yield the wires of a route: it is triples of wire, the switch that leads there, and how firmly."""
    return (wire for wire in route.strip().split(";")[::3] if wire)


def _tile(wire: str) -> Tile:
    """Return where a wire is named."""
    column, row, _ = wire.split("/", 2)
    return int(column[1:]), int(row[1:])


def _numbers(cells: Mapping[str, Any]) -> list[int]:
    found = (cell["attributes"].get("WID") for cell in cells.values())
    return [int(number, 2) for number in found if number is not None]


def _port_bits(packed: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    for port, described in packed["ports"].items():
        for index, bit in enumerate(described["bits"]):
            yield port, index, bit


def _is_output(packed: Mapping[str, Any], port: str) -> bool:
    return bool(packed["ports"][port]["direction"] == "output")
