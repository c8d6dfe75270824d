"""Places and routes a netlist with many seeds, and keeps every result.

The tools are deterministic for a seed and a version but chaotic across them, so a single seed is not
representative of a design. A resumed run takes its finished placements from the cache.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from qstep._io import cache
from qstep._io.files import write_atomically
from qstep._io.workers import Workers, in_parallel
from qstep.errors import BuildError
from qstep.spec.config import Config
from qstep_fpga import tools
from qstep_fpga.board import Board
from qstep_fpga.clocks import check_crossing, highest_clocks
from qstep_fpga.families import FAMILIES
from qstep_fpga.families.base import CONSTRAINTS, NETLIST, PLACED, REPORT
from qstep_rtl.crossing import lanes_clock

__all__ = ["Design", "Placement", "pack", "place", "place_all", "placed"]

_KEPT = ".zip"


@dataclass(frozen=True)
class Design:
    """A design to place.

    Attributes
    ----------
    board : Board
    netlist : Path
        A file from the cache, whose name identifies the netlist.
    clock_hz : int
        Target clock, which is the link's if the lanes have a separate clock.
    lanes_hz : int, optional
        Clock of the lanes, if it is separate.
    limit_mhz : float
        Upper bound for all clocks, regardless of the place-and-route report.
    """

    board: Board
    netlist: Path
    clock_hz: int
    lanes_hz: int | None = None
    limit_mhz: float = math.inf

    @classmethod
    def of_device(cls, board: Board, config: Config, netlist: Path) -> Design:
        """Return the complete device with its PLL and the clocks of `config`."""
        limits = FAMILIES[board.family].limits(board, netlist)
        return cls(
            board,
            netlist,
            config.link.clock_hz,
            config.lane_clock_hz if lanes_clock(config) else None,
            min(limits.values(), default=math.inf),
        )


@dataclass(frozen=True)
class Placement:
    """The placement of one seed.

    Attributes
    ----------
    seed : int
    fmax_mhz : float
        Highest clock of the lanes, limited by the tool's timing analysis and the chip.
    report : dict
        The place-and-route report: ``fmax``, ``utilization``, ``critical_paths``.
    file : Path
        The placed design, for :func:`pack`.
    link_fmax_mhz : float, optional
        Highest clock of the link, if the lanes have a separate clock.
    """

    seed: int
    fmax_mhz: float
    report: dict[str, Any]
    file: Path
    link_fmax_mhz: float | None = None

    @classmethod
    def read(cls, seed: int, file: Path, limit_mhz: float) -> Placement:
        """Return the placement in a file, with clocks capped at a limit.

        Raises
        ------
        BuildError
            Data that cross between the clocks arrive too late.
        """
        with zipfile.ZipFile(file) as archive:
            report = json.loads(archive.read(REPORT))
        fmax, link_fmax = highest_clocks(report)
        check_crossing(report)
        if link_fmax is not None:
            link_fmax = min(link_fmax, limit_mhz)
        return cls(seed, min(fmax, limit_mhz), report, file, link_fmax)


def place(design: Design, seed: int) -> Placement:
    """Place and route with one seed, unless the cache contains the result.

    Raises
    ------
    BuildError
        The design does not fit, the tool failed, or data that cross between the clocks arrive too late.
    """
    key, command, pins = _work(design, seed)

    def make(folder: Path) -> Path:
        shutil.copy(design.netlist, folder / NETLIST)
        (folder / CONSTRAINTS).write_text(pins, encoding="utf-8")
        try:
            tools.run(command, folder)
        except BuildError as cause:
            raise BuildError(f"seed {seed}: {cause}") from cause
        kept = folder / "placement.zip"
        with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in (REPORT, PLACED):
                archive.write(folder / name, name)
        return kept

    return Placement.read(seed, cache.fetch(key, _KEPT, make), design.limit_mhz)


def placed(design: Design, seed: int) -> Placement | None:
    """Return the cached result of :func:`place`, if any."""
    file = cache.find(_work(design, seed)[0], _KEPT)
    return None if file is None else Placement.read(seed, file, design.limit_mhz)


def _work(design: Design, seed: int) -> tuple[str, list[str], str]:
    """Return the cache key of a placement, the command that makes it, and its constraints."""
    family = FAMILIES[design.board.family]
    # An unmet clock is not a failure, because the report contains the achieved clock.
    command = [
        *family.place(design.board),
        *("--json", NETLIST, "--report", REPORT, "--seed", str(seed)),
        *("--freq", f"{design.clock_hz / 1e6:g}", "--timing-allow-fail"),
    ]
    pins = family.constraints(design.board, design.lanes_hz)
    parts = [design.netlist.name, pins, *command, str(tools.versions(family.packages))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest(), command, pins


def place_all(
    design: Design,
    seeds: Sequence[int],
    workers: Workers,
    progress: Callable[[Placement], None],
) -> list[Placement]:
    """Place with several seeds and return them in the order of `seeds`.

    `progress` is called after each placement. Exceptions are the same as for :func:`place`.
    """
    make, find = partial(place, design), partial(placed, design)
    return in_parallel(make, seeds, workers, progress, known=find)


def pack(board: Board, placement: Placement, out: Path) -> None:
    """Write the bitstream of a placement to `out`."""

    def make(folder: Path) -> Path:
        with zipfile.ZipFile(placement.file) as archive:
            archive.extract(PLACED, folder)
        name = f"bitstream{family.bitstream}"
        tools.run(family.pack(board, name), folder)
        return folder / name

    family = FAMILIES[board.family]
    parts = [placement.file.name, *family.pack(board, "out"), str(tools.versions(family.packages))]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    write_atomically(out, cache.fetch(key, family.bitstream, make).read_bytes())
