"""Places one lane alone, in its site, with many seeds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qstep._io import cache
from qstep._io.workers import Workers
from qstep.errors import BuildError
from qstep_fpga import tools
from qstep_fpga.board import Board
from qstep_fpga.families import FAMILIES
from qstep_fpga.families.base import NETLIST, REPORT
from qstep_fpga.families.ecp5.family import TIMING_WEIGHT
from qstep_fpga.families.ecp5.islands.around import clock_of
from qstep_fpga.families.ecp5.islands.dummies import DUMMY, dummies, register
from qstep_fpga.families.ecp5.islands.fence import FENCE, fence
from qstep_fpga.families.ecp5.islands.grid import LOGIC, Grid, command, design, parse
from qstep_fpga.families.ecp5.islands.routes import steps, tile_of
from qstep_fpga.families.ecp5.islands.seeds import with_seeds
from qstep_fpga.families.ecp5.islands.sites import Site, extent

__all__ = ["PlacedIsland", "outside", "place_island", "place_islands"]


_FMAX, _PATH = "fmax", "critical_path"
"""Keys of the figures that are stored with the netlist."""

_WAYS = {"input": "Q", "output": "M"}
"""Flip-flop pin at a lane's port, by the port's direction."""


@dataclass(frozen=True)
class PlacedIsland:
    """One lane, placed and routed alone.

    Attributes
    ----------
    seed : int
    fmax_mhz : float
        Highest clock that the tool's timing analysis allows.
    path : list of dict
        The critical path, as nextpnr reports it.
    file : Path
        The packed netlist with BELs and routes.
    """

    seed: int
    fmax_mhz: float
    path: list[dict[str, Any]]
    file: Path

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.fmax_mhz:.1f} MHz"

    def module(self) -> dict[str, Any]:
        """Return the module in the file."""
        module: dict[str, Any] = json.loads(self.file.read_text(encoding="utf-8"))["modules"]["top"]
        return module


def _others(island: Mapping[str, Any], clock: str, site: Site, grid: Grid) -> dict[str, Any]:
    """Return flip-flops in the middle of the site, at all of a lane's ports except its clock, by name.

    They stand in for the flip-flops of the previous and the next lane, so that the flip-flops at the
    lane's ports are placed near them. The stand-ins and their routes are not copied, so their wires stay
    free.
    """
    columns, rows = zip(*site, strict=True)
    middle = sum(columns) / len(site), sum(rows) / len(site)
    places = sorted(
        (bel for bel in grid.places[LOGIC] if bel.tile in site),
        key=lambda bel: abs(bel.column - middle[0]) + abs(bel.row - middle[1]),
    )
    (clock_net,) = island["ports"][clock]["bits"]
    bits = [
        (f"{DUMMY}{name}[{index}]", _WAYS[port["direction"]], bit)
        for name, port in island["ports"].items()
        if name != clock
        for index, bit in enumerate(port["bits"])
    ]
    return {
        name: register(bel, {"CLK": clock_net, way: bit})
        for bel, (name, way, bit) in zip(places, bits, strict=False)
    }


def _placed(file: Path, ports: Mapping[str, Any]) -> dict[str, Any]:  # pragma: no cover: see make
    """Return the module that nextpnr wrote, with these ports added, and dummies and fence removed."""
    module: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["modules"]["top"]
    cells = module["cells"]
    for port, described in ports.items():
        ends = [cells[f"{DUMMY}{port}[{index}]"] for index, _ in enumerate(described["bits"])]
        way = _WAYS[described["direction"]]
        bits = [end["connections"][way][0] for end in ends]
        module["ports"][port] = {**described, "bits": bits}
    del module["netnames"][FENCE]
    module["cells"] = {name: cell for name, cell in cells.items() if not name.startswith(DUMMY)}
    return module


def place_island(
    board: Board,
    grid: Grid,
    island: Mapping[str, Any],
    site: Site,
    clock_hz: int,
    seed: int,
) -> PlacedIsland:
    """Place and route a lane in a site with one seed, or return it from the cache.

    Parameters
    ----------
    board : Board
    grid : Grid
        BELs of the chip.
    island : dict
        Module of a yosys JSON netlist.
    site : Site
        A site that is large enough for the lane.
    clock_hz : int
        Target clock.
    seed : int

    Raises
    ------
    BuildError
        The tool failed, for example because the lane does not fit its site; or part of the lane is
        outside the site, so it cannot be copied.
    """
    taken = [bel for bels in grid.places.values() for bel in bels if bel.tile not in site]
    cells = {**island["cells"], **dummies(taken)}
    driver = next(bel for bel in grid.places[LOGIC] if bel.tile not in site)
    nets = island["netnames"].values()
    free = 1 + max(bit for net in nets for bit in net["bits"] if isinstance(bit, int))
    cells[f"{DUMMY}{driver}"] = register(driver, {"Q": free})
    clock = clock_of(island)
    cells |= _others(island, clock, site, grid)
    ports = {name: port for name, port in island["ports"].items() if name != clock}
    fenced = {**island["netnames"], FENCE: fence(site, extent(grid), free)}
    netlist = design("lane", cells, {clock: island["ports"][clock]}, fenced)
    words = [*command(board), "--write", "placed.json", "--report", REPORT, "--seed", str(seed)]
    words += ["--freq", f"{clock_hz / 1e6:g}", "--timing-allow-fail", *TIMING_WEIGHT]
    parts = [netlist, *words, str(tools.versions(FAMILIES[board.family].packages)), _FMAX, _PATH]

    def make(folder: Path) -> Path:  # pragma: no cover: a test may find it in the cache
        (folder / NETLIST).write_text(netlist, encoding="utf-8")
        tools.run(words, folder)
        module = _placed(folder / "placed.json", ports)
        report = json.loads((folder / REPORT).read_text(encoding="utf-8"))
        (clock,) = report["fmax"].values()
        paths = [path["path"] for path in report["critical_paths"] if path["from"] == path["to"]]
        content = {_FMAX: clock["achieved"], _PATH: paths[0], "modules": {"top": module}}
        kept = folder / "island.json"
        kept.write_text(json.dumps(content), encoding="utf-8")
        return kept

    file = cache.fetch(hashlib.sha256("\0".join(parts).encode()).hexdigest(), ".json", make)
    kept = json.loads(file.read_text(encoding="utf-8"))
    if leaked := sum(1 for _ in outside(kept["modules"]["top"], site)):
        raise BuildError(
            f"{leaked} cells and wires are outside the site"
        )  # pragma: no cover: nextpnr keeps a lane inside its fence
    return PlacedIsland(seed, kept[_FMAX], kept[_PATH], file)


def outside(module: Mapping[str, Any], site: Site) -> Iterator[str]:
    """Yield the BELs of cells, and the wires, that are outside a site."""
    for cell in module["cells"].values():
        place = cell["attributes"]["NEXTPNR_BEL"]
        if parse(place).tile not in site:
            yield place
    for net in module["netnames"].values():
        for wire, *_ in steps(net["attributes"].get("ROUTING", "")):
            if tile_of(wire) not in site:
                yield wire


def place_islands(
    board: Board,
    grid: Grid,
    island: Mapping[str, Any],
    site: Site,
    clock_hz: int,
    seeds: Sequence[int],
    workers: Workers,
    progress: Callable[[str], None],
) -> PlacedIsland:
    """Place a lane with several seeds until one reaches the clock; return it, or else the fastest.

    `progress` is called with each seed's result. In a full site, placement or routing fails with some
    seeds, or uses BELs or wires outside the site; this is an error only if all seeds fail.

    Raises
    ------
    BuildError
        No seed placed and routed the lane inside its site.
    ToolMissingError
        The FPGA tools are not installed.
    """

    def placed(seed: int) -> PlacedIsland:
        return place_island(board, grid, island, site, clock_hz, seed)

    def is_fast(one: PlacedIsland) -> bool:
        return one.fmax_mhz >= clock_hz / 1e6

    what = f"the lane was placed and routed in its site of {len(site)} tiles"
    inside = with_seeds(placed, seeds, workers, progress, what, is_fast)
    # Use the first seed that is fast enough, regardless of how many were placed at a time.
    return next(filter(is_fast, inside), max(inside, key=lambda one: one.fmax_mhz))
