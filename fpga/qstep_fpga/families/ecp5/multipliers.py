"""Uses the registers before, inside and after ECP5's multipliers, which make them fast.

yosys 0.70 leaves all three unused. :mod:`qstep_fpga.families.ecp5.registers` absorbs the register after
a multiplier. This module uses the other two, if the multiplier has separate registers at its operands
and another register after its result.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from qstep_fpga.families.ecp5.registers import Bit, _bits, _control

__all__ = ["deepen_multipliers"]

_REGISTERS = ("INPUTA", "INPUTB", "PIPELINE")


def deepen_multipliers(module: dict[str, Any]) -> int:
    """Move flip-flops into adjacent multipliers of a yosys netlist; return how many multipliers changed.

    A multiplier with an output register absorbs the flip-flops before its operands and after its result
    if all have its clock and enable, none has a reset, and its result drives nothing else. A flip-flop
    before two multipliers is absorbed by both, and a flip-flop with other loads is also kept. Two
    registers after a product are equivalent to one register inside the multiplier and one after it.
    """
    cells = module["cells"]
    uses = Counter(bit for port in module["ports"].values() for bit in port["bits"])
    uses.update(bit for cell in cells.values() for bit in _bits(cell, "input"))
    flip_flops = {name: cell for name, cell in cells.items() if cell["type"] == "TRELLIS_FF"}
    before = {cell["connections"]["Q"][0]: name for name, cell in flip_flops.items()}
    behind = {cell["connections"]["DI"][0]: name for name, cell in flip_flops.items()}
    multipliers = [
        cell
        for cell in cells.values()
        if cell["parameters"].get("REG_OUTPUT_CLK", "NONE") != "NONE"
    ]
    deep = 0
    for cell in multipliers:
        connections = cell["connections"]
        ports = _ports(cell, "ABP")
        operands = Counter(_operands(cell))
        results = [
            bit for port in ports if port[0] == "P" for bit in connections[port] if uses[bit]
        ]
        if not all(bit in before for bit in operands):
            continue
        if not all(bit in behind and uses[bit] == 1 for bit in results):
            continue
        taken = [*(before[bit] for bit in operands), *(behind[bit] for bit in results)]
        own = connections["CLK0"][0], connections["CE0"][0]
        if {_control(cells[name]) for name in taken} != {own}:
            continue
        moved = {bit: cells[before[bit]]["connections"]["DI"][0] for bit in operands}
        moved |= {bit: cells[behind[bit]]["connections"]["Q"][0] for bit in results}
        uses -= operands
        idle = [before[bit] for bit in operands if not uses[bit]]
        for name in (*idle, *(behind[bit] for bit in results)):
            del cells[name]
        for port in ports:
            connections[port] = [moved.get(bit, bit) for bit in connections[port]]
        for register in _REGISTERS:
            given = {"CLK": "CLK0", "CE": "CE0", "RST": "RST0"}
            cell["parameters"] |= {f"REG_{register}_{pin}": net for pin, net in given.items()}
        deep += 1
    return deep


def _ports(multiplier: dict[str, Any], letters: str) -> list[str]:
    """Return the ports of a multiplier's operands (A, B) or result (P), one per bit."""
    ports = multiplier["connections"]
    return [port for port in ports if port[0] in letters and port[1:].isdigit()]


def _operands(multiplier: dict[str, Any]) -> list[Bit]:
    ports = _ports(multiplier, "AB")
    nets = (bit for port in ports for bit in multiplier["connections"][port])
    return [bit for bit in nets if isinstance(bit, int)]
