"""Stand-ins for the tools in tests of the build flow: a netlist, and a placement of it."""

import json
from dataclasses import replace
from pathlib import Path

from qstep_fpga.board import load
from qstep_fpga.pin_wrapper import WRAPPER
from qstep_fpga.placement import Placement

__all__ = ["BOARD", "netlist", "placement"]

# The board gets its own clock, so the figures below do not depend on the original board's clock.
_SMALLEST = load("icebreaker")
_LINK = replace(_SMALLEST.config.link, clock_hz=24_000_000)
BOARD = replace(_SMALLEST, config=replace(_SMALLEST.config, link=_LINK))


def netlist(folder: Path, **cells: int) -> Path:
    entries = {
        f"{kind}{index}": {"type": kind} for kind, count in cells.items() for index in range(count)
    }
    path = folder / "netlist.json"
    path.write_text(json.dumps({"modules": {WRAPPER: {"cells": entries}}}), encoding="utf-8")
    return path


def placement(seed: int, fmax: float) -> Placement:
    step = {"delay": 20.0, "from": {"cell": "a_SB_DFF_Q"}, "to": {"cell": "b"}, "type": "clk-to-q"}
    wire = {**step, "delay": 60.0, "type": "routing"}
    paths = [
        {"from": "posedge clk", "to": "posedge clk", "path": [step, wire]},
        {"from": "<async>", "to": "posedge clk", "path": [{**wire, "delay": 99.0}]},
    ]
    ice40 = ("ICESTORM_LC", "ICESTORM_RAM", "ICESTORM_DSP")
    ecp5 = ("TRELLIS_COMB", "TRELLIS_FF", "DP16KD", "MULT18X18D")
    use = {kind: {"used": 1, "available": 2} for kind in (*ice40, *ecp5)}
    report = {"fmax": {"clk": {"achieved": fmax}}, "utilization": use, "critical_paths": paths}
    return Placement(seed, fmax, report, Path("unused"))
