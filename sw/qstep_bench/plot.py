"""The benchmark's result as a picture."""

from __future__ import annotations

import math
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from qstep_bench.boards import Hardware
from qstep_bench.limits import equal_baud
from qstep_bench.measure import Comparison, Spread, short
from qstep_bench.report import BenchReport
from qstep_bench.tables import SIMULATED

__all__ = ["apart", "draw"]

# Colours that colour-blind people can distinguish (Okabe and Ito), each with its own mark.
_RATE, _KERNEL, _RATIO = "#0072b2", "#e69f00", "#009e73"
_CORE, _LINE = "#009e73", "#000000"


def draw(report: BenchReport) -> Figure:
    """Return a picture of everything that was timed, one row per system.

    The left side has the rates of its forms; an absent form keeps its place. The right side has
    their speed relative to the forms that they are compared with. If hardware is included, it has
    the rates of serial lines instead, with forms and cores of boards as levels that a line may reach.
    """
    systems = report.systems
    heights = [1.6 + 0.62 * len(system.forms + system.absent) for system in systems] or [1.0]
    # Not pyplot: such a figure needs no display and leaves no state in the process.
    figure = Figure(figsize=(14, max(4.0, sum(heights))), layout="constrained")
    parts = figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    for comparison, part in zip(systems, parts, strict=bool(systems)):
        _draw_system(comparison, report.hardware.get(comparison.system), part)
    machine = report.machine
    gpu = f", {machine['gpu']}" if "gpu" in machine else ""
    boards = " Boards were not measured." if report.hardware else ""
    figure.supxlabel(
        f"{machine['cpu']}, {machine['cores']} cores{gpu}, {report.date}. Bars: median of "
        f"{report.rounds} rounds, with the lowest and the highest.{boards}",
        fontsize="small",
        color="dimgray",
    )
    return figure


def _draw_system(comparison: Comparison, hardware: Hardware | None, part: SubFigure) -> None:
    left, right = part.subplots(1, 2, width_ratios=(1, 1.05))
    left.set_title(comparison.system, loc="left", fontweight="bold")
    left.set_xlabel(f"{comparison.unit} per second")
    kernels = [form.kernel_rate for form in comparison.forms]
    wide = 0.36 if any(kernels) else 0.6
    for at, (form, kernel) in enumerate(zip(comparison.forms, kernels, strict=True)):
        _bar(left, at + (wide / 2 if kernel else 0), form.rate, wide, _RATE, "end to end")
        if kernel:
            _bar(left, at - wide / 2, kernel, wide, _KERNEL, "kernel")
    names = [
        form.name + (f"\nagainst {form.base}" if form.base else "") for form in comparison.forms
    ]
    for entry in comparison.absent:
        left.text(0.01, len(names), "absent", transform=left.get_yaxis_transform(), va="center")
        names.append(entry.name)
    for axes in (left,) if hardware else (left, right):
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.margins(x=0.18)
        _clean(axes, "x")
    if any(kernels):  # rates of programs and of compiled code are far apart
        left.set_xscale("log")
    else:
        left.set_xlim(left=0)
    left.xaxis.set_major_formatter(lambda value, _: short(value) if value > 0 else "0")
    if hardware:
        _draw_lines(comparison, hardware, right)
    else:
        _draw_ratios(comparison, right)
    found = [ax.get_legend_handles_labels() for ax in (left, right)]
    legend = {
        label: handle
        for handles, labels in found
        for handle, label in zip(handles, labels, strict=True)
    }
    if len(legend) > 1:
        part.legend(
            legend.values(), legend.keys(), loc="outside upper center", ncols=5, frameon=False
        )


def _draw_ratios(comparison: Comparison, ax: Axes) -> None:
    for at, form in enumerate(comparison.forms):
        if form.ratio:
            _bar(ax, at, form.ratio, 0.6, _RATIO, "")
    ax.tick_params(labelleft=False)
    ax.axvline(1, color=_LINE, linewidth=1)
    ax.set_xlim(left=0)
    ax.set_xlabel("times as fast, paired round by round")


def _bar(ax: Axes, at: float, spread: Spread, wide: float, colour: str, label: str) -> None:
    reach = [[spread.median - spread.minimum], [spread.maximum - spread.median]]
    ax.barh(at, spread.median, wide, xerr=reach, color=colour, ecolor="dimgray", label=label)
    ax.annotate(
        short(spread.median),
        (spread.maximum, at),
        (4, 0),
        textcoords="offset points",
        va="center",
        fontsize="small",
    )


def _draw_lines(comparison: Comparison, hardware: Hardware, ax: Axes) -> None:
    forms = {f.name: f.rate.median for f in comparison.forms if f.name != SIMULATED}
    cores = {f"{board.name} core": board.core_rate for board in hardware.boards}
    levels = {**forms, **cores}
    to_device = hardware.lines[0].to_device
    slowest = min(line.baud for line in hardware.lines) / 2
    bauds = slowest, 3 * equal_baud(max(levels.values()), to_device)
    ends = [baud / equal_baud(1, to_device) for baud in bauds]
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(*bauds)
    ax.set_ylim(*ends)
    ax.plot(bauds, ends, color=_LINE, label="what a serial line carries")
    for line in hardware.lines:
        ax.axvline(line.baud, color="silver", linewidth=0.8, zorder=0)
        ax.plot(line.baud, line.rate, "o", color=_LINE, markersize=5, zorder=4)
        ax.annotate(
            f"{line.baud:,} baud, {short(line.rate)}",
            (line.baud, line.rate),
            (8, -3),
            textcoords="offset points",
            va="top",
            fontsize="small",
            bbox={"color": "white", "pad": 0.5, "alpha": 0.8},
        )
    for rates, colour, style, mark, label in (
        (forms, _RATE, "-", "s", "this computer, end to end"),
        (cores, _CORE, "--", "^", "core of a board without a line (post-route estimate)"),
    ):
        for rate in rates.values():
            ax.axhline(rate, color=colour, linestyle=style, linewidth=1, label=label, zorder=1)
            ax.plot(equal_baud(rate, to_device), rate, mark, color=colour, markersize=6)
    _label_levels(ax, levels)
    ax.set_title(f"{to_device:.2f} bytes a transition", loc="left", fontsize="medium")
    ax.set_xlabel("baud of the serial line")
    ax.set_ylabel("transitions per second")
    ax.yaxis.set_major_formatter(lambda value, _: short(value))
    _clean(ax, "y")


def _label_levels(ax: Axes, levels: dict[str, float]) -> None:
    """Write the names of levels beside the axes, moved apart where they would overlap."""
    low, high = (math.log10(limit) for limit in ax.get_ylim())
    wanted = [(math.log10(rate) - low) / (high - low) for rate in levels.values()]
    for (name, rate), at, free in zip(levels.items(), wanted, apart(wanted, 0.05), strict=True):
        ax.annotate(
            f"{name}, {short(rate)}",
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


def apart(places: list[float], least: float) -> list[float]:
    """Move positions apart, as little as possible, until neighbours differ by `least`."""
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
