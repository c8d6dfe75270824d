"""Builds a routed farm of identical lanes: places one lane, copies it, and checks the result."""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qstep._io import cache
from qstep._io.workers import Workers
from qstep.errors import BuildError
from qstep_fpga import tools
from qstep_fpga.board import Board
from qstep_fpga.clocks import is_of_lanes
from qstep_fpga.families import FAMILIES
from qstep_fpga.families.base import CONSTRAINTS, NETLIST, PLACED, REPORT
from qstep_fpga.families.ecp5.family import nextpnr
from qstep_fpga.families.ecp5.islands.around import (
    Around,
    Lane,
    Original,
    clock_of,
    instances,
    place_around,
)
from qstep_fpga.families.ecp5.islands.check import check_farm
from qstep_fpga.families.ecp5.islands.copies import joined
from qstep_fpga.families.ecp5.islands.grid import survey
from qstep_fpga.families.ecp5.islands.island import PlacedIsland, place_islands
from qstep_fpga.families.ecp5.islands.layout import layout
from qstep_fpga.families.ecp5.islands.routes import GLOBAL
from qstep_fpga.families.ecp5.islands.seeds import with_seeds
from qstep_fpga.families.ecp5.islands.sites import Site
from qstep_fpga.families.ecp5.islands.ties import tied
from qstep_fpga.families.ecp5.islands.timing import between, with_lanes
from qstep_fpga.families.ecp5.limits import highest_clocks, timing_model
from qstep_fpga.placement import Placement

__all__ = ["Farm", "copy_lanes", "needs_of"]

_ROUTED = "routed.json"

_LUTS = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6}
"""Number of LUTs that a cell occupies."""


@dataclass(frozen=True)
class Farm:
    """The result of copying a lane.

    Attributes
    ----------
    lanes : tuple of PlacedIsland
        The placed lanes that were copied, one per band of sites.
    limits : dict
        Highest clock in MHz of ``block RAM`` and ``DSP``, according to the vendor.
    placements : tuple of Placement
        Placements of the whole farm, one per successful seed, with clocks capped at `limits`.
    """

    lanes: tuple[PlacedIsland, ...]
    limits: dict[str, float]
    placements: tuple[Placement, ...]


def needs_of(island: Mapping[str, Any]) -> dict[str, int]:
    """Return the amount of each resource that a module needs, from its yosys netlist."""
    count = Counter(cell["type"] for cell in island["cells"].values())
    return {
        "LUT4": sum(count[kind] * luts for kind, luts in _LUTS.items()),
        "FF": count["TRELLIS_FF"],
        "block RAM": count["DP16KD"],
        "DSP": count["MULT18X18D"],
    }


def copy_lanes(
    board: Board,
    modules: Mapping[str, dict[str, Any]],
    top: str,
    lane: str,
    clock_hz: int,
    lane_seeds: Sequence[int],
    seeds: Sequence[int],
    workers: Workers,
    progress: Callable[[str], None],
    link_hz: int | None = None,
) -> Farm:
    """Place one lane per band with several seeds, copy the best, place all other logic, and check.

    Parameters
    ----------
    board : Board
        A board with an ECP5.
    modules : dict
        Modules of a refined yosys netlist. The lanes are instances in the top module; the name of each
        ends in its number in the chain.
    top, lane : str
        Names of the modules.
    clock_hz : int
        Clock of the lanes.
    lane_seeds, seeds : sequence of int
        Seeds for the lane, tried until it is as fast as the chip allows, and seeds for the other logic;
        at least one of each.
    workers : Workers
        Workers for the placements.
    progress : callable
        Called with a description of each completed step.
    link_hz : int, optional
        Target clock of the other logic, if the lanes have a separate clock.

    Raises
    ------
    BuildError
        The lanes do not fit, all seeds failed for a lane or for the whole farm, or the check found a
        fault.
    ToolMissingError
        The FPGA tools are not installed.
    """
    if board.family != "ecp5":
        raise BuildError(f"lanes are copied on ECP5 only; {board.title} has {board.part}")
    for module in (modules[top], modules[lane]):
        for name in [n for n, cell in module["cells"].items() if cell["type"].startswith("$")]:
            del module["cells"][name]  # cells in which yosys describes the hierarchy
    names = instances(modules[top], lane)
    if not names:
        raise BuildError(f"module {top} has no instance of {lane}")
    grid = survey(board)
    title = f"{board.title} ({board.part})"
    plan = layout(grid, needs_of(modules[lane]), needs_of(modules[top]), len(names), title)
    limits = highest_clocks(timing_model(board), modules)
    limit_mhz = min(limits.values(), default=math.inf)
    # The target is the chip's limit, not the farm's clock, so one placement serves all clocks.
    fastest_hz = round(1e6 * limit_mhz) if limits else clock_hz
    best = []
    originals: dict[Site, Original] = {}
    for number, band in enumerate(plan.bands, 1):
        site = band.sites[len(band.sites) // 2]

        def shown(one: str, number: int = number) -> None:
            progress(f"band {number}, {one}")

        island = place_islands(
            board, grid, modules[lane], site, fastest_hz, lane_seeds, workers, shown
        )
        best.append(island)
        packed = island.module()
        original = Original(site, packed, clock_of(packed), island.path)
        originals |= dict.fromkeys(band.sites, original)
    lanes = tuple(
        Lane(name, site, originals[site], modules[top]["cells"][name]["connections"])
        for name, site in zip(names, plan.sites, strict=True)
    )

    def placed(seed: int) -> _Routed:
        around = place_around(
            *(board, grid, modules[top], lanes, modules[lane], plan.beside),
            *(clock_hz if link_hz is None else link_hz, seed),
            None if link_hz is None else clock_hz,
        )
        return _Routed(seed, around, _route(board, around, lanes, clock_hz, link_hz))

    progress(f"placing what is around {len(lanes)} lanes, copying them, and routing")
    what = f"{len(lanes)} lanes and what is around them were routed"
    placements = []
    for routed in with_seeds(placed, seeds, workers, progress, what):
        check_farm(routed.farm(), routed.around, lanes)
        placements.append(Placement.read(routed.seed, routed.file, limit_mhz))
        progress(f"seed {routed.seed}: {placements[-1].fmax_mhz:.1f} MHz, checked")
    return Farm(tuple(best), limits, tuple(placements))


@dataclass(frozen=True)
class _Routed:
    """The result of one seed."""

    seed: int
    around: Around
    file: Path

    def farm(self) -> dict[str, Any]:
        """Return the module that nextpnr wrote after routing."""
        with zipfile.ZipFile(self.file) as archive:
            module: dict[str, Any] = json.loads(archive.read(_ROUTED))["modules"]["top"]
        return module

    def __str__(self) -> str:
        return f"seed {self.seed}: routed"


def _route(
    board: Board,
    around: Around,
    lanes: Sequence[Lane],
    clock_hz: int,
    link_hz: int | None,
) -> Path:
    """Copy the lanes and route all other nets, or use the cached result; return a Placement's file."""
    family = FAMILIES[board.family]
    farm = joined(around, lanes)
    netlist = _netlist(farm)
    words = [*nextpnr(board), "--json", NETLIST, "--no-pack", "--no-place", "--report", REPORT]
    words += ["--freq", f"{(link_hz or clock_hz) / 1e6:g}", "--timing-allow-fail"]
    constraints = ""
    if link_hz is not None:  # pragma: no cover: only whole boards, which take minutes
        # A packed netlist does not contain the rates of the PLL's outputs.
        (net,) = (n for n in farm["netnames"] if n.startswith(GLOBAL) and is_of_lanes(n))
        constraints = f'FREQUENCY NET "{net}" {clock_hz / 1e6:g} MHZ;\n'
        words += ["--lpf", CONSTRAINTS]
    paths = [lane.original.path for lane in lanes]
    versions = str(tools.versions(family.packages))
    parts = [netlist, around.text, constraints, *words, str(paths), versions]

    def make(folder: Path) -> Path:  # pragma: no cover: a test may find it in the cache
        (folder / CONSTRAINTS).write_text(constraints, encoding="utf-8")

        def run(netlist: str, *more: str) -> dict[str, Any]:
            (folder / NETLIST).write_text(netlist, encoding="utf-8")
            tools.run([*words, *more], folder)
            report: dict[str, Any] = json.loads((folder / REPORT).read_text(encoding="utf-8"))
            return report

        whole = run(netlist, "--textcfg", "untied.txt", "--write", _ROUTED)
        routed = json.loads((folder / _ROUTED).read_text(encoding="utf-8"))["modules"]["top"]
        timed = with_lanes(run(_netlist(between(routed, lanes))), lanes)
        report = json.dumps({**timed, "utilization": whole["utilization"]})
        (folder / REPORT).write_text(report, encoding="utf-8")
        text = (folder / "untied.txt").read_text(encoding="utf-8")
        (folder / PLACED).write_text(tied(text, around.text), encoding="utf-8")
        kept = folder / "farm.zip"
        with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in (REPORT, PLACED, _ROUTED):
                archive.write(folder / name, name)
        return kept

    return cache.fetch(hashlib.sha256("\0".join(parts).encode()).hexdigest(), ".zip", make)


def _netlist(module: Mapping[str, Any]) -> str:
    return json.dumps({"creator": "qstep", "modules": {"top": module}})
