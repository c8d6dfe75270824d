"""The benchmark's result on the terminal."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from qstep.bench.limits import equal_baud
from qstep.bench.measure import Spread
from qstep.bench.numbers import number, spread
from qstep.bench.pairs_table import PAIRED, longest, tables
from qstep.bench.report import Hardware, Report, Section
from qstep.bench.simulated import Simulated

__all__ = ["c_note", "render", "simulated_note"]

_TIMES = (
    "Million updates/s: median of {rounds} rounds taken in turns, lowest..highest below. Below a name: "
    "what its table was found to be. Warm-up and compilation come before and are not timed. Kernel: the "
    "update loop alone. End to end: from arrays or environment to the table read back, with encoding "
    "and transfers. x: times the dictionary, end to end, paired round by round."
)
_ORDER = (
    "In order of speed: backends end to end. Mbaud: a serial line (8 data bits, no parity, 1 stop bit) "
    "of that rate carries as many transitions. Cores, with no line to wait for: estimated post-route "
    "(nextpnr), not measured on hardware; the median, over placement seeds, of the highest clock, times "
    "the updates/clock of the lane on this stream. Busy: how much of the time the driver on this "
    "computer kept such a line busy, simulated in real time; the wait for the last answer counts."
)
_NO_BOARDS = (
    "No boards: their reports are in fpga/reports of the repository, or come from qstep build; name "
    "them with --report FILE."
)


def render(report: Report) -> Group:
    """Return tables, simulated figures, absent backends, notes and versions, ready to print."""
    parts: list[RenderableType] = []
    for section in report.sections:
        parts.append(_table(section))
        if section.numba_to_c:
            parts.append(Text(c_note(section.numba_to_c)))
        for figures in section.figures:
            if figures.simulated:
                parts.append(Text(simulated_note(figures.simulated)))
        parts += [Text(f"absent: {entry.name}: {entry.reason}") for entry in section.absent]
        if section.hardware:
            parts += [Text(), *_hardware(section, section.hardware)]
        parts.append(Text())
    for comparison in report.systems:
        parts += [*tables(comparison), Text()]
    if report.sections:
        parts.append(Text(_TIMES.format(rounds=report.rounds)))
    if report.systems:
        parts.append(Text(PAIRED.format(rounds=report.rounds)))
    if any(section.hardware for section in report.sections):
        parts.append(Text(_ORDER))
    machine = report.machine
    gpu = f", {machine['gpu']}" if "gpu" in machine else ""
    parts.append(Text(f"{machine['cpu']}, {machine['cores']} cores{gpu}, {machine['system']}"))
    listed = ", ".join(f"{name} {found}" for name, found in report.versions.items())
    parts.append(Text(f"{report.date}; {listed}"))
    return Group(*parts)


def c_note(ratio: Spread) -> str:
    """Return how near Numba comes to C."""
    return (
        f"numba reaches {ratio.median:.0%} ({ratio.minimum:.0%}..{ratio.maximum:.0%}) of the C loop, "
        "kernel, paired round by round."
    )


def simulated_note(simulated: Simulated) -> str:
    """Return what a simulated device's counters say."""
    counts = simulated.counts
    return (
        f"simulated device: {simulated.lane_clocks:.3f} clocks an update in the lane "
        f"({counts.accepted:,} accepted in {counts.offered_clocks:,} clocks offered, "
        f"{counts.held:,} held) and {simulated.device_clocks:.3f} in the device, which takes a byte a "
        "clock. Simulated, not measured on hardware; its row above is the speed of the simulation."
    )


def _table(section: Section) -> Table:
    table = Table(
        title=f"{section.workload}: {section.task}", title_justify="left", box=SIMPLE_HEAD
    )
    table.add_column("backend", min_width=longest(section.figures, section.absent))
    for name in ("updates", "kernel", "end to end", "x"):
        table.add_column(name, justify="right", no_wrap=True)
    for figures in section.figures:
        table.add_row(
            Text(f"{figures.name}\n").append(figures.checked, style="dim"),
            f"{figures.updates:,}",
            spread(figures.kernel),
            spread(figures.end_to_end),
            number(figures.end_to_end_ratio.median),
        )
    for entry in section.absent:
        table.add_row(entry.name, "absent", "", "", "")
    return table


def _hardware(section: Section, hardware: Hardware) -> list[RenderableType]:
    """Return backends, cores of boards and serial lines in the order of their rates."""
    link = hardware.link
    rows = [
        (figures.end_to_end.median, figures.name, figures.what)
        for figures in section.figures
        if not figures.simulated
    ]
    for board in hardware.boards:
        clock = board.clock_mhz
        seeds = f"{board.seeds} seed{'s' if board.seeds > 1 else ''}"
        how = (
            f"{clock.median:.1f} MHz ({clock.minimum:.1f}..{clock.maximum:.1f}, {seeds})\n"
            f"x {board.updates_per_clock:.3f}; {number(board.line_rate)} over its own line"
        )
        rows.append((board.core_rate, f"{board.name} core", how))
    for line in link.lines:
        busy = line.busy
        how = f"busy {busy.median:.1%} ({busy.minimum:.1%}..{busy.maximum:.1%})"
        rows.append((line.rate, f"{line.baud:,} baud", how))
    table = Table(
        title=f"{section.workload} in order of speed; a transition takes {link.to_device:.3f} bytes on "
        f"the line to the device and {link.to_host:.3f} on the one back",
        title_justify="left",
        box=SIMPLE_HEAD,
    )
    table.add_column("who", no_wrap=True)
    table.add_column("million/s", justify="right", no_wrap=True)
    table.add_column("Mbaud", justify="right", no_wrap=True)
    table.add_column("how")
    for rate, name, how in sorted(rows, reverse=True):
        table.add_row(name, number(rate), number(equal_baud(rate, link.to_device) / 1e6), how)
    absent = [Text(f"absent: {entry.name}: {entry.reason}") for entry in hardware.absent]
    if not hardware.boards and not absent:
        absent = [Text(_NO_BOARDS)]
    return [table, *absent]
