"""Sets the write modes of ECP5 block RAM ports so that no port is slower than necessary."""

from __future__ import annotations

from typing import Any

from qstep_fpga.families.ecp5.registers import _bits

__all__ = ["quiet_ports"]

_SLOW = "READBEFOREWRITE"


def quiet_ports(module: dict[str, Any]) -> int:
    """Set ports of block RAMs that never write, or are never read, to NORMAL; return how many.

    yosys sets all ports to READBEFOREWRITE, the mode with the slowest clock. The mode determines what a
    port reads while it writes, so it is irrelevant for a port that only reads or only writes.

    Parameters
    ----------
    module : dict
        A module of a yosys JSON netlist; changed in place.
    """
    cells = module["cells"].values()
    uses = {bit for port in module["ports"].values() for bit in port["bits"]}
    uses.update(bit for cell in cells for bit in _bits(cell, "input"))
    changed = 0
    for cell in cells:
        if cell["type"] != "DP16KD":
            continue
        wires, modes = cell["connections"], cell["parameters"]
        for port in "AB":
            never_writes = wires.get(f"WE{port}", ["0"]) == ["0"]
            outputs = [
                bit for name, bits in wires.items() if name.startswith(f"DO{port}") for bit in bits
            ]
            if modes.get(f"WRITEMODE_{port}") == _SLOW and (
                never_writes or not uses.intersection(outputs)
            ):
                modes[f"WRITEMODE_{port}"] = "NORMAL"
                changed += 1
    return changed
