"""Plots of learning: agents' curves as a median and a band, episodes, and a policy on its map."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qstep.envs.rendering import GOAL, HOLE, START, WALL, GridMap
from qstep.spec.integer_worlds import INTEGER_WORLDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

    from qstep.learn.result import History
    from qstep.spec.tiles import Tiles

__all__ = [
    "COLOURS",
    "LETTERS",
    "MOST_ARROWS",
    "RETURN",
    "Band",
    "PolicyMap",
    "TileSums",
    "band",
    "draw_agents",
    "draw_learning_curve",
    "draw_policy",
    "draw_tiles",
    "learnt",
    "mean_returns",
    "show_policy",
]

_BLANK = "#e9ecef"
"""Colour of cells whose values have not been learned yet."""

COLOURS = {HOLE: "#222222", WALL: "#8a8a8a", GOAL: "#2e8b57"}
"""Colours of cells in which nothing can be learned."""

LETTERS = ((START, "S"), (GOAL, "G"), (HOLE, "H"))
"""Letters drawn in cells of each kind."""

_MEANING = {START: "S start", GOAL: "G goal", HOLE: "H hole", WALL: "grey: wall"}

_MANY = 50
"""Minimum episodes per mean return, so that the rewards of an unfinished episode matter little."""

RETURN = f"return, mean of {_MANY} episodes"
"""Label of the axis of :func:`mean_returns`."""

_SIDE = 101
"""Number of points along each side of a plot of planes."""

MOST_ARROWS = 4096
"""Maximum number of cells of a map on which arrows are drawn; on larger maps they are illegible."""


def learnt(q: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether the best action of each state was ever updated, for values of shape (..., A).

    Tables start at 0, so a best value of 0 belongs to an action that has not been tried yet. The greedy
    policy takes this action only because the other actions proved to be worth less.
    """
    known: NDArray[np.bool_] = q.max(axis=-1) != 0
    return known


@dataclass(frozen=True, slots=True)
class PolicyMap:
    """A table on the map of its world; arrays have shape (rows, columns).

    `cells` contains the letters of the map. `values` contains the value of the best action; it is masked
    unless :func:`learnt`, and masked in holes, walls and the goal. The additional last axis of
    `direction` is the direction of the greedy action as (right, up).
    """

    cells: NDArray[np.str_]
    values: np.ma.MaskedArray[tuple[int, int], np.dtype[np.float64]]
    direction: NDArray[np.int64]

    @classmethod
    def of(cls, grid: GridMap, q: NDArray[np.float64]) -> PolicyMap:
        """Put real values of shape (S, A) on a map; states beyond the map are omitted."""
        cells = np.array([list(row) for row in grid.rows])
        q = q[: cells.size]
        known = learnt(q).reshape(cells.shape) & ~np.isin(cells, tuple(COLOURS))
        values = np.ma.masked_array(q.max(axis=1).reshape(cells.shape), mask=~known)
        return cls(cells, values, np.array(grid.moves)[q.argmax(axis=1)].reshape(*cells.shape, 2))

    @property
    def learnt(self) -> NDArray[np.bool_]:
        """Whether each cell has a value, shape (rows, columns)."""
        return ~np.ma.getmaskarray(self.values)

    @property
    def legend(self) -> str:
        """Meaning of the letters and plain colours that occur on the map."""
        seen = [text for kind, text in _MEANING.items() if (self.cells == kind).any()]
        blank = ~self.learnt & ~np.isin(self.cells, tuple(COLOURS))
        return ", ".join([*seen, *(["pale: not learned"] if blank.any() else [])])


class Band(NamedTuple):
    """Median and range over the agents with a known value, at evaluations with at least one."""

    steps: NDArray[np.int64]
    median: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def of(cls, steps: NDArray[np.int64], values: NDArray[np.float64]) -> Band:
        """Return the band of values of shape (evaluations, agents), in which NaN means unknown."""
        known = ~np.isnan(values).all(axis=1)
        values = values[known]
        return cls(
            steps[known],
            np.nanmedian(values, axis=1),
            np.nanmin(values, axis=1),
            np.nanmax(values, axis=1),
        )


def draw_agents(
    title: str, evaluations: Mapping[str, NDArray[Any]], optimum: float | None
) -> Figure:
    """Plot the return of episodes with exploration, and the exact value of greedy policies.

    If no episode of the run ended, the reward per step is drawn instead of the return. Lines are
    medians over the agents; bands extend from the worst to the best. `evaluations` are the columns of
    :attr:`qstep.AgentsResult.history`; `optimum` is the optimal value, None if values are unknown.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    steps, agents = evaluations["steps"], evaluations["episodes"].shape[1]
    valued = optimum is not None
    who = f", {agents} agents: median, worst to best" if agents > 1 else ""
    figure = Figure(figsize=(8, 6 if valued else 3.5))
    # Margins are set by hand, because Matplotlib would draw everything twice to find them.
    figure.subplots_adjust(
        0.1, 0.09 if valued else 0.15, 0.98, 0.93 if valued else 0.88, hspace=0.08
    )
    panels = figure.subplots(2 if valued else 1, 1, sharex=True, squeeze=False)[:, 0]
    returns = mean_returns(evaluations)
    ended = not np.isnan(returns).all()
    shown = returns if ended else evaluations["step_reward"]
    band(panels[0], steps, shown, "tab:blue", f"exploring{who}")
    panels[0].set_ylabel(RETURN if ended else "reward of a step")
    if optimum is not None:
        values, label = evaluations["greedy_value"], f"greedy policy, exact{who}"
        band(panels[1], steps, values, "tab:orange", label)
        panels[1].axhline(optimum, color="tab:green", linestyle="--", label="optimum")
        panels[1].set_ylabel("value of the start")
    first = (steps if valued else Band.of(steps, shown).steps)[0]
    for axes in panels:
        if steps[-1] >= 10 * first:
            # Ticks between powers of ten would take as long to draw as everything else.
            axes.set_xscale("log", subs=[])
        axes.grid(alpha=0.3)
        axes.legend(loc="best")
    panels[-1].set_xlabel("steps of each agent")
    panels[-1].xaxis.set_major_formatter(EngFormatter(sep=""))
    figure.suptitle(title)
    return figure


def mean_returns(evaluations: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    """Return each agent's mean reward per episode over the last 50 episodes or more.

    `evaluations` are the columns of :attr:`qstep.AgentsResult.history`. The result, of shape
    (evaluations, agents), covers all episodes if fewer have ended, and is NaN before the first end.
    """
    steps = np.diff(evaluations["steps"], prepend=0)
    rewards = np.cumsum(evaluations["step_reward"] * steps[:, None], axis=0)
    means = np.full(rewards.shape, np.nan)
    for agent, ended in enumerate(evaluations["episodes"].T):
        total, count = np.append(0.0, rewards[:, agent]), np.append(0, ended)
        first = np.maximum(np.searchsorted(count, ended - _MANY, side="right") - 1, 0)
        np.divide(
            *(total[1:] - total[first], count[1:] - count[first]),
            out=means[:, agent],
            where=ended > 0,
        )
    return means


def band(
    axes: Axes,
    steps: NDArray[np.int64],
    values: NDArray[np.float64],
    colour: str,
    label: str,
    *,
    filled: bool = True,
) -> None:
    """Draw the median of values of shape (evaluations, agents), and a band from minimum to maximum.

    Evaluations at which the values of all agents are NaN are skipped.
    """
    shown = Band.of(steps, values)
    marker = "o" if len(shown.steps) == 1 else None  # a line needs two points to be visible
    axes.plot(shown.steps, shown.median, color=colour, label=label, marker=marker)
    if filled:
        axes.fill_between(shown.steps, shown.low, shown.high, color=colour, alpha=0.25, linewidth=0)


def draw_learning_curve(title: str, history: History) -> Figure:
    """Plot return, and success if known, against episodes, with exploration and greedily.

    `history` contains at least one episode. The moving mean covers a fiftieth of the run.
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
        style = {"color": "tab:orange", "label": "greedy evaluation"}
        axes.plot(at, evaluations[name], marker, markersize=3, **style)
        axes.grid(alpha=0.3)
    above.legend(loc="lower right")
    figure.suptitle(title)
    return figure


def draw_policy(title: str, grid: GridMap, q: NDArray[np.float64]) -> Figure:
    """Plot every state's value and greedy action on the map, from real values of shape (S, A).

    States are drawn pale and without an arrow unless :func:`learnt`; states outside the map are omitted.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    height, width = len(grid.rows), len(grid.rows[0])
    side = min(0.9, 10 / max(width, height))
    across, high = max(side * width, 3.5), max(side * height, 2.0)
    size = (across + 1.8, high + 1.1)
    figure = Figure(figsize=size)
    # Positions are set by hand, in inches: Matplotlib would draw everything twice to find them.
    axes = figure.add_axes((0.6 / size[0], 0.7 / size[1], across / size[0], high / size[1]))
    right = (across + 0.75) / size[0]
    scale = figure.add_axes((right, 0.7 / size[1], 0.2 / size[0], high / size[1]))
    axes.set_title(title)
    image = show_policy(axes, grid, q, letter=min(14.0, 40 * side * 0.45))
    figure.colorbar(image, cax=scale, label="value of the best action")
    axes.set_xlabel(f"column\n{PolicyMap.of(grid, q).legend}")
    axes.set_ylabel("row")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    return figure


class TileSums(NamedTuple):
    """Sums over planes, on a square grid over two of the observation's numbers.

    Attributes
    ----------
    numbers : tuple of int
        Indices of these numbers: the first two that the groups of tiles contain. All other numbers are
        at the middle of their bounds.
    bounds : tuple of (float, float)
        Bounds of each of these numbers.
    values : ndarray of float64, shape (side, side, A)
        The second number varies along the first axis, and the first number along the second axis.
    """

    numbers: tuple[int, int]
    bounds: tuple[tuple[float, float], tuple[float, float]]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, tiles: Tiles, q: NDArray[np.float64], side: int) -> TileSums:
        """Sum planes of shape (T, S, A), or use a single plane of shape (S, A)."""
        weights = q.reshape(tiles.planes, *q.shape[-2:])
        first, second = [*dict.fromkeys(itertools.chain(*tiles.groups)), 0][:2]
        bounds = [
            (own.low / unit, own.high / unit)
            for own, unit in zip(tiles.coordinates, tiles.units, strict=True)
        ]
        seen = np.tile([(low + high) / 2 for low, high in bounds], (side, side, 1))
        seen[..., first] = np.linspace(*bounds[first], side)
        seen[..., second] = np.linspace(*bounds[second], side)[:, None]
        rows = tiles.many(tiles.raw(seen).reshape(-1, len(bounds)))
        sums = weights[np.arange(tiles.planes), rows].sum(axis=1)
        return cls((first, second), (bounds[first], bounds[second]), sums.reshape(side, side, -1))


def draw_tiles(title: str, world: str, tiles: Tiles, q: NDArray[np.float64]) -> Figure:
    """Plot planes, real values of shape (T, S, A): the maximum sum over planes, and its action.

    Both panels are pale where all sums are 0, because nothing was learned there.
    """
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    numbers, bounds, sums = TileSums.of(tiles, q, _SIDE)
    known = INTEGER_WORLDS.get(world)
    across, up = (known.names[k] if known else f"observation[{k}]" for k in numbers)
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    place: dict[str, Any] = {
        "origin": "lower",
        "aspect": "auto",
        "extent": (*bounds[0], *bounds[1]),
    }
    left, right = figure.subplots(1, 2)
    unlearned, actions = (sums == 0).all(axis=-1), sums.shape[-1]
    colours, hues = (
        colormaps["viridis"].resampled(count).with_extremes(bad=_BLANK) for count in (256, actions)
    )
    values, best = (
        np.ma.masked_where(unlearned, found) for found in (sums.max(axis=-1), sums.argmax(axis=-1))
    )
    figure.colorbar(left.imshow(values, cmap=colours, **place), ax=left)
    image = right.imshow(best, cmap=hues, vmin=-0.5, vmax=actions - 0.5, **place)
    figure.colorbar(image, ax=right, ticks=range(actions))
    for axes, what in (left, "value of the best action"), (right, "greedy action"):
        axes.set(xlabel=across, ylabel=up, title=what)
    figure.suptitle(title)
    return figure


def show_policy(axes: Axes, grid: GridMap, q: NDArray[np.float64], *, letter: float) -> AxesImage:
    """Draw a policy into axes, as :func:`draw_policy` does; return the image of the values.

    `letter` is the font size of the letters of holes and goals.
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
        # Drawing lines takes a tenth of the time of drawing minor ticks between the cells.
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


def _moving_mean(values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    return np.convolve(values, np.full(window, 1 / window), "valid")
