"""What a board would do, from the report of its bitstream: estimated post-route, not measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from qstep.bench.backends import Absent
from qstep.bench.limits import bytes_per_transition, line_rate
from qstep.bench.measure import Spread
from qstep.bench.workloads import Workload
from qstep.config import Config
from qstep.transitions import Transitions

if TYPE_CHECKING:
    from qstep_fpga.report import Report as BuildReport

__all__ = ["Board", "board", "load_reports", "updates_per_clock"]

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
        Of the core alone, see :func:`updates_per_clock`.
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
    per_clock = updates_per_clock(config, transitions)
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


@njit(cache=True, nogil=True)
def _issue_clocks(state, action, next_state, depth):  # type: ignore[no-untyped-def]
    """Return the clock in which each transition enters the pipeline; the first one enters in clock 0."""
    clocks = np.zeros(len(state), np.int64)
    for i in range(1, len(state)):
        clocks[i] = clocks[i - 1] + 1
        for j in range(max(0, i - depth + 1), i):
            if state[j] == next_state[i] or (state[j] == state[i] and action[j] == action[i]):
                clocks[i] = max(clocks[i], clocks[j] + depth)
    return clocks


def updates_per_clock(config: Config, transitions: Transitions) -> float:
    """Return the updates per clock of a lane that is offered these transitions one a clock.

    A transition that needs the result of another one waits until that one is ``config.loop_depth``
    clocks ahead (``docs/lane.md``). They are counted with that rule, to which the lane's bench holds
    every transition of the RTL.

    Parameters
    ----------
    config : Config
    transitions : Transitions
        One or more.
    """
    columns = transitions.state, transitions.action, transitions.next_state
    clocks = _issue_clocks(*columns, config.loop_depth)
    return len(transitions) / (int(clocks[-1]) + 1)
