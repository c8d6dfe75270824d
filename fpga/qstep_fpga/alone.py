"""Estimates the area and clock rate of a single block on a board's chip, with all ports registered."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path

from qstep._io.workers import Threads
from qstep_fpga.board import Board
from qstep_fpga.critical import describe
from qstep_fpga.fit import needs_around_lane
from qstep_fpga.placement import Design, place_all
from qstep_fpga.report import resources

__all__ = ["Estimate", "estimate"]


@dataclass(frozen=True)
class Estimate:
    """Place-and-route figures of a block, excluding its wrapper.

    Attributes
    ----------
    name : str
    resources : dict
        Used and available amount of each resource, for the seed with the highest clock.
    fmax_mhz : dict
        Highest clock by seed.
    critical_path : str
        Critical path for the seed with the highest clock.
    """

    name: str
    resources: dict[str, tuple[int, int]]
    fmax_mhz: dict[str, float]
    critical_path: str

    def __str__(self) -> str:
        clocks = self.fmax_mhz.values()
        used = ", ".join(f"{name} {used:,}" for name, (used, _) in self.resources.items())
        return (
            f"{self.name}: {used}; {min(clocks):.1f} / {statistics.median(clocks):.1f} / "
            f"{max(clocks):.1f} MHz over {len(clocks)} seeds; best: {self.critical_path}"
        )


def estimate(
    name: str, board: Board, netlist: Path, clock_hz: int, seeds: int, jobs: int
) -> Estimate:
    """Place a netlist with several seeds and return its figures.

    Raises
    ------
    ToolMissingError
        The FPGA tools are not installed.
    BuildError
        The netlist does not fit, or the tool failed.
    """
    placements = place_all(
        Design(board, netlist, clock_hz), range(1, seeds + 1), Threads(jobs), lambda placement: None
    )
    best = max(placements, key=lambda placement: placement.fmax_mhz)
    around = needs_around_lane(board, netlist)
    return Estimate(
        name=name,
        resources={
            what: (used - around.get(what, 0), there)
            for what, (used, there) in resources(board, best).items()
        },
        fmax_mhz={str(p.seed): round(p.fmax_mhz, 2) for p in placements},
        critical_path=describe(best.report),
    )
