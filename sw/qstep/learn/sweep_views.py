"""A :class:`~qstep.learn.sweep_result.SweepResult` for people: a table, a heat map, learning curves."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter
from numpy.typing import NDArray
from rich.table import Table

from qstep.learn.plots import band
from qstep.learn.sweep_plan import AXES
from qstep.learn.sweep_result import SweepResult
from qstep.spec.discount import differs

__all__ = ["draw_curves", "draw_map", "render"]

_ROWS = 20
"""Rows of the table; the rest is in the files."""

_CURVES = 6
_NEVER = "0.85"
"""The grey of a point that never came near the optimum."""


def render(result: SweepResult) -> Table:
    """Return a table of the best points and the axes on which they differ."""
    plan = result.plan
    axes = [axis for axis in AXES if axis in plan.varying] or list(AXES[:2])
    fixed = [f"{axis} {plan.points[0].words(axis)}" for axis in AXES if axis not in axes]
    seeds, count = len(plan.seeds), len(plan.points)
    more = f" The best {_ROWS} of {count} points." if count > _ROWS else ""
    table = Table(
        title=f"{result.name}: {plan.steps:,} steps, {seeds} seeds"
        + "".join(f"; {f}" for f in fixed),
        caption="Return: of an episode of the greedy policy, exact, mean over seeds, and the worst. "
        f"Near: within 1 % of the optimum, and after how many steps (median).{more}",
    )
    for axis in axes:
        is_text = axis in ("algorithm", "epsilon")
        table.add_column(axis, justify="left" if is_text else "right", no_wrap=True)
    learned = any(differs(point.alpha, point.gamma) for point in plan.points)
    if learned:
        table.add_column("discount", justify="right")
    for name in ("return", "worst", "success", "near", "after"):
        table.add_column(name, justify="right")
    for rank, number in enumerate(result.ranking[:_ROWS]):
        score, point = result.scores[number], plan.points[number]
        table.add_row(
            *(point.words(axis) for axis in axes),
            *([f"{point.discount:.6g}"] if learned else []),
            f"{score.greedy_return:.3f}",
            f"{score.worst:.3f}",
            "" if score.greedy_success is None else f"{score.greedy_success:.1%}",
            f"{score.near_agents} of {seeds}" if result.learnt[number][0].loss else "",
            "" if math.isinf(score.near_after) else f"{score.near_after:,.0f}",
            style="bold green" if rank == 0 else None,
        )
    return table


def draw_map(result: SweepResult) -> Figure:
    """Return a picture: the return, and how soon agents came near the optimum, over the two main axes.

    If points are equal on both axes, the best one counts. Points drawn at random are dots.
    """
    first, second = [*result.plan.varying, *(axis for axis in AXES)][:2]
    if first == second:  # only this axis varies
        second = next(axis for axis in AXES if axis != first)
    first, second = sorted((first, second), key=AXES.index)
    known = any(own.loss for row in result.learnt for own in row)
    figure = Figure(figsize=(11 if known else 6, 4.8), layout="constrained")
    panels = figure.subplots(1, 2 if known else 1, sharey=True, squeeze=False)[0]
    draw = _heat if result.plan.is_grid else _dots
    returns = [score.greedy_return for score in result.scores]
    draw(panels[0], result, (first, second), returns, None, "{:.3g}".format)
    panels[0].set_title("greedy return, mean over seeds")
    if known:
        near = [score.near_after for score in result.scores]
        draw(panels[1], result, (first, second), near, LogNorm(), _short)
        panels[1].set_title("steps to 1 % of the optimum, median")
    for axes in panels:
        axes.set_xlabel(first)
    panels[0].set_ylabel(second)
    others = [axis for axis in result.plan.varying if axis not in (first, second)]
    best = f"; the best over {', '.join(others)}" if others and result.plan.is_grid else ""
    figure.suptitle(
        f"{result.name}: {len(result.plan.points)} points, {len(result.plan.seeds)} seeds{best}"
    )
    return figure


def _short(steps: float, _: object = None) -> str:
    """Return a number of steps with three digits."""
    return str(EngFormatter(sep="")(float(f"{steps:.3g}")))


def _heat(
    axes: Axes,
    result: SweepResult,
    names: tuple[str, str],
    values: list[float],
    norm: Normalize | None,
    words: Callable[[float], str],
) -> None:
    points = result.plan.points
    marks: list[list[Any]] = [[], []]
    for own, name in zip(marks, names, strict=True):
        own += dict.fromkeys(getattr(point, name) for point in points)
        if all(isinstance(mark, float) for mark in own):
            own.sort()
    cells = np.full((len(marks[1]), len(marks[0])), np.nan)
    # From worst to best, so the best of the points in a cell is written last.
    for number in reversed(result.ranking):
        across, up = (
            own.index(getattr(points[number], name)) for own, name in zip(marks, names, strict=True)
        )
        cells[up, across] = values[number] if math.isfinite(values[number]) else np.nan
    axes.set_facecolor(_NEVER)
    image = axes.imshow(
        cells,
        norm=norm,
        origin="lower",
        aspect="auto",
        cmap="viridis" if norm is None else "viridis_r",
    )
    shades = np.ma.getdata(image.norm(cells))
    for (up, across), value in np.ndenumerate(cells):
        # The low end of the first map is dark; the second map is reversed.
        dark = not math.isnan(value) and (shades[up, across] < 0.6) == (norm is None)
        text = "never" if math.isnan(value) else words(value)
        axes.text(
            across, up, text, ha="center", va="center", fontsize=8, color="w" if dark else "k"
        )
    ways = (axes.set_xticks, axes.set_yticks)
    for own, name, set_ticks in zip(marks, names, ways, strict=True):
        texts = {getattr(point, name): point.words(name) for point in points}
        set_ticks(range(len(own)), [texts[mark] for mark in own])


def _dots(
    axes: Axes,
    result: SweepResult,
    names: tuple[str, str],
    values: list[float],
    norm: Normalize | None,
    words: Callable[..., str],
) -> None:
    places: list[list[Any]] = []
    for name, set_ticks in zip(names, (axes.set_xticks, axes.set_yticks), strict=True):
        given = [getattr(point, name) for point in result.plan.points]
        if not isinstance(given[0], float):  # by name, in the order of the points
            texts = [point.words(name) for point in result.plan.points]
            ticks = list(dict.fromkeys(texts))
            set_ticks(range(len(ticks)), ticks)
            given = [ticks.index(text) for text in texts]
        places.append(given)
    never = [number for number, value in enumerate(values) if not math.isfinite(value)]
    there = [number for number in reversed(result.ranking) if number not in set(never)]
    across, up = (np.array(place) for place in places)
    axes.scatter(across[never], up[never], c=_NEVER, edgecolors="k", linewidths=0.5, label="never")
    dots = axes.scatter(
        across[there],
        up[there],
        c=[values[number] for number in there],
        norm=norm,
        cmap="viridis" if norm is None else "viridis_r",
        edgecolors="k",
        linewidths=0.5,
    )
    if there:
        bar = axes.figure.colorbar(dots, ax=axes, format=words)
        bar.ax.yaxis.set_minor_formatter(words)
    best = result.ranking[0]
    axes.plot(across[best], up[best], "r*", markersize=14, label="best")
    axes.legend()
    if names[0] == "alpha":
        axes.set_xscale("log")


def draw_curves(result: SweepResult) -> Figure:
    """Return a picture: learning curves of the best points, medians over seeds with bands of all."""
    looks = np.array(result.looks)
    shown = result.ranking[:_CURVES]
    valued = any(result.learnt[number][0].loss for number in shown)
    figure = Figure(figsize=(8, 7 if valued else 4.5), layout="constrained")
    panels = figure.subplots(2 if valued else 1, 1, sharex=True, squeeze=False)[:, 0]
    names = [axis for axis in AXES if axis in result.plan.varying] or ["alpha", "gamma"]
    for place, number in enumerate(shown):
        point = result.plan.points[number]
        label = ", ".join(f"{axis} {point.words(axis)}" for axis in names)
        returns: NDArray[np.float64] = np.array([own.mean_return for own in result.learnt[number]])
        band(panels[0], looks, returns.T, f"C{place}", label)
        if result.learnt[number][0].loss:
            losses = np.array([own.loss for own in result.learnt[number]])
            band(panels[-1], looks, losses.T, f"C{place}", label)
    panels[0].set_ylabel("return of an episode, exploring")
    if valued:
        panels[1].set_ylabel("loss of the greedy policy")
        panels[1].set_ylim(-0.03, 1.03)
        panels[1].yaxis.set_major_formatter("{x:.0%}")
    for axes in panels:
        axes.set_xscale("log", subs=[])
        axes.grid(alpha=0.3)
    panels[-1].set_xlabel("steps of each agent")
    panels[-1].xaxis.set_major_formatter(EngFormatter(sep=""))
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize="small")
    which = f"the best {len(shown)} of {len(result.learnt)} points"
    figure.suptitle(f"{result.name}: {which}, medians and bands of {len(result.plan.seeds)} seeds")
    return figure
