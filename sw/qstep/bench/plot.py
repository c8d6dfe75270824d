"""The benchmark's result as a picture."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from qstep.bench.limits import equal_baud, line_rate
from qstep.bench.measure import Spread
from qstep.bench.numbers import number
from qstep.bench.pairs_plot import draw_comparison
from qstep.bench.report import Hardware, Report, Section
from qstep.plotting import write_picture

__all__ = ["draw", "plot"]

# Colours that colour-blind people can tell apart (Okabe and Ito), each with a mark of its own beside it.
_BAR = 0.36
_COLOURS = {"kernel": "#0072b2", "end to end": "#e69f00"}
_PROCESSOR = "#e69f00"
_CORE = "#009e73"
_LINE = "#000000"


def plot(report: Report, path: Path) -> None:
    """Write the picture of a report to a file, PNG unless its suffix says otherwise.

    Raises
    ------
    FileFormatError
        The file cannot be written, or its suffix is of no picture.
    """
    write_picture(draw(report), path)


def draw(report: Report) -> Figure:
    """Return a picture of everything that was timed.

    Of a workload, left are kernel and end-to-end rates as they were measured; an absent backend keeps
    its place. Right is what lines carry, with backends and cores of boards as levels that a line can
    reach or not. Of a system, left are the rates of its forms, right how many times as fast they are
    as those that they stand against.
    """
    rows = [len(section.figures) + len(section.absent) for section in report.sections]
    heights = [1.6 + sum(max(3.4, 0.62 * n) for n in rows)] if rows else []
    heights += [1.2 + 0.62 * len(comparison.forms) for comparison in report.systems]
    # Not pyplot: such a figure needs no display and leaves nothing behind in the process.
    figure = Figure(figsize=(14, sum(heights)), layout="constrained")
    parts = iter(figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0])
    if rows:
        _draw_sections(report, next(parts), rows)
    for comparison, part in zip(report.systems, parts, strict=True):
        draw_comparison(comparison, part)
    machine = report.machine
    gpu = f", {machine['gpu']}" if "gpu" in machine else ""
    boards = " Boards were not measured." if rows else ""
    figure.supxlabel(
        f"{machine['cpu']}, {machine['cores']} cores{gpu}, {report.date}. Bars: median of "
        f"{report.rounds} rounds, with the lowest and the highest.{boards}",
        fontsize="small",
        color="dimgray",
    )
    return figure


def _draw_sections(report: Report, part: SubFigure, rows: list[int]) -> None:
    grid = part.subplots(
        len(rows), 2, squeeze=False, sharex="col", width_ratios=(1, 1.05), height_ratios=rows
    )
    for section, (bars, lines) in zip(report.sections, grid, strict=True):
        _draw_bars(section, bars)
        if section.hardware:
            _draw_lines(section, section.hardware, lines)
    grid[-1, 0].set_xlabel("million updates per second")
    grid[-1, 1].set_xlabel("baud of the serial line")
    legend = {
        label: handle
        for ax in grid.flat
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    part.legend(legend.values(), legend.keys(), loc="outside upper center", ncols=5, frameon=False)


def _draw_bars(section: Section, ax: Axes) -> None:
    ax.set_title(section.workload, loc="left", fontweight="bold")
    names: list[str] = []
    for at, figures in enumerate(section.figures):
        names.append(figures.name + ("\n(speed of simulation)" if figures.simulated else ""))
        _bar(ax, at - _BAR / 2, figures.kernel, "kernel")
        _bar(ax, at + _BAR / 2, figures.end_to_end, "end to end")
    for entry in section.absent:
        ax.text(0.01, len(names), "absent", transform=ax.get_yaxis_transform(), va="center")
        names.append(entry.name)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.margins(x=0.12)
    _clean(ax, "x")


def _bar(ax: Axes, at: float, spread: Spread, label: str) -> None:
    reach = [[spread.median - spread.minimum], [spread.maximum - spread.median]]
    ax.barh(
        at, spread.median, _BAR, xerr=reach, color=_COLOURS[label], ecolor="dimgray", label=label
    )
    ax.annotate(
        number(spread.median),
        (spread.maximum, at),
        (4, 0),
        textcoords="offset points",
        va="center",
        fontsize="small",
    )


def _draw_lines(section: Section, hardware: Hardware, ax: Axes) -> None:
    link = hardware.link
    backends = {f.name: f.end_to_end.median for f in section.figures if not f.simulated}
    cores = {f"{board.name} core": board.core_rate for board in hardware.boards}
    levels = {**backends, **cores}
    slowest = min(line.baud for line in link.lines) / 2
    fastest = 3 * equal_baud(max(levels.values()), link.to_device)
    ends = [line_rate(baud, link.to_device) for baud in (slowest, fastest)]
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(slowest, fastest)
    ax.set_ylim(*ends)
    ax.plot([slowest, fastest], ends, color=_LINE, label="what a serial line carries")
    for line in link.lines:
        ax.axvline(line.baud, color="silver", linewidth=0.8, zorder=0)
        ax.plot(line.baud, line.rate, "o", color=_LINE, markersize=5, zorder=4)
        ax.annotate(
            f"{line.baud:,} baud, {number(line.rate)}",
            (line.baud, line.rate),
            (8, -3),
            textcoords="offset points",
            va="top",
            fontsize="small",
            bbox={"color": "white", "pad": 0.5, "alpha": 0.8},
        )
    for rates, colour, style, mark, label in (
        (backends, _PROCESSOR, "-", "s", "this computer, end to end"),
        (cores, _CORE, "--", "^", "core of a board without a line (post-route estimate)"),
    ):
        for rate in rates.values():
            ax.axhline(rate, color=colour, linestyle=style, linewidth=1, label=label, zorder=1)
            ax.plot(equal_baud(rate, link.to_device), rate, mark, color=colour, markersize=6)
    _label_levels(ax, levels)
    ax.set_title(f"{link.to_device:.2f} bytes a transition", loc="left", fontsize="medium")
    ax.set_ylabel("million transitions per second")
    ax.yaxis.set_major_formatter("{x:g}")
    _clean(ax, "y")


def _label_levels(ax: Axes, levels: dict[str, float]) -> None:
    """Write the names of levels beside the axes, moved apart where they would overlap."""
    low, high = (math.log10(limit) for limit in ax.get_ylim())
    wanted = [(math.log10(rate) - low) / (high - low) for rate in levels.values()]
    for (name, rate), at, free in zip(levels.items(), wanted, _apart(wanted, 0.05), strict=True):
        ax.annotate(
            f"{name}, {number(rate)}",
            (1, at),
            (1.06, free),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize="small",
            arrowprops={
                "arrowstyle": "-",
                "color": "gray",
                "linewidth": 0.6,
                "relpos": (0, 0.5),
                "shrinkA": 1,
                "shrinkB": 0,
            },
        )


def _apart(places: list[float], least: float) -> list[float]:
    """Move places apart, as little as that takes, until neighbours differ by `least`."""
    order = sorted(range(len(places)), key=places.__getitem__)
    # Groups of neighbours that touch, each spread evenly around its mean.
    groups: list[list[int]] = []
    middles: list[float] = []
    for index in order:
        groups.append([index])
        middles.append(places[index])
        while len(groups) > 1:
            room = least * (len(groups[-1]) + len(groups[-2])) / 2
            if middles[-1] - middles[-2] >= room:
                break
            groups[-2:] = [groups[-2] + groups[-1]]
            middles[-2:] = [sum(places[i] for i in groups[-1]) / len(groups[-1])]
    moved = list(places)
    for group, middle in zip(groups, middles, strict=True):
        for rank, index in enumerate(group):
            moved[index] = middle + least * (rank - (len(group) - 1) / 2)
    return moved


def _clean(ax: Axes, axis: Literal["x", "y"]) -> None:
    ax.grid(axis=axis, color="lightgray", linewidth=0.5)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
