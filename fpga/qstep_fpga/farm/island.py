"""Place one lane alone, in its site, with many seeds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qstep import cache
from qstep.errors import BuildError
from qstep.scheduler import Workers, in_parallel
from qstep_fpga import tools
from qstep_fpga.board import Board
from qstep_fpga.families import FAMILIES
from qstep_fpga.families.base import NETLIST, REPORT
from qstep_fpga.families.ecp5 import TIMING_WEIGHT
from qstep_fpga.farm.dummies import DUMMY, dummies
from qstep_fpga.farm.grid import Grid, command, design, parse
from qstep_fpga.farm.sites import Rectangle

__all__ = ["PlacedIsland", "place_island", "place_islands", "read_packed"]


@dataclass(frozen=True)
class PlacedIsland:
    """One lane, placed and routed alone.

    Attributes
    ----------
    seed : int
    fmax_mhz : float
        Highest clock that the tool's timing analysis allows.
    leaked : int
        Cells outside its site; such a placement cannot be copied.
    file : Path
        The packed netlist with places and routes.
    """

    seed: int
    fmax_mhz: float
    leaked: int
    file: Path


def read_packed(file: Path) -> dict[str, Any]:
    """Return the module of a netlist that nextpnr wrote, without dummies."""
    module: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["modules"]["top"]
    module["cells"] = {
        name: cell for name, cell in module["cells"].items() if not name.startswith(DUMMY)
    }
    return module


def place_island(
    board: Board,
    grid: Grid,
    island: Mapping[str, Any],
    site: Rectangle,
    clock_hz: int,
    seed: int,
) -> PlacedIsland:
    """Place and route a lane in a site with one seed, or find it in the cache.

    Parameters
    ----------
    board : Board
    grid : Grid
        Of the chip.
    island : dict
        Module of a JSON netlist of yosys.
    site : Rectangle
        With room for it.
    clock_hz : int
        What to place for.
    seed : int

    Raises
    ------
    BuildError
        The tool failed, for example as the lane does not fit its site.
    """
    taken = [bel for bels in grid.places.values() for bel in bels if bel.tile not in site]
    cells = {**island["cells"], **dummies(taken)}
    netlist = design("lane", cells, island["ports"], island["netnames"])
    words = [*command(board), "--write", "placed.json", "--report", REPORT, "--seed", str(seed)]
    words += ["--freq", f"{clock_hz / 1e6:g}", "--timing-allow-fail", *TIMING_WEIGHT]
    parts = [netlist, *words, str(tools.versions(FAMILIES[board.family].packages))]

    def make(folder: Path) -> Path:
        (folder / NETLIST).write_text(netlist, encoding="utf-8")
        tools.run(words, folder)
        module = read_packed(folder / "placed.json")
        clocks = json.loads((folder / REPORT).read_text(encoding="utf-8"))["fmax"].values()
        fmax = min(float(clock["achieved"]) for clock in clocks)
        kept = folder / "island.json"
        kept.write_text(json.dumps({"fmax": fmax, "modules": {"top": module}}), encoding="utf-8")
        return kept

    file = cache.fetch(hashlib.sha256("\0".join(parts).encode()).hexdigest(), ".json", make)
    kept = json.loads(file.read_text(encoding="utf-8"))
    placed = kept["modules"]["top"]["cells"].values()
    leaked = sum(parse(cell["attributes"]["NEXTPNR_BEL"]).tile not in site for cell in placed)
    return PlacedIsland(seed, kept["fmax"], leaked, file)


def place_islands(
    board: Board,
    grid: Grid,
    island: Mapping[str, Any],
    site: Rectangle,
    clock_hz: int,
    seeds: Sequence[int],
    workers: Workers,
    progress: Callable[[PlacedIsland], None],
) -> PlacedIsland:
    """Place a lane with several seeds, and return the fastest that stayed inside.

    `progress` is called as each is done. Errors as for :func:`place_island`, and:

    Raises
    ------
    BuildError
        None stayed inside.
    """
    placed = in_parallel(
        lambda seed: place_island(board, grid, island, site, clock_hz, seed),
        seeds,
        workers,
        progress,
    )
    inside = [one for one in placed if not one.leaked]
    if not inside:
        raise BuildError(
            f"the lane stayed in its site of {site.width} x {site.height} tiles with none of "
            f"{len(placed)} seeds: at best {min(one.leaked for one in placed)} cells were outside. "
            "Try more seeds"
        )
    return max(inside, key=lambda one: one.fmax_mhz)
