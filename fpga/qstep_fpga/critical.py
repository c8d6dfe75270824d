"""Describes the critical path in words."""

from __future__ import annotations

import re
from typing import Any

from qstep_fpga.clocks import is_of_lanes
from qstep_fpga.pin_wrapper import DEVICE, LANE, LANE_WRAPPER

__all__ = ["describe"]

# In the report, a cell's name consists of the net that it drives and the cell's type.
_CELL = re.compile(
    r"_(SB_|LUT|DFF|TRELLIS|ALU|MUX|MULT|CCU2C|DP16KD|PFUMX|L6MUX|BSRAM|DPX|SDPX|\$).*"
)


def describe(report: dict[str, Any]) -> str:
    """Describe the lanes' critical path in one sentence, from a place-and-route report."""
    inside = [path for path in report["critical_paths"] if path["from"] == path["to"]]
    lanes = [path for path in inside if is_of_lanes(path["to"])]
    path = max(lanes or inside, key=lambda path: sum(step["delay"] for step in path["path"]))[
        "path"
    ]
    total = sum(step["delay"] for step in path)
    wires = sum(step["delay"] for step in path if step["type"] == "routing")
    cells = sum(step["type"] == "logic" for step in path)
    return (
        f"{total:.1f} ns from {_name(path[0]['from']['cell'])} to {_name(path[-1]['to']['cell'])} "
        f"through {cells} cells, {wires / total:.0%} of it in wires"
    )


def _name(cell: str) -> str:
    for prefix in (DEVICE, "device.", LANE, LANE_WRAPPER):
        cell = cell.removeprefix(prefix)
    return _CELL.sub("", cell)
