"""The benchmark's result on the terminal."""

from __future__ import annotations

import math

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from qstep.bench.measure import Spread
from qstep.bench.report import Report, Section, Simulated

__all__ = ["number", "render", "simulated_note"]

_NOTES = (
    "Million updates/s: median of {rounds} rounds taken in turns, lowest..highest below. Warm-up and "
    "compilation come before and are not timed. Kernel: the update loop alone. End to end: from arrays "
    "or environment to the table read back, with encoding and transfers. x: times the dictionary, end "
    "to end, paired round by round."
)


def number(value: float) -> str:
    """Return a positive value with three significant digits, without an exponent."""
    return f"{value:,.{max(0, 2 - math.floor(math.log10(value)))}f}"


def render(report: Report) -> RenderableType:
    """Return tables, simulated figures, absent backends, notes and versions, ready to print."""
    parts: list[RenderableType] = []
    for section in report.sections:
        parts.append(_table(section))
        for figures in section.figures:
            if figures.simulated:
                parts.append(Text(simulated_note(figures.simulated)))
        parts += [Text(f"absent: {entry.name}: {entry.reason}") for entry in section.absent]
        parts.append(Text())
    parts.append(Text(_NOTES.format(rounds=report.rounds)))
    machine = report.machine
    parts.append(Text(f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}"))
    listed = ", ".join(f"{name} {found}" for name, found in report.versions.items())
    parts.append(Text(f"{report.date}; {listed}"))
    return Group(*parts)


def simulated_note(simulated: Simulated) -> str:
    """Return what a simulated device's counters say, with what is assumed named as such."""
    counts = simulated.counts
    return (
        f"simulated device: {simulated.lane_clocks:.3f} clocks an update in the lane "
        f"({counts.accepted:,} accepted in {counts.offered_clocks:,} clocks offered, "
        f"{counts.held:,} held) and {simulated.device_clocks:.3f} in the device, which takes a byte a "
        f"clock. At an ASSUMED clock of {simulated.assumed_clock_hz / 1e6:g} MHz that is "
        f"{number(simulated.lane_rate)} million updates/s for the lane and "
        f"{number(simulated.device_rate)} for the device; a line of {simulated.baud:,} baud carries at "
        f"most {number(simulated.line_rate)}. Simulated, not measured on hardware; its row above is "
        "the speed of the simulation."
    )


def _table(section: Section) -> Table:
    table = Table(
        title=f"{section.workload}: {section.task}", title_justify="left", box=SIMPLE_HEAD
    )
    table.add_column("backend")
    for name in ("updates", "kernel", "end to end", "x"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("checked")
    for figures in section.figures:
        table.add_row(
            figures.name,
            f"{figures.updates:,}",
            _spread(figures.kernel),
            _spread(figures.end_to_end),
            number(figures.end_to_end_ratio.median),
            figures.checked,
        )
    for entry in section.absent:
        table.add_row(entry.name, "absent", "", "", "", "")
    return table


def _spread(spread: Spread) -> Text:
    text = Text(f"{number(spread.median)}\n")
    return text.append(f"{number(spread.minimum)}..{number(spread.maximum)}", style="dim")
