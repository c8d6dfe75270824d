"""Removes ECP5 look-up tables that only invert, by storing the complement in flip-flops.

A comparator tree stores every second value as its complement, because a comparison needs one operand
complemented. yosys inverts each of these bits before its flip-flop, and again after the tree, which
costs 48 LUTs in a lane with agents. However, the logic after a flip-flop can use either polarity if its
table is changed.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

__all__ = ["remove_inverters"]

_PINS = "ABCD"
_NOT = "01"
"""The table of an inverter, highest entry first."""

Cell = dict[str, Any]


class _Pin(NamedTuple):
    cell: str
    port: str


class _Nets:
    """Drivers and loads of each net of a module."""

    def __init__(self, module: Cell) -> None:
        self.cells: dict[str, Cell] = module["cells"]
        self.drivers: dict[object, _Pin] = {}
        self.loads: defaultdict[object, list[_Pin]] = defaultdict(list)
        self.outside = {bit for port in module["ports"].values() for bit in port["bits"]}
        for name, cell in self.cells.items():
            for port, bits in cell["connections"].items():
                for bit in bits:
                    if cell["port_directions"][port] == "output":
                        self.drivers[bit] = _Pin(name, port)
                    else:
                        self.loads[bit].append(_Pin(name, port))

    def inverted(self, name: str) -> object:
        """Return the net that a cell inverts, or None if it is not an inverter."""
        cell = self.cells[name]
        pins = [pin for pin in _PINS if isinstance(cell["connections"].get(pin, [""])[0], int)]
        if cell["type"] != "LUT4" or len(pins) != 1:
            return None
        at = sum((cell["connections"][pin] == ["1"]) << n for n, pin in enumerate(_PINS))
        one = 1 << _PINS.index(pins[0])
        table = cell["parameters"]["INIT"]
        return (
            cell["connections"][pins[0]][0]
            if table[-1 - at - one] + table[-1 - at] == _NOT
            else None
        )

    def move(self, old: object, new: object) -> None:
        """Move the loads of a net to another net."""
        for pin in self.loads.pop(old):
            bits = self.cells[pin.cell]["connections"][pin.port]
            bits[bits.index(old)] = new
            self.loads[new].append(pin)

    def may_go(self, net: object) -> bool:
        """Return whether a flip-flop may drive a net instead of a LUT; PFUMX accepts only LUTs."""
        kinds = {self.cells[pin.cell]["type"] for pin in self.loads[net]}
        return net not in self.outside and "PFUMX" not in kinds

    def takes_both(self, pin: _Pin) -> bool:
        """Return whether a load can use the complement if its table is changed."""
        kind = self.cells[pin.cell]["type"]
        # In a carry chain, A and B select the generated carry from the lowest entries of a table.
        return kind == "LUT4" or (kind == "CCU2C" and pin.port in ("A0", "A1", "B0", "B1"))

    def turn(self, pin: _Pin) -> None:
        """Change a load's table so that it uses the complement."""
        parameters = self.cells[pin.cell]["parameters"]
        name, one = f"INIT{pin.port[1:]}", 1 << _PINS.index(pin.port[0])
        table = parameters[name][::-1]
        parameters[name] = "".join(table[n ^ one] for n in range(len(table)))[::-1]

    def remove(self, name: str, net: object) -> None:
        """Remove an inverter whose input is a net."""
        del self.cells[name]
        self.loads[net] = [pin for pin in self.loads[net] if pin.cell != name]


def remove_inverters(module: Cell) -> int:
    """Make flip-flops store the complement if that removes inverters (LUTs); return how many it removes.

    Such a flip-flop is driven by a LUT with no other load, which then computes the complement, or is
    removed if it only inverts. The flip-flop drives only LUTs and carry-chain operands. Its initial
    value and its reset value are also inverted.

    Parameters
    ----------
    module : dict
        A module of a yosys JSON netlist; changed in place.
    """
    nets = _Nets(module)
    flip_flops = [name for name, cell in nets.cells.items() if cell["type"] == "TRELLIS_FF"]
    return sum(_complemented(nets, name) for name in flip_flops)


def _complemented(nets: _Nets, name: str) -> int:
    """Make a flip-flop store the complement if that removes inverters; return how many it removes."""
    cells, connections = nets.cells, nets.cells[name]["connections"]
    given, kept = connections["DI"][0], connections["Q"][0]
    source = nets.drivers.get(given)
    if source is None or cells[source.cell]["type"] != "LUT4" or len(nets.loads[given]) > 1:
        return 0
    if not nets.outside.isdisjoint((given, kept)) or not all(
        map(nets.takes_both, nets.loads[kept])
    ):
        return 0
    before = nets.inverted(source.cell)
    behind = [pin.cell for pin in nets.loads[kept] if nets.inverted(pin.cell) is not None]
    behind = [cell for cell in behind if nets.may_go(cells[cell]["connections"]["Z"][0])]
    removed = len(behind) + (before is not None)
    if not removed or before == kept:  # a bit that toggles keeps its inverter
        return 0

    parameters = cells[name]["parameters"]
    parameters["REGSET"] = {"SET": "RESET", "RESET": "SET"}[parameters["REGSET"]]
    if before is None:
        table = cells[source.cell]["parameters"]
        table["INIT"] = table["INIT"].translate(str.maketrans("01", "10"))
    else:
        nets.remove(source.cell, before)
        nets.move(given, before)
    for pin in nets.loads[kept]:
        if pin.cell not in behind:
            nets.turn(pin)
    for inverter in behind:
        made = cells[inverter]["connections"]["Z"][0]
        nets.remove(inverter, kept)
        nets.move(made, kept)
    return removed
