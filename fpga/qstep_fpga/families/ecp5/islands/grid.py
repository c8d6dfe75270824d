"""The BELs of an ECP5 for flip-flops, block RAMs and multipliers, found by filling a chip once."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qstep._io import cache
from qstep_fpga import chip, tools
from qstep_fpga.board import Board
from qstep_fpga.families import FAMILIES
from qstep_fpga.families.base import NETLIST
from qstep_fpga.families.ecp5.family import nextpnr

__all__ = [
    "KINDS",
    "LOGIC",
    "Bel",
    "Grid",
    "Tile",
    "command",
    "design",
    "parse",
    "survey",
    "unconnected",
]

Tile = tuple[int, int]
"""Column and row."""

LOGIC = "FF"
KINDS = {"FF": "TRELLIS_FF", "block RAM": "DP16KD", "DSP": "MULT18X18D"}
"""Type of the cell that uses each resource, by the ECP5 family's resource names."""

_BEL = re.compile(r"X(\d+)/Y(\d+)/(\w+(?:\.\w+)?)")


@dataclass(frozen=True, slots=True, order=True)
class Bel:
    """A position for one cell, in nextpnr's terms: a tile, and a name within it.

    Converted to text, it is nextpnr's name, for example ``X4/Y22/EBR0``.
    """

    column: int
    row: int
    name: str

    def __str__(self) -> str:
        return f"X{self.column}/Y{self.row}/{self.name}"

    @property
    def tile(self) -> Tile:
        """The tile that contains the BEL."""
        return self.column, self.row

    def moved(self, by: Tile) -> Bel:
        """Return the BEL of the same name in the tile at an offset of some columns and rows."""
        return Bel(self.column + by[0], self.row + by[1], self.name)


def parse(text: str) -> Bel:
    """Return the BEL that nextpnr calls `text`.

    Raises
    ------
    ValueError
        `text` does not name a BEL.
    """
    match = _BEL.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a place on an ECP5")
    return Bel(int(match[1]), int(match[2]), match[3])


@dataclass(frozen=True)
class Grid:
    """The BELs of a chip for flip-flops, block RAMs and multipliers.

    Each flip-flop ``SLICEA.FF0`` has a LUT ``SLICEA.K0`` next to it; a logic tile has eight of each.

    Attributes
    ----------
    places : dict
        Sorted BELs of each kind, by the names in :data:`KINDS`.
    """

    places: Mapping[str, tuple[Bel, ...]]

    def tiles(self, kind: str) -> set[Tile]:
        """Return the tiles that have a BEL of a kind."""
        return {bel.tile for bel in self.places[kind]}


def survey(board: Board) -> Grid:
    """Return the BELs of a board's chip, from the cache or determined in about 10 s.

    Raises
    ------
    ToolMissingError
        The FPGA tools are not installed.
    BuildError
        The placer does not support the chip.
    """
    there = chip.available(board)
    cells = {
        f"{kind}{number}": unconnected(cell)
        for kind, cell in KINDS.items()
        for number in range(there[kind])
    }
    netlist = design("full", cells)
    words = [*command(board), "--no-route", "--write", "placed.json"]
    parts = [netlist, *words, str(tools.versions(FAMILIES[board.family].packages))]

    def make(folder: Path) -> Path:  # pragma: no cover: a test may find it in the cache
        (folder / NETLIST).write_text(netlist, encoding="utf-8")
        tools.run(words, folder)
        placed = json.loads((folder / "placed.json").read_text(encoding="utf-8"))
        found: dict[str, list[str]] = {kind: [] for kind in KINDS}
        for name, cell in placed["modules"]["top"]["cells"].items():
            found[name.rstrip("0123456789")].append(cell["attributes"]["NEXTPNR_BEL"])
        (folder / "grid.json").write_text(json.dumps(found), encoding="utf-8")
        return folder / "grid.json"

    file = cache.fetch(hashlib.sha256("\0".join(parts).encode()).hexdigest(), ".json", make)
    return _grid(json.loads(file.read_text(encoding="utf-8")))


def _grid(found: Mapping[str, Iterable[str]]) -> Grid:
    return Grid({kind: tuple(sorted(map(parse, bels))) for kind, bels in found.items()})


def command(board: Board) -> list[str]:
    """Return nextpnr's command line for a design without pins on the chip of a board."""
    return [*nextpnr(board), "--out-of-context", "--json", NETLIST]


def unconnected(kind: str, **attributes: str) -> dict[str, Any]:
    """Return an unconnected cell of a JSON netlist."""
    empty: dict[str, Any] = {"parameters": {}, "port_directions": {}, "connections": {}}
    return {"hide_name": 0, "type": kind, **empty, "attributes": attributes}


def design(
    name: str,
    cells: Mapping[str, Any],
    ports: Mapping[str, Any] | None = None,
    netnames: Mapping[str, Any] | None = None,
) -> str:
    """Return a JSON netlist of one module."""
    module = {"attributes": {"top": "1"}, "ports": ports or {}, "cells": cells}
    return json.dumps(
        {"creator": "qstep", "modules": {name: {**module, "netnames": netnames or {}}}}
    )
