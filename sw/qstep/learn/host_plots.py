"""Pictures of a run: its learning curve, and the policy that it learnt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qstep.envs.grid_map import START, GridMap
from qstep.learn.policy_map import COLOURS, LETTERS, MOST_ARROWS, PolicyMap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

    from qstep.learn.result import History

__all__ = ["draw_learning_curve", "draw_policy", "show_policy"]

_BLANK = "#e9ecef"
"""Colour of cells in which nothing has been learnt yet."""


def draw_learning_curve(title: str, history: History) -> Figure:
    """Return a picture of return, and success if known, over the episodes, exploring and greedy.

    Parameters
    ----------
    title : str
    history : History
        At least one episode, smoothed by a moving mean over a fiftieth of the run; any evaluations.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    episodes, evaluations = history["episodes"], history["evaluations"]
    returns, successes = episodes["return"], episodes["success"].astype(np.float64)
    window = max(1, len(returns) // 50)
    middle = np.arange(window, len(returns) + 1) - (window - 1) / 2
    has_goal = not np.isnan(successes).any()
    figure = Figure(figsize=(8, 6 if has_goal else 3.5), layout="constrained")
    panels = figure.subplots(2 if has_goal else 1, 1, sharex=True, squeeze=False)[:, 0]
    above, last = panels[0], panels[-1]
    smooth = _moving_mean(returns, window)
    above.plot(middle, smooth, color="tab:blue", label=f"exploring, mean of {window}")
    above.set_ylabel("return of an episode")
    # Early episodes may be a hundred times worse than the last ones; both must stay legible.
    settled = float(np.abs(smooth[len(smooth) // 2 :]).max())
    if np.abs(smooth).max() > 10 * settled:
        above.set_yscale("symlog", linthresh=max(settled, 1.0))
    if has_goal:
        last.plot(middle, _moving_mean(successes, window), color="tab:blue")
        last.set_ylabel("episodes that reach the goal")
        last.set_ylim(-0.03, 1.03)
        last.yaxis.set_major_formatter(PercentFormatter(1.0))
    last.set_xlabel("episode")
    at = evaluations["episodes"]
    marker = "o-" if len(at) <= 50 else "-"
    for axes, name in zip(panels, ("greedy_return", "greedy_success"), strict=False):
        axes.plot(
            at,
            evaluations[name],
            marker,
            color="tab:orange",
            markersize=3,
            label="greedy evaluation",
        )
        axes.grid(alpha=0.3)
    above.legend(loc="lower right")
    figure.suptitle(title)
    return figure


def draw_policy(title: str, grid: GridMap, q: NDArray[np.float64]) -> Figure:
    """Return a picture of every state's value and greedy action, on the map.

    Parameters
    ----------
    title : str
    grid : GridMap
    q : ndarray of float64, shape (S, A)
        Values in real units. A state is pale and has no arrow unless
        :func:`~qstep.learn.policy_map.learnt`. States beyond the map, of a device that was built for
        more of them, are left out.
    """
    from matplotlib.figure import Figure

    height, width = len(grid.rows), len(grid.rows[0])
    side = min(0.9, 10 / max(width, height))
    across, high = max(side * width, 3.5), max(side * height, 2.0)
    size = (across + 1.8, high + 1.1)
    figure = Figure(figsize=size)
    # Positions by hand, in inches: Matplotlib would draw everything twice to find them.
    axes = figure.add_axes((0.6 / size[0], 0.7 / size[1], across / size[0], high / size[1]))
    right = (across + 0.75) / size[0]
    scale = figure.add_axes((right, 0.7 / size[1], 0.2 / size[0], high / size[1]))
    axes.set_title(title)
    image = show_policy(axes, grid, q, letter=min(14.0, 40 * side * 0.45))
    figure.colorbar(image, cax=scale, label="value of the best action")
    axes.set_xlabel(f"column\n{PolicyMap.of(grid, q).legend}")
    axes.set_ylabel("row")
    _count(axes)
    return figure


def show_policy(axes: Axes, grid: GridMap, q: NDArray[np.float64], *, letter: float) -> AxesImage:
    """Draw a policy, as :func:`draw_policy` does, into axes; return the image of its values.

    `letter` is the size of the letters of holes and goals.
    """
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    shown = PolicyMap.of(grid, q)
    cells = shown.cells
    height, width = cells.shape
    image = axes.imshow(shown.values, cmap=colormaps["viridis"].with_extremes(bad=_BLANK))
    for kind, colour in COLOURS.items():
        mask = np.ma.masked_array(np.ones(cells.shape), mask=cells != kind)
        axes.imshow(mask, cmap=ListedColormap([colour]))
    if cells.size <= MOST_ARROWS:
        _arrows(axes, shown.learnt, shown.direction)
        for kind, text in LETTERS:
            for row, column in np.argwhere(cells == kind):
                at = (column, row) if kind != START else (column - 0.33, row - 0.3)
                axes.text(
                    *at,
                    text,
                    ha="center",
                    va="center",
                    color="white",
                    weight="bold",
                    size=letter if kind != START else 0.7 * letter,
                )
        # Lines take a tenth of the time of ticks between the cells.
        right, below = width - 0.5, height - 0.5
        axes.vlines(np.arange(1, width) - 0.5, -0.5, below, color="white", linewidth=0.6)
        axes.hlines(np.arange(1, height) - 0.5, -0.5, right, color="white", linewidth=0.6)
    return image


def _arrows(axes: Axes, shown: NDArray[np.bool_], direction: NDArray[np.int64]) -> None:
    row, column = np.nonzero(shown)
    x, y = direction[row, column].T
    axes.quiver(
        column,
        row,
        x,
        y,
        pivot="middle",
        color="white",
        edgecolor="black",
        linewidth=0.4,
        units="xy",
        scale=1.7,
        width=0.09,
        headwidth=3.4,
        headlength=3.4,
        headaxislength=3.0,
    )


def _count(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))


def _moving_mean(values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    return np.convolve(values, np.full(window, 1 / window), "valid")
