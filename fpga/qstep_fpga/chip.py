"""The resources of a chip, as the placer reports them for an empty design."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from qstep._io import cache
from qstep_fpga import tools
from qstep_fpga.board import Board
from qstep_fpga.families import FAMILIES
from qstep_fpga.families.base import CONSTRAINTS, NETLIST, REPORT

__all__ = ["available", "counted"]

_NOTHING = json.dumps(
    {
        "creator": "qstep",
        "modules": {
            "nothing": {"attributes": {"top": "1"}, "ports": {}, "cells": {}, "netnames": {}}
        },
    }
)


def available(board: Board) -> dict[str, int]:
    """Return the resources of a board's chip, by its family's resource names.

    The first call takes seconds; later calls use the cache.

    Raises
    ------
    ToolMissingError
        The FPGA tools are not installed.
    BuildError
        The placer does not support the chip.
    """
    family = FAMILIES[board.family]
    command = [*family.place(board), "--json", NETLIST, "--report", REPORT, "--timing-allow-fail"]
    parts = [_NOTHING, *command, str(tools.versions(family.packages))]

    def make(folder: Path) -> Path:
        (folder / NETLIST).write_text(_NOTHING, encoding="utf-8")
        (folder / CONSTRAINTS).write_text("", encoding="utf-8")
        tools.run(command, folder)
        return folder / REPORT

    file = cache.fetch(hashlib.sha256("\0".join(parts).encode()).hexdigest(), ".json", make)
    return counted(board, json.loads(file.read_text(encoding="utf-8")), "available")


def counted(board: Board, report: dict[str, Any], what: str) -> dict[str, int]:
    """Return the ``used`` or ``available`` amount of each resource in a place-and-route report."""
    use = report["utilization"]
    return {
        label: sum(use[name][what] for name in names)
        for label, names in FAMILIES[board.family].resources.items()
    }
