"""Pictures of what agents learnt: their curves as a median and a band, and a greedy policy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter
from numpy.typing import NDArray

from qstep.acting.result import TrainingResult
from qstep.plotting import write_picture

__all__ = ["plot_agents"]


def plot_agents(path: str | Path, title: str, result: TrainingResult) -> None:
    """Write a PNG: the return of episodes, exploring, and what the greedy policies are worth, exact.

    Lines are medians over the agents, bands from the worst to the best.
    """
    steps = np.array([point.steps for point in result.points])
    valued = bool(result.optimum)
    figure = Figure(figsize=(8, 6 if valued else 3.5))
    # Margins by hand: to find them, Matplotlib would draw everything twice.
    figure.subplots_adjust(
        0.1, 0.09 if valued else 0.15, 0.98, 0.93 if valued else 0.88, hspace=0.08
    )
    panels = figure.subplots(2 if valued else 1, 1, sharex=True, squeeze=False)[:, 0]
    returns = np.array([point.mean_return for point in result.points])
    _band(panels[0], steps, returns, "tab:blue", "exploring")
    panels[0].set_ylabel("return of an episode")
    if valued:
        values = np.array([point.value for point in result.points])
        _band(panels[1], steps, values, "tab:orange", "greedy policy, exact")
        optimum = float(np.median(result.optimum))
        panels[1].axhline(optimum, color="tab:green", linestyle="--", label="optimum")
        panels[1].set_ylabel("value of the start")
    for axes in panels:
        # Ticks between the powers of ten would take as long as all else.
        axes.set_xscale("log", subs=[])
        axes.grid(alpha=0.3)
        axes.legend(loc="lower right")
    panels[-1].set_xlabel("steps of each agent")
    panels[-1].xaxis.set_major_formatter(EngFormatter(sep=""))
    figure.suptitle(title)
    write_picture(figure, Path(path))


def _band(
    axes: Axes, steps: NDArray[np.int64], values: NDArray[np.float64], colour: str, label: str
) -> None:
    """Draw what is known: where no episode of any agent ended there is nothing."""
    known = ~np.isnan(values).all(axis=1)
    values = values[known]
    agents = values.shape[1]
    name = f"{label}, {agents} agents" if agents > 1 else label
    axes.plot(steps[known], np.nanmedian(values, axis=1), color=colour, label=name)
    axes.fill_between(
        steps[known],
        np.nanmin(values, axis=1),
        np.nanmax(values, axis=1),
        color=colour,
        alpha=0.25,
        linewidth=0,
    )
