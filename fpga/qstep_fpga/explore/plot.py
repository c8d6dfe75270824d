"""A sweep as one picture: area against updates per second, with the Pareto front."""

from __future__ import annotations

import io
import itertools
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from qstep.errors import FileFormatError
from qstep.files import write_atomically
from qstep_fpga.explore.result import Exploration, Result

__all__ = ["plot"]

# Okabe and Ito: told apart by colour-blind readers.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARKERS = {1: "o", 2: "s", 3: "^"}
_MOST_LABELS = 30
# Where a label may stand beside its point, best first: offset in points, and alignment.
_PLACES = tuple(
    (dx, dy, {-1: "right", 0: "center", 1: "left"}[(dx > 0) - (dx < 0)])
    for dx, dy in (
        *((8, 4), (8, -10), (-8, 4), (-8, -10), (0, 10), (0, -16)),
        *((14, 14), (14, -20), (-14, 14), (-14, -20), (0, 22), (0, -28)),
    )
)


def plot(exploration: Exploration, path: Path) -> None:
    """Write a PNG: a point a result, with the range of its clocks, and the front that none beats.

    Raises
    ------
    FileFormatError
        The file cannot be written.
    """
    results = exploration.results
    name, areas = exploration.area()
    # Not pyplot: such a figure needs no display and leaves nothing behind in the process.
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
        for depth, marker in _MARKERS.items():
            chosen = [
                (area, result)
                for area, result in zip(areas, results, strict=True)
                if (result.board, result.config["loop_depth"]) == (board, depth)
            ]
            if chosen:
                _draw(ax, chosen, colour, marker, f"{board}, loop depth {depth}")
    ax.set_xlabel(f"area: {name}")
    ax.set_ylabel("million updates/s (independent transitions, median clock)")
    what = {"lane": "The lane alone", "device": "The whole device"}[exploration.what]
    ax.set_title(f"{what}: area against speed", loc="left", fontweight="bold")
    ax.margins(0.14)
    ax.grid(color="lightgray", linewidth=0.5)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize="small")
    most = max(len(result.fmax_mhz) for result in results)
    figure.supxlabel(
        f"Bars: lowest to highest clock of {most} placement seed{'s' * (most > 1)}. Estimates of "
        "place and route; nothing was measured on a board.",
        fontsize="small",
        color="dimgray",
    )
    shown = range(len(results)) if len(results) <= _MOST_LABELS else front
    labels = _labels(results)
    _annotate(ax, [(areas[index], results[index].rate, labels[index]) for index in shown])
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=150)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise FileFormatError(f"{path}: cannot be written: {cause}") from cause
    write_atomically(path, image.getvalue())


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


def _labels(results: Sequence[Result]) -> list[str]:
    """Return what names each result: all in which results differ, but for what the legend says."""
    sizes = [f"{result.config['states']}x{result.config['actions']}" for result in results]
    widths = [f"{result.width} bit" for result in results]
    differing = [column for column in (sizes, widths) if len(set(column)) > 1]
    return [", ".join(row) for row in zip(*differing, strict=True)] or [""] * len(results)


def _annotate(ax: Axes, points: Sequence[tuple[float, float, str]]) -> None:
    """Label points, each where it covers the least of other labels and points."""
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]  # lays the axes out
    taken = []
    for x, y, _ in points:
        px, py = ax.transData.transform((x, y))
        taken.append(Bbox.from_extents(px - 8, py - 8, px + 8, py + 8))
    for index, (x, y, text) in enumerate(points):
        note = ax.annotate(text, (x, y), (0, 0), textcoords="offset points", fontsize="small")
        others = taken[:index] + taken[index + 1 :]
        _move(note, min(_PLACES, key=partial(_covered, ax, note, others)))
        taken.append(note.get_window_extent())


def _move(note: Annotation, place: tuple[int, int, str]) -> None:
    dx, dy, side = place
    note.set_position((dx, dy))
    note.set_horizontalalignment(side)  # type: ignore[arg-type]  # one of the three, see _PLACES


def _covered(
    ax: Axes, note: Annotation, others: Sequence[Bbox], place: tuple[int, int, str]
) -> float:
    """Return how many pixels a label would share with others, and very many if it left the axes."""
    _move(note, place)
    box = note.get_window_extent()
    shared = [Bbox.intersection(box, other) for other in others]
    inside = ax.bbox.x0 <= box.x0 and box.x1 <= ax.bbox.x1
    return sum(part.width * part.height for part in shared if part) + (0.0 if inside else 1e6)
