"""Moves flip-flops that directly follow an ECP5 multiplier or block RAM into the cell's registers.

yosys 0.70 leaves the flip-flops outside, where the wire from the cell costs 2 ns, and a block RAM
without an output register delivers its data 5 ns later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

__all__ = ["absorb_registers"]

Bit = int | str
"""A net of a netlist, or a constant: ``"0"``, ``"1"``, ``"x"``."""

_ALWAYS = "1"
_WIDE = 36
_PLAIN = {"CLKMUX": "CLK", "REGSET": "RESET", "GSR": "DISABLED"}


def absorb_registers(module: dict[str, Any]) -> None:
    """Move flip-flops into the multipliers and block RAMs whose outputs they register.

    A cell absorbs the flip-flops if each used output drives one flip-flop and nothing else, and all of
    these flip-flops have the same clock, the same enable and no reset. The cell's output register then
    replaces them.

    Parameters
    ----------
    module : dict
        A module of a JSON netlist; changed in place.
    """
    cells = module["cells"]
    uses = Counter(bit for port in module["ports"].values() for bit in port["bits"])
    uses.update(bit for cell in cells.values() for bit in _bits(cell, "input"))
    behind = {
        cell["connections"]["DI"][0]: name
        for name, cell in cells.items()
        if cell["type"] == "TRELLIS_FF"
    }
    for cell in list(cells.values()):
        if cell["type"] not in _TAKE:
            continue
        outputs = [bit for bit in _bits(cell, "output") if uses[bit]]
        if not all(uses[bit] == 1 and bit in behind for bit in outputs):
            continue
        names = {bit: behind[bit] for bit in outputs}
        controls = {_control(cells[name]) for name in names.values()}
        if len(controls) != 1:
            continue
        (control,) = controls
        if control is None or not _TAKE[cell["type"]](cell, *control):
            continue
        registered = {bit: cells.pop(name)["connections"]["Q"][0] for bit, name in names.items()}
        for port, direction in cell["port_directions"].items():
            if direction == "output":
                nets = cell["connections"][port]
                cell["connections"][port] = [registered.get(bit, bit) for bit in nets]


def _bits(cell: dict[str, Any], direction: str) -> Iterable[Bit]:
    ways = cell["port_directions"]
    for port, bits in cell["connections"].items():
        if ways[port] == direction:
            yield from bits


def _control(flip_flop: dict[str, Any]) -> tuple[Bit, Bit] | None:
    """Return clock and enable of a plain flip-flop, or None if it has other functions."""
    parameters, connections = flip_flop["parameters"], flip_flop["connections"]
    plain = all(parameters.get(name) == value for name, value in _PLAIN.items())
    if not plain or connections.get("LSR", ["0"]) != ["0"]:
        return None
    enable = connections["CE"][0] if parameters["CEMUX"].strip() == "CE" else _ALWAYS
    return connections["CLK"][0], enable


def _multiplier(cell: dict[str, Any], clock: Bit, enable: Bit) -> bool:
    """Enable the output register of a MULT18X18D, if it is not in use."""
    if cell["parameters"].get("REG_OUTPUT_CLK", "NONE") != "NONE":
        return False
    given = {"CLK0": clock, "CE0": enable, "RST0": "0"}
    cell["parameters"] |= {
        "REG_OUTPUT_CLK": "CLK0",
        "REG_OUTPUT_CE": "CE0",
        "REG_OUTPUT_RST": "RST0",
        "GSR": "DISABLED",
    }
    cell["port_directions"] |= dict.fromkeys(given, "input")
    cell["connections"] |= {port: [bit] for port, bit in given.items()}
    return True


def _block_ram(cell: dict[str, Any], clock: Bit, enable: Bit) -> bool:
    """Enable the output registers of a DP16KD, if they can replace the flip-flops.

    Port B is the read port, or port A in a memory that is never written. A 36-bit word uses the outputs
    of both ports, with port A for its low half. It is not documented which clock and enable the register
    of the low half uses, so both ports must have the same.
    """
    parameters, connections = cell["parameters"], cell["connections"]
    reads = "A" if connections["CEB"] == ["0"] else "B"
    ports = "AB" if int(parameters["DATA_WIDTH_B"], 2) == _WIDE else reads
    fixed = {
        **{f"CLK{port}": clock for port in ports},
        **{f"CE{port}": _ALWAYS for port in ports},
        **{f"RST{port}": "0" for port in ports},
        f"OCE{reads}": _ALWAYS,
    }
    if enable != _ALWAYS or any(connections[port] != [bit] for port, bit in fixed.items()):
        return False
    if any(parameters[f"REGMODE_{port}"] != "NOREG" for port in ports):
        return False
    for port in ports:
        parameters[f"REGMODE_{port}"] = "OUTREG"
        connections[f"OCE{port}"] = [_ALWAYS]
    return True


_TAKE = {"MULT18X18D": _multiplier, "DP16KD": _block_ram}
