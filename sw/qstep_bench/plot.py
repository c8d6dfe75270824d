"""Plots of the benchmark's result."""

from __future__ import annotations

from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from qstep_bench.boards import Hardware
from qstep_bench.measure import Comparison, Spread, short
from qstep_bench.report import BenchReport
from qstep_bench.tables import SIMULATED

__all__ = ["draw"]

# Colours that colour-blind people can distinguish (Okabe and Ito).
_RATE, _KERNEL, _RATIO = "#0072b2", "#e69f00", "#009e73"
_CORE, _LINE = "#009e73", "#555555"


def draw(report: BenchReport) -> Figure:
    """Plot all timings, one row per system.

    The left panel shows the rate of each implementation, with an empty row for a missing implementation.
    The right panel shows each implementation's speed relative to its base. If hardware is included, the
    right panel instead ranks implementations, board cores and serial lines by speed.
    """
    systems = report.systems
    heights = [1.6 + 0.62 * len(system.forms + system.absent) for system in systems] or [1.0]
    # A Figure without pyplot needs no display and leaves no state in the process.
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
        form.name + (f"\nagainst {form.base}" if form.base and not hardware else "")
        for form in comparison.forms
    ]
    for entry in comparison.absent:
        left.text(0.01, len(names), "absent", transform=left.get_yaxis_transform(), va="center")
        names.append(entry.name)
    for axes in (left,) if hardware else (left, right):
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.margins(x=0.18)
        _clean(axes, "x")
    if any(kernels):  # rates of Python programs and of compiled code are far apart
        left.set_xscale("log")
    else:
        left.set_xlim(left=0)
    left.xaxis.set_major_formatter(lambda value, _: short(value) if value > 0 else "0")
    if hardware:
        _draw_ranking(comparison, hardware, right)
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


def _draw_ranking(comparison: Comparison, hardware: Hardware, ax: Axes) -> None:
    forms = {f.name: f.rate.median for f in comparison.forms if f.name != SIMULATED}
    cores = {f"{board.name} core": board.core_rate for board in hardware.boards}
    lines = {f"{line.baud:,} baud": line.rate for line in hardware.lines}
    kinds = (
        (forms, _RATE, "end to end"),
        (cores, _CORE, "core of a board without a line (post-route estimate)"),
        (lines, _LINE, "what a serial line carries (computed)"),
    )
    ranked = sorted(
        ((rate, name, kind) for kind in kinds for name, rate in kind[0].items()), reverse=True
    )
    for at, (rate, _, (_, colour, label)) in enumerate(ranked):
        ax.barh(at, rate, 0.6, color=colour, label=label)
        ax.annotate(
            short(rate),
            (rate, at),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
        )
    ax.set_yticks(range(len(ranked)), [name for _, name, _ in ranked])
    ax.set_ylim(len(ranked) - 0.4, -0.6)
    ax.margins(x=0.18)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(lambda value, _: short(value))
    ax.set_title("in order of speed", loc="left", fontsize="medium")
    ax.set_xlabel("transitions per second")
    _clean(ax, "x")


def _clean(ax: Axes, axis: Literal["x", "y"]) -> None:
    ax.grid(axis=axis, color="lightgray", linewidth=0.5)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
