"""Changes the ends of ECP5's carry chains so that nextpnr adds no cells there.

nextpnr feeds a constant into a chain through an extra cell, and takes the last carry out through
another, even if it is unused. This costs four LUTs per chain, or 92 of 2,199 LUTs in a lane with agents.
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

from qstep_fpga.families.ecp5.registers import _bits

__all__ = ["shorten_carries"]

_PINS = "ABCD"
_OPEN = "x"


def shorten_carries(module: dict[str, Any]) -> int:
    """Change the ends of carry chains so that nextpnr adds no cells there; return how many changed.

    An unused last carry is left open. If the lower half of a first cell has at most two operands, it
    computes its carry from them alone, without a carry input. If its sum is used, a separate look-up
    table computes it.

    Parameters
    ----------
    module : dict
        A module of a yosys JSON netlist; changed in place.
    """
    cells = module["cells"]
    uses = Counter(bit for port in module["ports"].values() for bit in port["bits"])
    uses.update(bit for cell in cells.values() for bit in _bits(cell, "input"))
    shortened = 0
    for name, cell in list(cells.items()):
        if cell["type"] != "CCU2C":
            continue
        connections = cell["connections"]
        if isinstance(connections["COUT"][0], int) and not uses[connections["COUT"][0]]:
            connections["COUT"] = [_OPEN]
            shortened += 1
        operands = {connections[f"{pin}0"][0] for pin in _PINS} - {"0", "1"}
        constant = connections["CIN"][0] in ("0", "1") and cell["parameters"]["INJECT1_0"] == "NO"
        if not constant or len(operands) > 2:
            continue
        if uses[connections["S0"][0]]:
            cells[f"{name}_S0_LUT4"] = _sum(cell)
            connections["S0"] = [_OPEN]
        _close(cell)
        shortened += 1
    return shortened


def _sum(cell: dict[str, Any]) -> dict[str, Any]:
    """Return the look-up table that computes the lower sum of a first cell."""
    connections, table = cell["connections"], cell["parameters"]["INIT0"]
    if connections["CIN"] == ["1"]:
        table = table.translate(str.maketrans("01", "10"))
    return {
        "hide_name": 1,
        "type": "LUT4",
        "parameters": {"INIT": table},
        "attributes": {},
        "port_directions": dict.fromkeys(_PINS, "input") | {"Z": "output"},
        "connections": {pin: connections[f"{pin}0"] for pin in _PINS} | {"Z": connections["S0"]},
    }


def _close(cell: dict[str, Any]) -> None:
    """Make the lower half of a first cell compute the same carry without a carry input."""
    connections, table = cell["connections"], cell["parameters"]["INIT0"]
    bits = [connections[f"{pin}0"][0] for pin in _PINS]
    operands = sorted(set(bits) - {"0", "1"})
    carries = ""
    for high, low in product("10", repeat=2):
        values = {"0": "0", "1": "1"} | dict(zip(operands, (low, high), strict=False))
        inputs = int("".join(values[bit] for bit in reversed(bits)), 2)
        passes, generates = table[-1 - inputs] == "1", table[-1 - inputs % 4]
        carries += connections["CIN"][0] if passes else generates
    cell["parameters"]["INIT0"] = "0" * 12 + carries
    pins = [*operands, "1", "1", "1", "1"]
    connections |= {f"{pin}0": [bit] for pin, bit in zip(_PINS, pins, strict=False)}
    connections["CIN"] = [_OPEN]
