"""Bundles: several lanes that are placed together, in one site, and copied together.

Equal sites are of a few sizes only, so a lane of its own often leaves much of its site empty.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from qstep.errors import BuildError

__all__ = ["BUNDLE", "bundled", "instances"]

Bit = int | str

BUNDLE = "$bundle"
"""The module's name."""


class _Pin(NamedTuple):
    """A bit of a port of one of a bundle's lanes."""

    lane: int
    port: str
    bit: int

    def __str__(self) -> str:
        return f"lane_{self.lane}.{self.port}.{self.bit}"  # nextpnr would read brackets


def instances(top: Mapping[str, Any], module: str) -> list[str]:
    """Return the names of the instances of a module, in the order of the numbers in them."""
    found = [name for name, cell in top["cells"].items() if cell["type"] == module]
    return sorted(found, key=lambda name: [int(part) for part in re.findall(r"\d+", name)])


def bundled(
    top: Mapping[str, Any], lane: str, module: Mapping[str, Any], size: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a netlist with so many lanes at a time in one instance of a new module, and that module.

    All bundles are alike. What leads from one of a bundle's lanes to another one in every bundle, and
    nowhere else, stays inside; the rest are ports of a bit each.

    Parameters
    ----------
    top : dict
        Module of a netlist of yosys with the lanes, whose number `size` divides.
    lane : str
        Their module's name.
    module : dict
        That module.
    size : int
        1 and more.

    Returns
    -------
    (dict, dict)
        The top module and :data:`BUNDLE`, flat.

    Raises
    ------
    BuildError
        Two bits of a lane's ports are one net inside, or one is a constant.
    """
    names = instances(top, lane)
    bundles = [names[first : first + size] for first in range(0, len(names), size)]
    ends = [dict(_ends(top, bundle)) for bundle in bundles]
    # Pins are one net of the bundle if they are one in all bundles.
    nets: defaultdict[tuple[Any, ...], list[_Pin]] = defaultdict(list)
    for pin in _pins(module, size):
        there = tuple(end.get(pin) for end in ends)
        nets[(pin,) if None in there else there].append(pin)
    uses = _uses(top)
    bits: dict[_Pin, Bit] = {}
    ports: dict[_Pin, dict[str, Any]] = {}
    numbers = itertools.count(2)  # as those of yosys begin
    for pins in nets.values():
        net = next(numbers)
        bits |= dict.fromkeys(pins, net)
        driven = any(_direction(module, pin) == "output" for pin in pins)
        known = [end[pins[0]] for end in ends if pins[0] in end]
        if not driven or any(uses[outside] > len(pins) for outside in known):
            ports[pins[0]] = {"direction": "output" if driven else "input", "bits": [net]}
    merged = _merged(module, size, bits, numbers)
    merged["ports"] = {str(pin): port for pin, port in ports.items()}
    # nextpnr finds the net of a port by its name.
    for name, port in merged["ports"].items():
        merged["netnames"][name] = {"hide_name": 0, "bits": port["bits"], "attributes": {}}
    cells = {name: cell for name, cell in top["cells"].items() if cell["type"] != lane}
    for number, end in enumerate(ends):
        wires = {str(pin): [end[pin]] if pin in end else [] for pin in ports}
        cells[f"bundle_{number}"] = {"type": BUNDLE, "connections": wires}
    return {**top, "cells": cells}, merged


def _pins(module: Mapping[str, Any], size: int) -> Iterator[_Pin]:
    """Yield the pins of a bundle's lanes."""
    inside: set[Bit] = {"0", "1", "x", "z"}
    for port, described in module["ports"].items():
        for index, bit in enumerate(described["bits"]):
            if bit in inside:
                raise BuildError(f"{port}[{index}] of a lane is no net of its own inside")
            inside.add(bit)
            yield from (_Pin(lane, port, index) for lane in range(size))


def _direction(module: Mapping[str, Any], pin: _Pin) -> str:
    return str(module["ports"][pin.port]["direction"])


def _ends(top: Mapping[str, Any], bundle: Sequence[str]) -> Iterator[tuple[_Pin, Bit]]:
    """Yield the pins of a bundle's lanes with what they are connected to."""
    for lane, name in enumerate(bundle):
        for port, bits in top["cells"][name]["connections"].items():
            for index, bit in enumerate(bits):
                yield _Pin(lane, port, index), bit


def _uses(top: Mapping[str, Any]) -> Counter[Bit]:
    """Return at how many pins each net is, those of the module itself with them."""
    ports = (bit for port in top["ports"].values() for bit in port["bits"])
    pins = (
        bit
        for cell in top["cells"].values()
        for bits in cell["connections"].values()
        for bit in bits
    )
    return Counter(itertools.chain(ports, pins))


def _merged(
    module: Mapping[str, Any], size: int, bits: Mapping[_Pin, Bit], numbers: Iterator[int]
) -> dict[str, Any]:
    """Return lanes side by side in one module, with these nets at their ports and others inside."""
    cells: dict[str, Any] = {}
    names: dict[str, Any] = {}
    for lane in range(size):
        there = {
            bit: bits[_Pin(lane, port, index)]
            for port, described in module["ports"].items()
            for index, bit in enumerate(described["bits"])
        }

        def moved(own: Sequence[Bit], there: dict[Bit, Bit] = there) -> list[Bit]:
            return [
                there.setdefault(bit, next(numbers)) if isinstance(bit, int) else bit for bit in own
            ]

        for name, cell in module["cells"].items():
            wires = {port: moved(own) for port, own in cell["connections"].items()}
            cells[f"lane_{lane}.{name}"] = {**cell, "connections": wires}
        for name, net in module["netnames"].items():
            names[f"lane_{lane}.{name}"] = {**net, "bits": moved(net["bits"])}
    return {"attributes": {}, "cells": cells, "netnames": names}
