"""The benchmark's result as a picture."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from qstep.bench.measure import Spread
from qstep.bench.report import Report, Section, Simulated
from qstep.bench.table import number

__all__ = ["plot"]

_BAR = 0.36
_COLOURS = {"kernel": "#4c78a8", "end to end": "#f58518"}
_ASSUMED = "follows from simulated clocks at an assumed frequency"


def plot(report: Report, path: Path) -> None:
    """Draw kernel and end-to-end rates of every backend on a logarithmic axis.

    What would follow on hardware has hatched bars of its own, apart from what was measured. An
    absent backend keeps its place.
    """
    rows = [_rows(section) for section in report.sections]
    # Not pyplot: such a figure needs no display and leaves nothing behind in the process.
    figure = Figure(figsize=(9.5, 1.5 + 0.62 * sum(rows) + 0.5 * len(rows)), layout="constrained")
    axes = figure.subplots(len(rows), 1, squeeze=False, sharex=True, height_ratios=rows)[:, 0]
    for section, ax in zip(report.sections, axes, strict=True):
        _draw(section, ax)
    axes[-1].set_xlabel("million updates per second")
    legend = {
        label: handle
        for ax in axes
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        legend.values(), legend.keys(), loc="outside upper center", ncols=3, frameon=False
    )
    machine = report.machine
    figure.supxlabel(
        f"{machine['cpu']}, {machine['cores']} cores, {report.date}. Bars: median of "
        f"{report.rounds} rounds, with the lowest and the highest.",
        fontsize="small",
        color="dimgray",
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def _rows(section: Section) -> int:
    simulated = sum(figures.simulated is not None for figures in section.figures)
    return len(section.figures) + 3 * simulated + len(section.absent)


def _draw(section: Section, ax: Axes) -> None:
    ax.set_title(section.workload, loc="left", fontweight="bold")
    names: list[str] = []
    for figures in section.figures:
        at = len(names)
        names.append(figures.name + ("\n(speed of simulation)" if figures.simulated else ""))
        _bar(ax, at - _BAR / 2, figures.kernel, "kernel")
        _bar(ax, at + _BAR / 2, figures.end_to_end, "end to end")
        if figures.simulated:
            names += _draw_assumed(ax, len(names), figures.simulated)
    for entry in section.absent:
        ax.text(0.01, len(names), "absent", transform=ax.get_yaxis_transform(), va="center")
        names.append(entry.name)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.margins(x=0.12)
    ax.grid(axis="x", color="lightgray", linewidth=0.5)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _draw_assumed(ax: Axes, first: int, simulated: Simulated) -> list[str]:
    """Draw what would follow on hardware, from row `first` on; return the names of the rows."""
    clock = f"{simulated.assumed_clock_hz / 1e6:g} MHz"
    rates = {
        f"lane at {clock}": simulated.lane_rate,
        f"device at {clock}": simulated.device_rate,
        f"over {simulated.baud:,} baud": simulated.line_rate,
    }
    for at, rate in enumerate(rates.values(), first):
        ax.barh(at, rate, _BAR, fill=False, hatch="///", edgecolor="#54a24b", label=_ASSUMED)
        _value(ax, at, rate, number(rate))
    return list(rates)


def _bar(ax: Axes, at: float, spread: Spread, label: str) -> None:
    reach = [[spread.median - spread.minimum], [spread.maximum - spread.median]]
    ax.barh(
        at, spread.median, _BAR, xerr=reach, color=_COLOURS[label], ecolor="dimgray", label=label
    )
    _value(ax, at, spread.maximum, number(spread.median))


def _value(ax: Axes, at: float, end: float, text: str) -> None:
    ax.annotate(text, (end, at), (4, 0), textcoords="offset points", va="center", fontsize="small")
