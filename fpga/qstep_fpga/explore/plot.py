"""Plots a sweep: updates per second against area, with the Pareto front."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, YAxis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from qstep_fpga.explore.result import Exploration, Result

__all__ = ["draw"]

# Okabe and Ito's colours, which colour-blind readers can distinguish.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARKERS = {1: "o", 2: "s", 3: "^"}
_MOST_LABELS = 30
_WIDE = 4  # ratio of largest to smallest value above which an axis is logarithmic
_POINTS_PER_INCH = 72
_HALF = 9  # half the side of the square around a marker that labels avoid, in pixels
# Label positions next to a point, best first: offset in points, and alignment.
_PLACES = tuple(
    (dx, dy, {-1: "right", 0: "center", 1: "left"}[(dx > 0) - (dx < 0)])
    for dx, dy in (
        *((8, 4), (8, -10), (-8, 4), (-8, -10), (0, 10), (0, -16)),
        *((14, 14), (14, -20), (-14, 14), (-14, -20), (0, 22), (0, -28)),
    )
)


def draw(exploration: Exploration) -> Figure:
    """Plot one point per result, with its clock range, and the Pareto front."""
    results = exploration.results
    name, areas = exploration.area()
    # A Figure without pyplot needs no display and leaves no state in the process.
    figure = Figure(figsize=(9, 6), layout="constrained")
    ax = figure.subplots()
    front = sorted(exploration.front(), key=lambda index: areas[index])
    ax.plot(
        [areas[index] for index in front],
        [results[index].rate for index in front],
        drawstyle="steps-post",
        color="gray",
        linestyle="--",
        linewidth=1,
        zorder=1,
        label="Pareto front",
    )
    boards = list(dict.fromkeys(result.board for result in results))
    for board, colour in zip(boards, itertools.cycle(_COLOURS)):
        prefix = f"{board}, " if len(boards) > 1 else ""
        for depth, marker in _MARKERS.items():
            chosen = [
                (area, result)
                for area, result in zip(areas, results, strict=True)
                if (result.board, result.config["loop_depth"]) == (board, depth)
            ]
            if chosen:
                _draw(ax, chosen, colour, marker, f"{prefix}loop depth {depth}")
    ax.set_xlabel(f"area: {name}")
    ax.set_ylabel("million updates/s (independent transitions, median clock)")
    place = f" on {boards[0]}" if len(boards) == 1 else ""
    what = {"lane": "The lane alone", "device": "The whole device"}[exploration.what]
    ax.set_title(f"{what}{place}: area against speed", loc="left", fontweight="bold")
    ax.margins(0.14)
    for axis, values in ((ax.xaxis, areas), (ax.yaxis, [result.rate for result in results])):
        if max(values) > _WIDE * min(values):
            _make_logarithmic(ax, axis)
    ax.grid(color="lightgray", linewidth=0.5)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=4, frameon=False, fontsize="small")
    most = max(len(result.fmax_mhz) for result in results)
    bars = f"Bars: lowest to highest clock of {most} placement seeds. " if most > 1 else ""
    figure.supxlabel(
        f"{bars}Place-and-route estimates; nothing was measured on a board. The table lists block "
        "RAMs and multipliers.",
        fontsize="small",
        color="dimgray",
    )
    shown = range(len(results)) if len(results) <= _MOST_LABELS else front
    labels = _labels(results)
    _annotate(
        ax, [(areas[index], results[index].rate, labels[index]) for index in shown if labels[index]]
    )
    return figure


def _draw(
    ax: Axes, chosen: Sequence[tuple[float, Result]], colour: str, marker: str, label: str
) -> None:
    rates = [result.rate for _, result in chosen]
    lows = [result.rate - result.spread[0] * result.independent for _, result in chosen]
    highs = [result.spread[2] * result.independent - result.rate for _, result in chosen]
    ax.errorbar(
        [area for area, _ in chosen],
        rates,
        yerr=[lows, highs],
        fmt=marker,
        color=colour,
        markersize=7,
        elinewidth=1,
        capsize=3,
        label=label,
    )


def _make_logarithmic(ax: Axes, axis: Axis) -> None:
    (ax.set_yscale if isinstance(axis, YAxis) else ax.set_xscale)("log")
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter("{x:g}")


def _labels(results: Sequence[Result]) -> list[str]:
    """Return a label per result: the properties that differ, except those in the legend."""
    sizes = [f"{result.config['states']}x{result.config['actions']}" for result in results]
    widths = [f"{result.width} bit" for result in results]
    differing = [column for column in (sizes, widths) if len(set(column)) > 1]
    return [", ".join(row) for row in zip(*differing, strict=True)] or [""] * len(results)


def _annotate(ax: Axes, points: Sequence[tuple[float, float, str]]) -> None:
    """Label points, each at the position that overlaps least with other labels and points."""
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]  # lays the axes out
    centres = [ax.transData.transform((x, y)) for x, y, _ in points]
    taken = [Bbox.from_bounds(x - _HALF, y - _HALF, 2 * _HALF, 2 * _HALF) for x, y in centres]
    for (x, y, text), centre in zip(points, centres, strict=True):
        trial = ax.text(0, 0, text, fontsize="small")
        size = trial.get_window_extent().size
        trial.remove()
        boxes = {place: _box(ax, centre, size, place) for place in _PLACES}
        best = min(_PLACES, key=lambda place: _covered(ax, boxes[place], taken))
        taken.append(boxes[best])
        dx, dy, side = best
        ax.annotate(
            text,
            (x, y),
            (dx, dy),
            textcoords="offset points",
            ha=side,
            fontsize="small",
            arrowprops={"arrowstyle": "-", "color": "gray", "linewidth": 0.5, "shrinkB": 4},
        )


def _box(
    ax: Axes, centre: NDArray[np.float64], size: tuple[float, float], place: tuple[int, int, str]
) -> Bbox:
    """Return the pixel box of a label of a given size at a position next to its point."""
    dx, dy, side = place
    x, y = centre + np.array([dx, dy]) * ax.figure.dpi / _POINTS_PER_INCH
    width, height = size
    return Bbox.from_bounds(
        x - width * {"left": 0, "center": 0.5, "right": 1}[side], y, width, height
    )


def _covered(ax: Axes, box: Bbox, others: Sequence[Bbox]) -> float:
    """Return a label's overlap with others in pixels, plus a large penalty if it leaves the axes."""
    shared = [Bbox.intersection(box, other) for other in others]
    inside = ax.bbox.x0 <= box.x0 and box.x1 <= ax.bbox.x1
    return sum(part.width * part.height for part in shared if part) + (0.0 if inside else 1e6)
