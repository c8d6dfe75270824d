"""Views of a :class:`~qstep.learn.sweep_result.SweepResult`: a table, a heat map, learning curves."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter
from numpy.typing import NDArray
from rich.table import Table

from qstep.learn.plots import RETURN, band, mean_returns
from qstep.learn.sweep_plan import AXES, SweepPlan
from qstep.learn.sweep_result import SweepResult
from qstep.spec.discount import differs

__all__ = ["draw_curves", "draw_map", "render"]

_ROWS = 20
"""Maximum number of rows of the table; the files contain all points."""

_CURVES = 6
_BANDS = 2
_FEW = "0.85"
"""Grey level of a point at which fewer than half of the seeds came near the optimum."""


def render(result: SweepResult) -> Table:
    """Return a table of the best points and the axes on which they differ."""
    plan = result.plan
    axes = [axis for axis in AXES if axis in plan.varying] or list(AXES[:2])
    fixed = [f"; {axis} {plan.points[0].words(axis)}" for axis in AXES if axis not in axes]
    seeds, count = len(plan.seeds), len(plan.points)
    best = result.ranking[:_ROWS]
    valued = any(_has_optimum(result, number) for number in best)
    goal = any(result.points[number]["greedy_success"] is not None for number in best)
    learned = any(
        differs(point.alpha / plan.planes, point.gamma, plan.coefficient_bits)
        for point in plan.points
    )
    exact = "exact" if plan.planes == 1 else "played"
    notes = [
        f"Return: episode return of the greedy policy ({exact}), mean over the seeds; worst: the "
        "worst seed."
    ]
    if valued:
        notes.append(
            "Near: seeds within 1 % of the optimum; after: the median number of steps to get there."
        )
    if count > _ROWS:
        notes.append(f"The best {_ROWS} of {count} points.")
    table = Table(
        title=f"{result.name}: {plan.steps:,} steps, {seeds} seeds{''.join(fixed)}",
        caption=" ".join(notes),
    )
    for axis in axes:
        is_text = axis in ("algorithm", "epsilon")
        table.add_column(axis, justify="left" if is_text else "right", no_wrap=True)
    names = ["discount"] * learned + ["return", "worst"] + ["success"] * goal
    for name in (*names, *(["near", "after"] * valued)):
        table.add_column(name, justify="right")
    for rank, number in enumerate(best):
        point, score = plan.points[number], result.points[number]
        success, after = score["greedy_success"], score["near_after"]
        near = f"{score['near_agents']} of {seeds}" if _has_optimum(result, number) else ""
        table.add_row(
            *(point.words(axis) for axis in axes),
            *[f"{plan.discount(point):.6g}"] * learned,
            *(f"{score['greedy_return']:.3f}", f"{score['worst']:.3f}"),
            *["" if success is None else f"{success:.1%}"] * goal,
            *[near, "" if after is None else f"{after:,.0f}"] * valued,
            style="bold green" if rank == 0 else None,
        )
    return table


def _has_optimum(result: SweepResult, number: int) -> bool:
    return any(agent["optimum"] is not None for agent in result.by_seed[number])


def draw_map(result: SweepResult) -> Figure:
    """Plot the return, and how soon agents came near the optimum, against the two main axes.

    If several points are equal on both axes, the best one is drawn. Points that do not fill a grid are
    drawn as dots.
    """
    varying = result.plan.varying
    names = sorted(list(dict.fromkeys([*varying, *AXES]))[:2], key=AXES.index)
    is_grid = math.prod(varying.values()) == len(result.points)
    known = any(_has_optimum(result, number) for number in result.ranking)
    figure = Figure(figsize=(11 if known else 6, 4.8), layout="constrained")
    panels = figure.subplots(1, 2 if known else 1, sharey=True, squeeze=False)[0]
    draw = _heat if is_grid else _dots
    draw(panels[0], result, names, _column(result, "greedy_return"), None, _digits)
    panels[0].set_title("greedy return, mean over seeds")
    if known:
        draw(panels[1], result, names, _column(result, "near_after"), LogNorm(), _short)
        panels[1].set_title(
            "steps to 1 % of the optimum, median\n(grey: reached by under half the seeds)"
        )
    for axes in panels:
        axes.set_xlabel(names[0])
    panels[0].set_ylabel(names[1])
    others = ", ".join(axis for axis in varying if axis not in names)
    best = f"; the best over {others}" if others and is_grid else ""
    figure.suptitle(
        f"{result.name}: {len(result.points)} points, {len(result.plan.seeds)} seeds{best}"
    )
    return figure


def _column(result: SweepResult, name: str) -> NDArray[np.float64]:
    """Return a score of all points, with NaN for None."""
    return np.array([point[name] for point in result.points], np.float64)


def _digits(value: float, _: object = None) -> str:
    """Format a return with three digits."""
    return f"{value:.3g}"


def _short(steps: float, _: object = None) -> str:
    """Format a number of steps with three digits."""
    return str(EngFormatter(sep="")(float(f"{steps:.3g}")))


def _categories(plan: SweepPlan, name: str) -> tuple[NDArray[np.int64], list[str]]:
    """Return the index of each point's value on an axis, and the text of each value, in order."""
    texts = {getattr(point, name): point.words(name) for point in plan.points}
    values: list[Any] = sorted(texts) if name in ("alpha", "gamma") else list(texts)
    index = [values.index(getattr(point, name)) for point in plan.points]
    return np.array(index), [texts[value] for value in values]


def _heat(
    axes: Axes,
    result: SweepResult,
    names: list[str],
    values: NDArray[np.float64],
    norm: Normalize | None,
    words: Callable[..., str],
) -> None:
    (across, columns), (up, rows) = (_categories(result.plan, name) for name in names)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    cells = np.full((len(rows), len(columns)), np.nan)
    order = list(reversed(result.ranking))  # the best point of a cell is written last
    cells[up[order], across[order]] = values[order]
    axes.set_facecolor(_FEW)
    colours = "viridis" if norm is None else "viridis_r"
    image = axes.imshow(cells, norm=norm, origin="lower", aspect="auto", cmap=colours)
    shades = np.ma.getdata(image.norm(cells))
    for (row, column), value in np.ndenumerate(cells):
        # The low end of the first map is dark; the second map is reversed.
        dark = not np.isnan(value) and (shades[row, column] < 0.6) == (norm is None)
        text = "" if np.isnan(value) else words(value)
        colour = "w" if dark else "k"
        axes.text(column, row, text, ha="center", va="center", fontsize=8, color=colour)
    if np.isfinite(cells).any():
        _scale(axes, image, words)


def _scale(axes: Axes, image: ScalarMappable, words: Callable[..., str]) -> None:
    if isinstance(image.norm, LogNorm):
        axes.figure.colorbar(image, ax=axes, format=words).ax.yaxis.set_minor_formatter(words)
    else:  # ticks may differ only after the third digit
        axes.figure.colorbar(image, ax=axes, format="%g")


def _dots(
    axes: Axes,
    result: SweepResult,
    names: list[str],
    values: NDArray[np.float64],
    norm: Normalize | None,
    words: Callable[..., str],
) -> None:
    positions: list[NDArray[Any]] = []
    for name, set_ticks in zip(names, (axes.set_xticks, axes.set_yticks), strict=True):
        if name in ("alpha", "gamma"):
            positions.append(np.array([getattr(point, name) for point in result.plan.points]))
        else:
            index, texts = _categories(result.plan, name)
            set_ticks(range(len(texts)), texts)
            positions.append(index)
    across, up = positions
    few = np.isnan(values)
    edge: dict[str, Any] = {"edgecolors": "k", "linewidths": 0.5}
    axes.scatter(across[few], up[few], c=_FEW, label="under half the seeds", **edge)
    order = [number for number in reversed(result.ranking) if not few[number]]
    colours = "viridis" if norm is None else "viridis_r"
    dots = axes.scatter(across[order], up[order], c=values[order], norm=norm, cmap=colours, **edge)
    if order:
        _scale(axes, dots, words)
    best = result.ranking[0]
    axes.plot(across[best], up[best], "r*", markersize=14, label="best")
    axes.legend()
    if names[0] == "alpha":
        axes.set_xscale("log")


def draw_curves(result: SweepResult) -> Figure:
    """Plot learning curves of the best points, as medians over seeds.

    The two best points have bands from the worst seed to the best.
    """
    evaluations = result.history["evaluations"]
    shown = result.ranking[:_CURVES]
    valued = any(_has_optimum(result, number) for number in shown)
    figure = Figure(figsize=(8, 7 if valued else 4.5), layout="constrained")
    panels = figure.subplots(2 if valued else 1, 1, sharex=True, squeeze=False)[:, 0]
    names = [axis for axis in AXES if axis in result.plan.varying] or ["alpha", "gamma"]
    for rank, number in reversed(
        [*enumerate(shown)]
    ):  # the best one is drawn last, above the others
        point, colour = result.plan.points[number], f"C{rank}"
        label = ", ".join(f"{axis} {point.words(axis)}" for axis in names)
        columns = {name: evaluations[name][:, number] for name in ("episodes", "step_reward")}
        returns = mean_returns({**columns, "steps": evaluations["steps"]})
        filled = rank < _BANDS
        band(panels[0], evaluations["steps"], returns, colour, label, filled=filled)
        if _has_optimum(result, number):
            loss = np.minimum(result.loss[:, number], 1.0)
            band(panels[-1], evaluations["steps"], loss, colour, label, filled=filled)
    panels[0].set_ylabel(RETURN)
    if valued:
        panels[1].set_ylabel(
            "loss of the greedy policy's value\n(share of the optimum, clipped at 100%)"
        )
        panels[1].set_ylim(-0.03, 1.03)
        panels[1].yaxis.set_major_formatter("{x:.0%}")
    for axes in panels:
        axes.set_xscale("log", subs=[])
        axes.grid(alpha=0.3)
    panels[-1].set_xlabel("steps of each agent")
    panels[-1].xaxis.set_major_formatter(EngFormatter(sep=""))
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles[::-1], labels[::-1], loc="outside lower center", ncols=2, fontsize="small"
    )
    which = f"the best {len(shown)} of {len(result.points)} points"
    seeds = f"medians of {len(result.plan.seeds)} seeds; bands, worst to best, of the best {_BANDS}"
    figure.suptitle(f"{result.name}: {which}\n{seeds}", fontsize="medium")
    return figure
