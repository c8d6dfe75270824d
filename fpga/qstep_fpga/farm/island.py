"""Place one lane alone, in its site, with many seeds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from qstep_fpga.farm.around import clock_of
from qstep_fpga.farm.dummies import DUMMY, dummies, register
from qstep_fpga.farm.fence import FENCE, fence
from qstep_fpga.farm.grid import LOGIC, Grid, command, design, parse
from qstep_fpga.farm.routes import steps, tile_of
from qstep_fpga.farm.sites import Site, extent

__all__ = ["PlacedIsland", "outside", "place_island", "place_islands", "read_packed"]


@dataclass(frozen=True)
class PlacedIsland:
    """One lane, placed and routed alone.

    Attributes
    ----------
    seed : int
    fmax_mhz : float
        Highest clock that the tool's timing analysis allows.
    leaked : int
        Cells and wires outside its site; such a placement cannot be copied.
    file : Path
        The packed netlist with places and routes.
    """

    seed: int
    fmax_mhz: float
    leaked: int
    file: Path

    def __str__(self) -> str:
        leaked = f", {self.leaked} cells and wires outside the site" if self.leaked else ""
        return f"seed {self.seed}: {self.fmax_mhz:.1f} MHz{leaked}"


def read_packed(file: Path) -> dict[str, Any]:
    """Return the module of a lane that was placed, from its file."""
    module: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["modules"]["top"]
    return module


def _inputs(island: Mapping[str, Any], clock: str) -> dict[str, dict[str, int]]:
    """Return what drives the inputs of a lane, but for its clock: ports to names and nets of flip-flops.

    The routes to its inputs begin there. Flip-flops and routes are not copied, so there is room for
    others.
    """
    return {
        port: {f"{DUMMY}{port}[{index}]": bit for index, bit in enumerate(described["bits"])}
        for port, described in island["ports"].items()
        if described["direction"] == "input" and port != clock
    }


def _placed(file: Path, inputs: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    """Return the module of a netlist that nextpnr wrote, with inputs, without dummies and fence."""
    module: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["modules"]["top"]
    cells = module["cells"]
    for port, drivers in inputs.items():
        bits = [cells[name]["connections"]["Q"][0] for name in drivers]
        module["ports"][port] = {"direction": "input", "bits": bits}
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
    """Place and route a lane in a site with one seed, or find it in the cache.

    Parameters
    ----------
    board : Board
    grid : Grid
        Of the chip.
    island : dict
        Module of a JSON netlist of yosys.
    site : Site
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
    driver = next(bel for bel in grid.places[LOGIC] if bel.tile not in site)
    nets = island["netnames"].values()
    free = 1 + max(bit for net in nets for bit in net["bits"] if isinstance(bit, int))
    cells[f"{DUMMY}{driver}"] = register(driver, {"Q": free})
    clock = clock_of(island)
    (clock_net,) = island["ports"][clock]["bits"]
    inputs = _inputs(island, clock)
    cells |= {
        name: register(None, {"CLK": clock_net, "Q": bit})
        for port, bits in inputs.items()
        for name, bit in bits.items()
    }
    ports = {name: port for name, port in island["ports"].items() if name not in inputs}
    fenced = {**island["netnames"], FENCE: fence(site, extent(grid), free)}
    netlist = design("lane", cells, ports, fenced)
    words = [*command(board), "--write", "placed.json", "--report", REPORT, "--seed", str(seed)]
    words += ["--freq", f"{clock_hz / 1e6:g}", "--timing-allow-fail", *TIMING_WEIGHT]
    parts = [netlist, *words, str(tools.versions(FAMILIES[board.family].packages))]

    def make(folder: Path) -> Path:
        (folder / NETLIST).write_text(netlist, encoding="utf-8")
        tools.run(words, folder)
        module = _placed(folder / "placed.json", inputs)
        clocks = json.loads((folder / REPORT).read_text(encoding="utf-8"))["fmax"].values()
        fmax = min(float(clock["achieved"]) for clock in clocks)
        kept = folder / "island.json"
        kept.write_text(json.dumps({"fmax": fmax, "modules": {"top": module}}), encoding="utf-8")
        return kept

    file = cache.fetch(hashlib.sha256("\0".join(parts).encode()).hexdigest(), ".json", make)
    kept = json.loads(file.read_text(encoding="utf-8"))
    leaked = sum(1 for _ in outside(kept["modules"]["top"], site))
    return PlacedIsland(seed, kept["fmax"], leaked, file)


def outside(module: Mapping[str, Any], site: Site) -> Iterator[str]:
    """Yield the places of cells, and the wires, that are not in a site."""
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
    """Place a lane with several seeds, and return the fastest that stayed inside.

    `progress` is called with what each led to. In a full site some seeds find no place or no route for
    something; that is an error only if all do.

    Raises
    ------
    BuildError
        None was placed and routed inside.
    ToolMissingError
        The FPGA tools are not installed.
    """

    def attempt(seed: int) -> PlacedIsland | str:
        try:
            return place_island(board, grid, island, site, clock_hz, seed)
        except BuildError as error:
            return f"seed {seed}: not placed and routed: {str(error).rstrip().splitlines()[-1]}"

    attempts = in_parallel(attempt, seeds, workers, lambda one: progress(str(one)))
    inside = [one for one in attempts if isinstance(one, PlacedIsland) and not one.leaked]
    if not inside:
        raise BuildError(
            f"the lane was placed and routed in its site of {len(site)} tiles with none of "
            f"{len(attempts)} seeds; the last one: {attempts[-1]}. Try more seeds"
        )
    return max(inside, key=lambda one: one.fmax_mhz)
