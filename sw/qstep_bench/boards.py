"""Hardware speed on a workload: boards, from the reports of their bitstreams, and serial lines.

Everything is estimated (post-route, or by formula); nothing is measured on hardware.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from qstep.golden.throughput import updates_per_clock
from qstep.mdp.transitions import Transitions
from qstep.spec.config import Config
from qstep_bench.limits import BAUDS, Line, line, record_bytes
from qstep_bench.measure import Absent, Spread
from qstep_bench.workloads import WORKLOADS, Workload

if TYPE_CHECKING:
    from qstep_fpga.report import BuildReport

__all__ = ["BoardRate", "Hardware", "board_rate", "hardware", "load_reports"]

_TRANSITIONS = 1 << 18
"""Number of a workload's transitions over which bytes and clocks are counted."""


@dataclass(frozen=True)
class BoardRate:
    """One board on one workload.

    Attributes
    ----------
    name, part : str
    clock_mhz : Spread
        Maximum clock frequency after place and route (nextpnr), over the placement seeds.
    seeds : int
        Number of these seeds; a single seed is not representative.
    pll_mhz : float
        The bitstream's clock.
    updates_per_clock : float
        Rate of the core alone; see :func:`qstep.golden.throughput.updates_per_clock`.
    core_rate : float
        Updates/s of a core that never waits for a line: median clock times updates per clock.
    line : Line
        The capacity of the bitstream's serial line.
    stale : str
        Why the report no longer matches a build of these sources; empty if it does.
    """

    name: str
    part: str
    clock_mhz: Spread
    seeds: int
    pll_mhz: float
    updates_per_clock: float
    core_rate: float
    line: Line
    stale: str


@dataclass(frozen=True)
class Hardware:
    """Hardware speed on a workload.

    Attributes
    ----------
    lines : tuple of Line
        One per rate in :data:`~qstep_bench.limits.BAUDS`, for the workload's configuration.
    boards : tuple of BoardRate
    absent : tuple of Absent
        Boards whose table is too small, or whose agents act on their own.
    """

    lines: tuple[Line, ...]
    boards: tuple[BoardRate, ...]
    absent: tuple[Absent, ...]


def hardware(name: str, builds: Sequence[BuildReport]) -> Hardware:
    """Return the speed of lines and boards on the named workload."""
    workload = WORKLOADS[name]()
    found = [board_rate(workload, build) for build in builds]
    link = workload.config.link
    configs = [replace(workload.config, link=replace(link, baud=baud)) for baud in BAUDS]
    return Hardware(
        tuple(_on_line(config, workload)[1] for config in configs),
        tuple(entry for entry in found if isinstance(entry, BoardRate)),
        tuple(entry for entry in found if isinstance(entry, Absent)),
    )


def _on_line(config: Config, workload: Workload) -> tuple[float, Line]:
    """Return a workload's updates per clock in the lane of `config`, and the capacity of its line."""
    transitions = Transitions.from_arrays(config, *workload.record(_TRANSITIONS))
    columns = transitions.state, transitions.action, transitions.next_state
    per_clock = updates_per_clock(config.loop_depth, *columns)
    return per_clock, line(config, record_bytes(config, transitions), 1 / per_clock)


def load_reports(paths: Sequence[Path]) -> list[BuildReport]:
    """Read build reports, by default the repository's.

    Parameters
    ----------
    paths : sequence of Path
        Files that ``qstep build`` wrote; if empty, all reports shipped with QStep, in ``fpga/reports``
        of a checkout.

    Raises
    ------
    FileFormatError
        A file is absent, or is not a report.
    """
    import qstep_fpga
    from qstep_fpga.report import BuildReport

    package = Path(qstep_fpga.__file__).parent
    kept = installed if (installed := package / "reports").is_dir() else package.parent / "reports"
    return [BuildReport.read(path) for path in paths or sorted(kept.glob("*.json"))]


def board_rate(workload: Workload, report: BuildReport) -> BoardRate | Absent:
    """Return the speed of a board on a workload, or why it cannot run it."""
    config = Config.from_dict(report.config)
    if config.acting:
        return Absent(report.board, report.part, "its agents act by themselves, without a stream")
    needed = workload.config
    if config.states < needed.states or config.actions < needed.actions:
        reason = (
            f"its table is {config.states} x {config.actions}, "
            f"{needed.states} x {needed.actions} is needed"
        )
        return Absent(report.board, report.part, reason)
    clock = Spread.of(list(report.fmax_mhz.values()))
    per_clock, own_line = _on_line(config, workload)
    return BoardRate(
        report.board,
        report.part,
        clock,
        len(report.fmax_mhz),
        report.clock_mhz,
        per_clock,
        clock.median * 1e6 * per_clock,
        own_line,
        report.stale,
    )
