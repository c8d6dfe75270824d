"""The demonstration's plot: CartPole, learned in hardware, and the learners' speeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qstep._io.pictures import write_pictures
from qstep.learn.agents_result import history_of
from qstep.learn.plots import RETURN, TileSums, band, mean_returns
from qstep.spec.config import Config
from qstep.spec.integer_worlds import CART_POLE
from qstep_bench.demo import OnChip
from qstep_bench.measure import Comparison, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from qstep_fpga.report import BuildReport

__all__ = ["CHIP", "CORE", "LANE", "SOFTWARE", "Bar", "bars", "draw", "draw_result"]

_SIDE = 101
"""Number of points per side of a plot of tile-coded values."""

CORE = "one core of this CPU, measured"
LANE = "one lane, post-route estimate"
CHIP = "all lanes of a chip, post-route estimate"

SOFTWARE = {"pole-c": "C", "pole-model": "compiled model"}
"""Implementations of the benchmark ``acting`` that learn CartPole, with their labels."""


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


def bars(
    software: Comparison, plain: float, found: OnChip, boards: Sequence[BuildReport]
) -> list[Bar]:
    """Return all learners of CartPole, sorted by group and then by speed, slowest first.

    Parameters
    ----------
    software : Comparison
        Rates of the implementations in :data:`SOFTWARE`.
    plain : float
        Steps per second of the model in plain Python.
    found : OnChip
    boards : sequence of BuildReport
        Those in whose configuration agents learn CartPole are shown.
    """
    learners = [
        Bar(SOFTWARE[form.name], (form.processor_rate or form.rate).median, CORE)
        for form in software.forms
    ]
    learners.append(Bar("model in plain Python", plain, CORE))
    learners.append(Bar("simulated chip", found.model.updates / found.seconds, CORE))
    for report in boards:
        config = Config.from_dict(report.config)
        if config.acting is None or config.acting.world != CART_POLE.env_id:
            continue
        name = report.board.removesuffix("-farm").removesuffix("-cartpole")
        lanes, group = (f", {config.lanes} lanes", CHIP) if config.lanes > 1 else ("", LANE)
        learners.append(Bar(f"{name}{lanes}", report.core_rate * 1e6, group))
    groups = (CORE, LANE, CHIP)
    return sorted(learners, key=lambda bar: (groups.index(bar.group), bar.rate))


def draw(found: OnChip, shown: Sequence[Bar], folder: Path) -> list[Path]:
    """Write the picture for light and dark pages into `folder`; return the paths."""
    pictures = {
        folder / f"result-{theme}.png": partial(draw_result, found, shown, theme)
        for theme in _THEMES
    }
    write_pictures(pictures)
    return list(pictures)


def draw_result(found: OnChip, shown: Sequence[Bar], theme: str = "light") -> Figure:
    """Plot the result on a transparent background.

    The plot shows CartPole's learning curve, the median agent's actions, and the speeds.

    Parameters
    ----------
    found : OnChip
    shown : sequence of Bar
    theme : str
        ``light`` or ``dark``: the background of the page.
    """
    with _themed(theme) as (figure, colours):
        _curve(figure.add_axes((0.05, 0.185, 0.27, 0.725)), found, colours)
        _actions(figure.add_axes((0.4, 0.185, 0.19, 0.725)), found)
        _bars(figure.add_axes((0.765, 0.185, 0.18, 0.725)), shown, colours)
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

    axes.set_title("CartPole, learned on the simulated chip")
    evaluations = history_of(found.model.points)["evaluations"]
    returns = mean_returns(evaluations)
    label = f"{len(returns[0])} agents (median, worst to best)"
    band(axes, evaluations["steps"], returns, colours.blue, label)
    axes.axhline(475, color=colours.green, linestyle="--", linewidth=1.2, label="solved", zorder=3)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlabel("steps of each agent")
    axes.set_ylabel(RETURN)
    axes.legend(loc="lower right")


def _actions(axes: Axes, found: OnChip) -> None:
    """Plot the median agent's action against angle and angular velocity."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    hues = {"push left": "#8fb8de", "push right": "#f2c14e"}
    q = found.model.config.format.to_float(found.table[found.middle])
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

    axes.set_title("Million steps/s in CartPole (log)", x=-0.83)
    hues = {CORE: colours.faint, LANE: colours.orange, CHIP: colours.blue}
    rates = [bar.rate / 1e6 for bar in shown]
    axes.barh(range(len(shown)), rates, color=[hues[bar.group] for bar in shown], height=0.62)
    for row, rate in enumerate(rates):
        axes.annotate(number(rate), (rate, row), (4, 0), textcoords="offset points", va="center")
    axes.set_yticks(range(len(shown)), [bar.name for bar in shown])
    axes.tick_params(left=False, labelcolor=colours.text)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(left=0.001)
    axes.xaxis.set_visible(False)
    axes.spines[["bottom", "left"]].set_visible(False)
    present = {bar.group for bar in shown}
    kinds = [Patch(color=hue, label=group) for group, hue in hues.items() if group in present]
    axes.legend(handles=kinds, loc="upper right", bbox_to_anchor=(1.25, 0.04), labelspacing=0.2)
