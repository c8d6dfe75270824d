"""What a board would do, from the report of its bitstream: estimated post-route, not measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from qstep.bench.backend import Absent
from qstep.bench.limits import bytes_per_transition, line_rate
from qstep.bench.measure import Spread
from qstep.bench.workloads import Workload
from qstep.config import Config
from qstep.throughput import updates_per_clock
from qstep.transitions import Transitions

if TYPE_CHECKING:
    from qstep_fpga.report import Report as BuildReport

__all__ = ["Board", "board", "load_reports"]

_TRANSITIONS = 1 << 18
"""How many of a workload's transitions updates per clock are counted over."""


@dataclass(frozen=True)
class Board:
    """One board on one workload; rates are million updates/s. Nothing was measured on hardware.

    Attributes
    ----------
    name, part : str
    clock_mhz : Spread
        Highest clock after place and route (nextpnr) over the placement seeds.
    seeds : int
        How many those are; one says little.
    pll_mhz : float
        The clock that the bitstream runs at.
    updates_per_clock : float
        Of the core alone, see :func:`qstep.throughput.updates_per_clock`.
    core_rate : float
        Median clock times updates per clock: a core that waits for no line.
    baud : int
        Rate of the line that the bitstream is built for.
    to_device : float
        Bytes a transition on that line.
    line_rate : float
        What that line carries at most.
    """

    name: str
    part: str
    clock_mhz: Spread
    seeds: int
    pll_mhz: float
    updates_per_clock: float
    core_rate: float
    baud: int
    to_device: float
    line_rate: float


def load_reports(paths: Sequence[Path]) -> list[BuildReport]:
    """Read reports of builds, by default those that the repository keeps.

    Parameters
    ----------
    paths : sequence of Path
        Files that ``qstep build`` wrote; none for all in ``fpga/reports``, which only a checkout of
        the repository has.

    Raises
    ------
    FileFormatError
        A file is absent, or is not a report.
    """
    import qstep_fpga
    from qstep_fpga.report import Report

    kept = Path(qstep_fpga.__file__).parents[1] / "reports"
    return [Report.read(path) for path in paths or sorted(kept.glob("*.json"))]


def board(workload: Workload, report: BuildReport) -> Board | Absent:
    """Return what a board would do with a workload, or why it cannot have it."""
    config = Config.from_dict(report.config)
    needed = workload.config
    if config.states < needed.states or config.actions < needed.actions:
        reason = (
            f"its table is {config.states} x {config.actions}, "
            f"{needed.states} x {needed.actions} is needed"
        )
        return Absent(report.board, report.part, reason)
    transitions = Transitions.from_arrays(config, *workload.record(_TRANSITIONS))
    clock = Spread.of(list(report.fmax_mhz.values()))
    columns = transitions.state, transitions.action, transitions.next_state
    per_clock = updates_per_clock(config.loop_depth, *columns)
    to_device, _ = bytes_per_transition(config, workload)
    return Board(
        report.board,
        report.part,
        clock,
        len(report.fmax_mhz),
        report.clock_mhz,
        per_clock,
        clock.median * per_clock,
        config.link.baud,
        to_device,
        line_rate(config.link.baud, to_device),
    )
