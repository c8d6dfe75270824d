"""Comparisons of forms as a picture."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import SubFigure

from qstep.bench.measure import Spread
from qstep.bench.numbers import short
from qstep.bench.pairs import Comparison

__all__ = ["draw_comparison"]

# Colours that colour-blind people can tell apart (Okabe and Ito).
_RATE, _RATIO, _ONCE = "#0072b2", "#009e73", "#000000"


def draw_comparison(comparison: Comparison, part: SubFigure) -> None:
    """Draw, form by form, how fast it is, and how many times as fast as what it stands against."""
    left, right = part.subplots(1, 2, sharey=True)
    left.set_title(comparison.system, loc="left", fontweight="bold")
    for at, form in enumerate(comparison.forms):
        _bar(left, at, form.rate, _RATE)
        if form.ratio:
            _bar(right, at, form.ratio, _RATIO)
    names = [
        form.name + (f"\nagainst {form.base}" if form.base else "") for form in comparison.forms
    ]
    left.set_yticks(range(len(names)), names)
    left.set_ylim(len(names) - 0.4, -0.6)
    left.set_xlabel(f"{comparison.unit} per second")
    right.axvline(1, color=_ONCE, linewidth=1)
    right.set_xlabel("times as fast, paired round by round")
    for axes in (left, right):
        axes.margins(x=0.18)
        axes.set_xlim(left=0)
        axes.grid(axis="x", color="lightgray", linewidth=0.5)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    left.ticklabel_format(axis="x", style="sci", scilimits=(-3, 5))


def _bar(axes: Axes, at: int, spread: Spread, colour: str) -> None:
    reach = [[spread.median - spread.minimum], [spread.maximum - spread.median]]
    axes.barh(at, spread.median, 0.6, xerr=reach, color=colour, ecolor="dimgray")
    axes.annotate(
        short(spread.median),
        (spread.maximum, at),
        (4, 0),
        textcoords="offset points",
        va="center",
        fontsize="small",
    )
