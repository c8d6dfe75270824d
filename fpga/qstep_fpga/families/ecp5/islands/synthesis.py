"""Synthesises a farm in two parts: the island, and all other logic."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from qstep._io import cache
from qstep.spec.config import Config
from qstep_fpga import pll, tools
from qstep_fpga.board import Board
from qstep_fpga.families import FAMILIES
from qstep_fpga.families.base import NETLIST
from qstep_fpga.netlist import (
    files_around,
    identity,
    read,
    read_board,
    refine,
    refinements,
    stage,
)
from qstep_fpga.pin_wrapper import WRAPPER, around_device
from qstep_rtl.island import ISLAND, ISLAND_FILE

__all__ = ["synthesise_farm"]

# LUTs with more than four inputs, which are built from several LUTs, are disabled: nextpnr renames their
# cells, and they are no faster here.
_NO_WIDE = " -nowidelut"

# Both flip-flops of a slice share enable and reset. nextpnr places small groups of flip-flops with a
# separate enable or reset last; in a full site it then finds no empty slice and never finishes. With
# such groups, 1,476 LUTs in 2,016 LUT BELs were not placed in eight minutes; without them, one minute is
# enough. Enables and resets of fewer than 5 flip-flops therefore become logic, which costs 12 LUTs.
_KINDS = "$_DFF_?_ $_DFFE_??_ $_DFF_?P?_ $_DFFE_?P??_ $_SDFF_?P?_ $_SDFFE_?P??_"
_RARE = "dfflegalize -mince 5 -minsrst 5 " + " ".join(f"-cell {kind} 01" for kind in _KINDS.split())

_NO_LINES = "setattr -unset src"
"""Removes line numbers, so that editing a comment does not cause all lanes to be placed again."""


def synthesise_farm(board: Board, config: Config) -> Path:  # pragma: no cover: takes minutes
    """Return a netlist of ``board`` and ``qs_island``, cached or newly synthesised.

    Parameters
    ----------
    board : Board
        A board with an ECP5.
    config : Config
        A configuration with several lanes.

    Raises
    ------
    ToolMissingError
        The FPGA tools are not installed.
    BuildError
        A tool failed, or the PLL cannot generate the clock of `config`.
    """
    family = FAMILIES[board.family]
    build = identity(board, config)
    scripts = {
        WRAPPER: read_board(board, config, options=f"--blackboxed-module {ISLAND}"),
        ISLAND: [read(ISLAND, ISLAND_FILE, config=config)],
    }
    parts = [build, str(scripts)]  # the build's identity covers all other inputs

    def make(folder: Path) -> Path:
        pll.make(board, config, folder)
        stage(config, folder)
        for path in files_around(board, config):
            shutil.copy(path, folder)
        top_text = around_device(board, config, build)
        (folder / f"{WRAPPER}.il").write_text(top_text, encoding="utf-8")
        modules = {}
        for top, reading in scripts.items():
            synthesis = f"{family.synthesis}{_NO_WIDE} -top {top}"
            commands = [*reading, f"{synthesis} -run :map_ffs"]
            if top == ISLAND:
                commands += ["opt_clean", _RARE, _NO_LINES]
            commands += [f"{synthesis} -json {NETLIST} -run map_ffs:"]
            tools.yosys("; ".join(commands), folder)
            refine(refinements(family, agents=True), folder / NETLIST, top)
            content = json.loads((folder / NETLIST).read_text(encoding="utf-8"))
            modules[top] = content["modules"][top]
        kept = folder / "farm.json"
        kept.write_text(json.dumps({"creator": "qstep", "modules": modules}), encoding="utf-8")
        return kept

    return cache.fetch(hashlib.sha256("\0".join(parts).encode()).hexdigest(), ".json", make)
