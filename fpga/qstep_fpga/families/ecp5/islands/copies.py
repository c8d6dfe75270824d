"""Inserts copies of a placed and routed lane into the design placed around them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qstep_fpga.families.ecp5.islands.around import Around, Lane, net_outside
from qstep_fpga.families.ecp5.islands.dummies import DUMMY
from qstep_fpga.families.ecp5.islands.grid import Tile, parse
from qstep_fpga.families.ecp5.islands.routes import NO_ROUTE, firm, shifted

__all__ = ["joined"]


def joined(around: Around, lanes: Sequence[Lane]) -> dict[str, Any]:
    """Return the packed netlist of the whole farm, with ``NEXTPNR_BEL`` on all its cells.

    Routes are copied unchanged, and the router keeps them, because the wires in a site are reserved for
    its lane. Nets that enter or leave a lane have no routes yet.

    Parameters
    ----------
    around : Around
    lanes : sequence of Lane
    """
    cells, nets = around.module["cells"], dict(around.module["netnames"])
    kept = {name: cell for name, cell in cells.items() if not name.startswith(DUMMY)}
    farm = {**around.module, "cells": kept, "netnames": nets}
    names = {bit: name for name, net in nets.items() for bit in net["bits"]}
    fresh = itertools.count(max(names, default=0) + 1)
    numbers = itertools.count(max(_numbers(kept), default=0) + 1)
    between: dict[int | str, int] = {}
    for lane in lanes:
        packed = lane.original.module
        # Maps the lane's nets to the farm's, starting with the nets at its ports.
        bits: dict[int, int] = {}
        for port, index, bit in _port_bits(packed):
            outside = net_outside(around, lane, port, index)
            if isinstance(outside, int):
                bits[bit] = outside
            elif outside is not None:  # pragma: no branch: in tests every port is connected
                if outside[1] not in between:
                    between[outside[1]] = next(fresh)
                bits[bit] = between[outside[1]]
        ports = {bit for _, _, bit in _port_bits(packed)}
        inputs = {bit for port, _, bit in _port_bits(packed) if not _is_output(packed, port)}
        for name, net in packed["netnames"].items():
            (bit,) = net["bits"]
            if bit in inputs and bit in bits:
                continue  # the net is driven outside the lane
            route = NO_ROUTE
            if bit not in ports:
                route = firm(shifted(net["attributes"].get("ROUTING", NO_ROUTE), lane.by))
            bits.setdefault(bit, next(fresh))
            name_there = names.setdefault(bits[bit], f"{lane.name}.{name}")
            there = nets.get(name_there, {"hide_name": 0, "attributes": {}})
            attributes = {**there["attributes"], "ROUTING": route}
            nets[name_there] = {**there, "bits": [bits[bit]], "attributes": attributes}
        for name, cell in packed["cells"].items():
            kept[f"{lane.name}.{name}"] = _copied(cell, lane.by, bits, numbers)
    used = {bit for cell in kept.values() for bits in cell["connections"].values() for bit in bits}
    used |= {bit for port in farm["ports"].values() for bit in port["bits"]}
    farm["netnames"] = {name: net for name, net in nets.items() if used.intersection(net["bits"])}
    return farm


def _copied(
    cell: Mapping[str, Any], by: Tile, bits: Mapping[int, int], numbers: Iterator[int]
) -> dict[str, Any]:
    """Return a cell moved by some tiles, with other nets; `numbers` counts block RAM contents."""
    place = parse(cell["attributes"]["NEXTPNR_BEL"]).moved(by)
    attributes = {**cell["attributes"], "NEXTPNR_BEL": str(place)}
    if "WID" in attributes:  # identifies a block RAM's contents in the bitstream
        attributes["WID"] = f"{next(numbers):032b}"
    wires = {port: [bits[bit] for bit in own] for port, own in cell["connections"].items()}
    return {**cell, "attributes": attributes, "connections": wires}


def _numbers(cells: Mapping[str, Any]) -> list[int]:
    found = (cell["attributes"].get("WID") for cell in cells.values())
    return [int(number, 2) for number in found if number is not None]


def _port_bits(packed: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    for port, described in packed["ports"].items():
        for index, bit in enumerate(described["bits"]):
            yield port, index, bit


def _is_output(packed: Mapping[str, Any], port: str) -> bool:
    return bool(packed["ports"][port]["direction"] == "output")
