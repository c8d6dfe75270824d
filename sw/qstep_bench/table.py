"""The benchmark's result on the terminal."""

from __future__ import annotations

from collections.abc import Callable

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from qstep_bench.boards import Hardware
from qstep_bench.efficiency import ASSUMPTIONS, Efficiency
from qstep_bench.limits import equal_baud
from qstep_bench.measure import Comparison, Spread, Timed, number, short, spread
from qstep_bench.report import BenchReport
from qstep_bench.tables import SIMULATED

__all__ = ["render"]

_TIMES = (
    "Median of {rounds} turns in one run, lowest..highest below; building, first runs and compilation "
    "come before and are not timed. x: speed relative to the form below the name, paired round by "
    "round; by the clock, and in processor time, which other work on the machine disturbs less."
)
_KERNEL = (
    "Kernel: the update loop alone. All other rates are end to end: from arrays or environment to "
    "the table read back, with encoding and transfers."
)
_ORDER = (
    "In order of speed: forms end to end. Mbaud: a serial line (8 data bits, no parity, 1 stop bit) at "
    "that rate carries this many transitions. Lines, and how much of the time they are busy: by "
    "formula, for rewards that the device knows and frames of full length. Cores, with no line to wait "
    "for: estimated post-route (nextpnr), not measured on hardware; the median, over placement seeds, "
    "of the highest clock, times the updates/clock of the lane on this stream."
)
_NO_BOARDS = (
    "No boards: their reports are in fpga/reports of the repository, or come from qstep build; name "
    "them with --report FILE."
)


def render(report: BenchReport) -> Group:
    """Return tables, findings, absent implementations, notes and versions, ready to print."""
    parts: list[RenderableType] = []
    for comparison in report.systems:
        parts += [_rates(comparison), *_notes(comparison)]
        if comparison.system in report.hardware:
            parts += [Text(), *_hardware(comparison, report.hardware[comparison.system])]
        parts.append(Text())
    if report.efficiency:
        parts += [_efficiency(report.efficiency), Text(ASSUMPTIONS), Text()]
    if report.systems:
        parts.append(Text(_TIMES.format(rounds=report.rounds)))
    if any(map(_has_kernel, report.systems)):
        parts.append(Text(_KERNEL))
    if report.hardware:
        parts.append(Text(_ORDER))
    machine = report.machine
    gpu = f", {machine['gpu']}" if "gpu" in machine else ""
    parts.append(Text(f"{machine['cpu']}, {machine['cores']} cores{gpu}, {machine['system']}"))
    listed = ", ".join(f"{name} {found}" for name, found in report.versions.items())
    parts.append(Text(f"{report.date}; {listed}"))
    return Group(*parts)


def _has_kernel(comparison: Comparison) -> bool:
    return any(form.kernel_rate for form in comparison.forms)


def _rates(comparison: Comparison) -> Table:
    names = [form.name for form in comparison.forms]
    names += [entry.name for entry in comparison.absent]
    table = Table(
        title=f"{comparison.system}: {comparison.task}",
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    # Never break a name, regardless of the other cells in the column.
    table.add_column("form", min_width=max(map(len, names)))
    second = "kernel" if _has_kernel(comparison) else "µs"
    for name in (f"{comparison.unit}/s", second, "x", "x CPU time"):
        table.add_column(name, justify="right", no_wrap=True)
    for form in comparison.forms:
        against = f"\nvs {form.base}" if form.base else ""
        table.add_row(
            Text(form.name).append(against, style="dim"),
            spread(form.rate, short),
            _cell(form.kernel_rate, short)
            if second == "kernel"
            else number(1e6 / form.rate.median),
            _cell(form.ratio),
            _cell(form.processor_ratio),
        )
    for entry in comparison.absent:
        table.add_row(entry.name, "absent", "", "", "")
    return table


def _cell(values: Spread | None, write: Callable[[float], str] = number) -> Text:
    return Text() if values is None else spread(values, write)


def _notes(comparison: Comparison) -> list[RenderableType]:
    """Return the findings, the shares of phases if any, and the absent implementations."""
    parts: list[RenderableType] = [
        Text(f"{form.name}: {form.checked}") for form in comparison.forms
    ]
    phased = [form for form in comparison.forms if form.shares and not form.kernel_rate]
    if phased:
        parts.append(_phases(comparison.system, phased))
    return parts + [Text(f"absent: {entry.name}: {entry.reason}") for entry in comparison.absent]


def _phases(system: str, forms: list[Timed]) -> Table:
    table = Table(title=f"{system}: where the time goes", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("form", no_wrap=True)
    names = list(dict.fromkeys(name for form in forms for name in form.shares))
    for name in names:
        table.add_column(name, justify="right")
    for form in forms:
        shares = form.shares
        table.add_row(
            form.name, *(f"{shares[name]:.0%}" if name in shares else "" for name in names)
        )
    return table


def _hardware(comparison: Comparison, hardware: Hardware) -> list[RenderableType]:
    """Return a table of implementations, board cores and serial lines, sorted by rate."""
    first = hardware.lines[0]
    rows = [
        (form.rate.median, form.name, form.what)
        for form in comparison.forms
        if form.name != SIMULATED
    ]
    for board in hardware.boards:
        clock = board.clock_mhz
        seeds = f"{board.seeds} seed{'s' if board.seeds > 1 else ''}"
        how = (
            f"{clock.median:.1f} MHz ({clock.minimum:.1f}..{clock.maximum:.1f}, {seeds})\n"
            f"x {board.updates_per_clock:.3f}; {short(board.line.rate)} over its own line"
        )
        how += f"\n{board.stale}" * bool(board.stale)
        rows.append((board.core_rate, f"{board.name} core", how))
    rows += [(line.rate, f"{line.baud:,} baud", f"busy {line.busy:.1%}") for line in hardware.lines]
    table = Table(
        title=f"{comparison.system} in order of speed; a transition takes {first.to_device:.3f} bytes "
        f"on the line to the device and {first.to_host:.3f} on the line back",
        title_justify="left",
        box=SIMPLE_HEAD,
    )
    table.add_column("who", no_wrap=True)
    table.add_column(f"{comparison.unit}/s", justify="right", no_wrap=True)
    table.add_column("Mbaud", justify="right", no_wrap=True)
    table.add_column("how")
    for rate, name, how in sorted(rows, reverse=True):
        table.add_row(name, short(rate), number(equal_baud(rate, first.to_device) / 1e6), how)
    absent = [Text(f"absent: {entry.name}: {entry.reason}") for entry in hardware.absent]
    if not hardware.boards and not absent:
        absent = [Text(_NO_BOARDS)]
    return [table, *absent]


def _efficiency(entries: tuple[Efficiency, ...]) -> Table:
    """Return a table of cores and of boards with agents, in the given order."""
    table = Table(
        title="farm: chips and boards; clocks of boards are estimates of place and route",
        title_justify="left",
        box=SIMPLE_HEAD,
    )
    table.add_column("who", no_wrap=True)
    for name in ("updates/s", "for each W", "for each euro"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("how")
    for entry in entries:
        rates = entry.rate, entry.per_watt, entry.per_euro
        table.add_row(entry.name, *map(short, rates), entry.how)
    return table
