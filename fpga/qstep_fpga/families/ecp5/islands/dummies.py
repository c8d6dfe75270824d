"""Cells that only occupy BELs, so that the placer puts nothing else there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from qstep_fpga.families.ecp5.islands.grid import KINDS, LOGIC, Bel, unconnected

__all__ = ["DUMMY", "dummies", "register"]

DUMMY = "$dummy$"
"""Prefix of the names of dummy cells."""

_NAMES = {"EBR": "block RAM", "MULT18_": "DSP"}
_WAYS = {"CLK": "input", "M": "input", "Q": "output"}
# nextpnr reads digits followed by a space as text, not as a number.
_REGISTER = {"GSR": "DISABLED", "CEMUX": "1 ", "CLKMUX": "CLK", "LSRMUX": "LSR", "SD": "0 "}
_REGISTER |= {"REGSET": "RESET", "SRMODE": "LSR_OVER_CE"}


def dummies(bels: Sequence[Bel], clock: int | str | None = None) -> dict[str, Any]:
    """Return dummy cells for BELs: a flip-flop and the LUT next to it, a block RAM, or a multiplier.

    `clock` is the net of the flip-flops' clock, which must be the same throughout a tile.
    """
    cells = {}
    for bel in bels:
        kind = next((kind for start, kind in _NAMES.items() if bel.name.startswith(start)), LOGIC)
        if kind == LOGIC:
            lut = Bel(bel.column, bel.row, bel.name.replace(".FF", ".K"))
            cells[f"{DUMMY}{lut}"] = unconnected("LUT4", BEL=str(lut))
            cells[f"{DUMMY}{bel}"] = register(bel, {} if clock is None else {"CLK": clock})
        else:
            cells[f"{DUMMY}{bel}"] = unconnected(KINDS[kind], BEL=str(bel))
    return cells


def register(bel: Bel, wires: Mapping[str, int | str]) -> dict[str, Any]:
    """Return a flip-flop for an unpacked netlist, at a BEL, with nets at its pins."""
    return {
        **unconnected("TRELLIS_FF", BEL=str(bel)),
        "parameters": _REGISTER,
        "port_directions": {port: _WAYS[port] for port in wires},
        "connections": {port: [bit] for port, bit in wires.items()},
    }
