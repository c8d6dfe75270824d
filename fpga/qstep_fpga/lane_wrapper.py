"""Counts the wrapper's cells in a netlist of the lane alone; they are not part of the lane."""

from __future__ import annotations

from collections import Counter
from typing import Any

from qstep_fpga.pin_wrapper import LANE_WRAPPER

__all__ = ["wrapper_cells"]

_REGISTERS = ("chain_q", "in_q", "out_q", "shifted_q")


def wrapper_cells(module: dict[str, Any]) -> Counter[str]:
    """Count the cells of ``qs_lane_wrapper`` by type, in a netlist of the lane alone.

    The cells are the flip-flops of the wrapper's four registers, and the logic that selects the last
    register's next value.
    """
    nets = {name: set(module["netnames"][LANE_WRAPPER + name]["bits"]) for name in _REGISTERS}
    cells = list(module["cells"].values())
    registers = [cell for cell in cells if _bits(cell, "output") & set.union(*nets.values())]
    shifting = [cell for cell in registers if _bits(cell, "output") & nets["shifted_q"]]
    chosen = set().union(*(_bits(cell, "input") for cell in shifting)) - set.union(*nets.values())
    choosing = [cell for cell in cells if _bits(cell, "output") & chosen]
    return Counter(cell["type"] for cell in registers + choosing)


def _bits(cell: dict[str, Any], direction: str) -> set[int | str]:
    """Return the nets at the outputs or inputs of a cell."""
    ways = cell["port_directions"]
    ports = cell["connections"].items()
    return {bit for port, bits in ports if ways[port] == direction for bit in bits}
