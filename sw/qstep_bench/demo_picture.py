"""The demonstration's plots: CartPole and a map, both learned in hardware, and the learners' speeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qstep._io.pictures import write_pictures
from qstep.envs.maps import map_of
from qstep.learn.agents_result import history_of
from qstep.learn.evaluate import played
from qstep.learn.plots import RETURN, TileSums, band, mean_returns, show_policy
from qstep.mdp.solve import solve
from qstep.spec.config import Config
from qstep.spec.integer_worlds import CART_POLE
from qstep_bench.demo_map import AGENTS, OnChip, world
from qstep_bench.demo_pole import OnPole
from qstep_bench.measure import Comparison, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from qstep_fpga.report import BuildReport

__all__ = ["CHIP", "CORE", "LANE", "SOFTWARE", "Bar", "bars", "draw", "draw_map", "draw_result"]

_SIDE = 101
"""Number of points per side of a plot of tile-coded values."""

CORE = "one core of this CPU, measured"
LANE = "one lane, post-route estimate"
CHIP = "all lanes of a chip, post-route estimate"

SOFTWARE = {
    "dictionary": "Python, one dictionary",
    "torch-batched": "PyTorch, 512 agents",
    "c": "C, one agent",
}
"""Benchmark implementations that act and learn as agents on the chip do, with their labels."""


@dataclass(frozen=True, slots=True)
class _Theme:
    text: str
    faint: str
    blue: str
    orange: str
    green: str


_THEMES = {
    "light": _Theme("#1f2328", "#59636e", "#0969da", "#d4700f", "#1a7f37"),
    "dark": _Theme("#f0f6fc", "#9198a1", "#4493f8", "#e3903c", "#3fb950"),
}


@dataclass(frozen=True, slots=True)
class Bar:
    """A learner, its steps per second (of processor time, for software), and its group."""

    name: str
    rate: float
    group: str
    """`CORE`, `LANE` or `CHIP`."""


def bars(software: Comparison, found: OnChip, boards: Sequence[BuildReport]) -> list[Bar]:
    """Return the learners of the grid world, sorted by group and then by speed, slowest first.

    Boards must have at least :data:`AGENTS` agents; of equally fast boards, only the first is kept.
    """
    core = [
        Bar(SOFTWARE[form.name], (form.processor_rate or form.rate).median, CORE)
        for form in software.forms
        if form.name in SOFTWARE
    ]
    core.append(Bar("simulated chip", found.steps / found.seconds, CORE))
    core.append(Bar(f"QStep model, {AGENTS} agents", found.model_rate, CORE))
    rates: dict[float, Bar] = {}
    for report in boards:
        config = Config.from_dict(report.config)
        if report.agents < AGENTS or config.acting is None or not config.acting.is_table:
            continue
        name = report.board.removesuffix("-agents").removesuffix("-farm")
        rate = report.core_rate * 1e6
        bar = (
            Bar(f"{name}, {config.lanes} lanes", rate, CHIP)
            if config.lanes > 1
            else Bar(name, rate, LANE)
        )
        rates.setdefault(rate, bar)
    groups = (CORE, LANE, CHIP)
    return sorted([*core, *rates.values()], key=lambda bar: (groups.index(bar.group), bar.rate))


def draw(found: OnChip, pole: OnPole, shown: Sequence[Bar], folder: Path) -> list[Path]:
    """Write the pictures for light and dark pages into `folder`; return the paths."""
    pictures = {
        folder / f"{name}-{theme}.png": partial(draw_it, theme)
        for name, draw_it in (
            ("result", partial(draw_result, pole, shown)),
            ("map", partial(draw_map, found)),
        )
        for theme in _THEMES
    }
    write_pictures(pictures)
    return list(pictures)


def draw_result(pole: OnPole, shown: Sequence[Bar], theme: str = "light") -> Figure:
    """Plot the result on a transparent background.

    The plot shows CartPole's learning curve, the median agent's actions, and the speeds.

    Parameters
    ----------
    pole : OnPole
    shown : sequence of Bar
    theme : str
        ``light`` or ``dark``: the background of the page.
    """
    with _themed(theme) as (figure, colours):
        _pole_curve(figure.add_axes((0.05, 0.185, 0.27, 0.725)), pole, colours)
        _pole_actions(figure.add_axes((0.4, 0.185, 0.19, 0.725)), pole)
        _bars(figure.add_axes((0.765, 0.185, 0.18, 0.725)), shown, colours)
    return figure


def draw_map(found: OnChip, theme: str = "light") -> Figure:
    """Plot the learning curves on the map, and the median agent's policy."""
    with _themed(theme) as (figure, colours):
        _curve(figure.add_axes((0.05, 0.185, 0.5, 0.725)), found, colours)
        _policy(figure.add_axes((0.61, 0.185, 0.3, 0.725)), found)
    return figure


@contextmanager
def _themed(theme: str) -> Iterator[tuple[Figure, _Theme]]:
    """Yield an empty figure and a theme's colours, which apply to all drawing within the context."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    colours = _THEMES[theme]
    style: Any = {
        "axes.edgecolor": colours.faint,
        "axes.facecolor": "none",
        "axes.labelcolor": colours.faint,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlecolor": colours.text,
        "axes.titlelocation": "left",
        "axes.titlesize": 10,
        "axes.titleweight": "bold",
        "figure.facecolor": "none",
        "font.size": 8.5,
        "legend.frameon": False,
        "savefig.facecolor": "none",
        "text.color": colours.text,
        "xtick.color": colours.faint,
        "ytick.color": colours.faint,
    }
    with rc_context(style):
        yield Figure(figsize=(11.4, 3.1)), colours


def _curve(axes: Axes, found: OnChip, colours: _Theme) -> None:
    from matplotlib.ticker import EngFormatter

    points, solvable = found.model.points, found.model.plan.solvable
    assert solvable is not None
    gamma = found.model.plan.settings[0].gamma
    optimum = played(solvable, solve(solvable, gamma).q.argmax(axis=1)).mean_return
    axes.set_title(f"{AGENTS} agents learn on the simulated chip")
    axes.axhline(optimum, color=colours.green, linestyle="--", linewidth=1.2, zorder=3)
    what = f"greedy optimum at gamma {gamma:g}"
    axes.text(points[-1].steps, optimum + 0.3, what, color=colours.green, ha="right")
    steps = np.array([point.steps for point in points])
    returns = mean_returns(history_of(points)["evaluations"])
    band(axes, steps, returns, colours.blue, "exploring (median, worst to best)")
    axes.plot(steps, np.median(found.greedy, axis=1), color=colours.orange, label="greedy (median)")
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlabel("steps of each agent")
    axes.set_ylabel("return of an episode")
    # Until a greedy agent has learned the way, it walks in circles; its return of -100 is off the plot.
    axes.set_ylim(np.nanmin(returns) - 1, optimum + 1.5)
    axes.legend(loc="lower right")


def _policy(axes: Axes, found: OnChip) -> None:
    axes.set_title("What one of them learned")
    grid = map_of(world())
    assert grid is not None
    q = found.model.plan.config.format.to_float(found.middle)
    show_policy(axes, grid, q, letter=11)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    axes.set_xlabel(
        "S start, G goal, H hole; colour: value;\noff the path, cells are rarely visited"
    )


def _pole_curve(axes: Axes, pole: OnPole, colours: _Theme) -> None:
    from matplotlib.ticker import EngFormatter

    axes.set_title("CartPole, learned on the simulated chip")
    evaluations = history_of(pole.model.points)["evaluations"]
    returns = mean_returns(evaluations)
    label = f"{len(returns[0])} agents (median, worst to best)"
    band(axes, evaluations["steps"], returns, colours.blue, label)
    axes.axhline(475, color=colours.green, linestyle="--", linewidth=1.2, label="solved", zorder=3)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlabel("steps of each agent")
    axes.set_ylabel(RETURN)
    axes.legend(loc="lower right")


def _pole_actions(axes: Axes, pole: OnPole) -> None:
    """Plot the median agent's action against angle and angular velocity."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    hues = {"push left": "#8fb8de", "push right": "#f2c14e"}
    q = pole.model.config.format.to_float(pole.table[pole.middle])
    _, bounds, sums = TileSums.of(CART_POLE.tiles, q, _SIDE)
    axes.imshow(
        sums.argmax(axis=-1),
        cmap=ListedColormap([*hues.values()]),
        origin="lower",
        aspect="auto",
        extent=(*bounds[0], *bounds[1]),
    )
    axes.set_title("What the median agent does")
    axes.set_xlabel("angle of the pole (rad)")
    axes.set_ylabel("angular speed (rad/s)")
    kinds = [Patch(facecolor=hue, edgecolor="#1f2328", label=what) for what, hue in hues.items()]
    axes.legend(handles=kinds, loc="lower right", labelcolor="#1f2328")


def _bars(axes: Axes, shown: Sequence[Bar], colours: _Theme) -> None:
    from matplotlib.patches import Patch

    axes.set_title("Million steps/s on a 5x5 map (log)", x=-0.83)
    hues = {CORE: colours.faint, LANE: colours.orange, CHIP: colours.blue}
    rates = [bar.rate / 1e6 for bar in shown]
    axes.barh(range(len(shown)), rates, color=[hues[bar.group] for bar in shown], height=0.62)
    for row, rate in enumerate(rates):
        axes.annotate(number(rate), (rate, row), (4, 0), textcoords="offset points", va="center")
    axes.set_yticks(range(len(shown)), [bar.name for bar in shown])
    axes.tick_params(left=False, labelcolor=colours.text)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(left=0.03)
    axes.xaxis.set_visible(False)
    axes.spines[["bottom", "left"]].set_visible(False)
    kinds = [Patch(color=hue, label=group) for group, hue in hues.items()]
    axes.legend(handles=kinds, loc="upper right", bbox_to_anchor=(1.25, 0.04), labelspacing=0.2)
