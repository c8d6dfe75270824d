"""Views of the advice of :func:`~qstep.learn.advise.advise`: a table and a plot."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from rich.table import Table
from rich.text import Text

from qstep.learn.advise import Outcome, Trial, format_of
from qstep.spec.discount import differs
from qstep.spec.fixed import COEFFICIENT_BITS

__all__ = ["draw", "render", "sentence"]

# Okabe and Ito, "Color universal design" (2008): colour-blind readers can tell these colours apart.
_COLOURS = {
    Outcome.REACHED: "#009e73",
    Outcome.DEAD_ZONE: "#e69f00",
    Outcome.SATURATION: "#cc79a7",
    Outcome.NOT_ENOUGH: "#f0e442",
}


def sentence(advice: dict[str, Any], world: str) -> str:
    """Return the advice as a sentence, and a command that applies it."""
    best = advice["narrowest"]
    if best is None:
        return "No format that was tried reaches the policy: try --steps, --alpha or --width."
    bits = advice["coefficient_bits"]
    more = "" if bits == COEFFICIENT_BITS else f" --coefficient-bits {bits}"
    return (
        f"The narrowest format that reaches the policy is {best['format']} ({best['width']} bits), "
        f"rounding {best['rounding']}.\nTry: qstep train {world} --format {best['format']} "
        f"--rounding {best['rounding']}{more} --alpha {advice['alpha']} --gamma {advice['gamma']}"
    )


def render(advice: dict[str, Any], world: str) -> Table:
    """Return a table of the best format per width and rounding mode, or the reason why it fails."""
    alpha, gamma, trials = advice["alpha"], advice["gamma"], advice["trials"]
    bits = advice["coefficient_bits"]
    off = differs(alpha / advice["planes"], gamma, bits)
    learned = f" (learned: {advice['discount']:.6g})" if off else ""
    more = "" if bits == COEFFICIENT_BITS else f", {bits} fractional bits of coefficients"
    settings = f"alpha {alpha:g}, gamma {gamma:g}{learned}{more}"
    table = Table(
        title=f"{world}: {settings}, {advice['steps_per_agent']:,} steps",
        caption=f"Loss: {_loss(advice['goal'])}. "
        "Dead zone: TD errors up to this are rounded away. Not enough: too few fraction bits or "
        "steps. "
        "If a format with more fraction bits fails, the policy was reached by luck.",
    )
    table.add_column("bits", justify="right")
    modes = list(dict.fromkeys(trial["rounding"] for trial in trials))
    for mode in modes:
        table.add_column(mode)
    for width in sorted({trial["width"] for trial in trials}):
        cells = [
            [trial for trial in trials if (trial["width"], trial["rounding"]) == (width, mode)]
            for mode in modes
        ]
        table.add_row(str(width), *(_cell(advice["narrowest"], cell) for cell in cells))
    return table


def _loss(goal: float | None) -> str:
    if goal is None:
        return "how much less than the optimum the greedy policy is worth where episodes start"
    return f"how much less than {goal:g} the greedy policy returns"


def _cell(narrowest: Trial | None, trials: list[Trial]) -> Text:
    """Return the advised format if it is among `trials`, otherwise the best of them."""

    def order(trial: Trial) -> tuple[Any, ...]:
        failed, lucky = trial["outcome"] != Outcome.REACHED, trial["contradicted_by"] is not None
        return trial is not narrowest, failed, lucky, trial["loss"], trial["saturated"]

    best = min(trials, key=order)
    return Text(f"{best['format']} {_reason(best)}", "bold green" if best is narrowest else "")


def _reason(trial: Trial) -> str:
    if trial["outcome"] == Outcome.REACHED:
        wider = trial["contradicted_by"]
        return f"reached, but {wider} fails" if wider else "reached"
    amounts = {
        Outcome.DEAD_ZONE: f" {trial['dead_zone']:.2g}",
        Outcome.SATURATION: f" {trial['saturated']:.1%}",
    }
    return f"{trial['outcome']}{amounts.get(trial['outcome'], '')}, loss {trial['loss']:.1%}"


def draw(advice: dict[str, Any], world: str) -> Figure:
    """Plot outcomes against fraction and integer bits, one panel per rounding mode."""
    modes = list(dict.fromkeys(trial["rounding"] for trial in advice["trials"]))
    figure = Figure(figsize=(9, 1.2 + 1.6 * len(modes)), layout="constrained")
    panels = figure.subplots(len(modes), 1, sharex=True, squeeze=False)[:, 0]
    for axes, mode in zip(panels, modes, strict=True):
        trials = [trial for trial in advice["trials"] if trial["rounding"] == mode]
        formats = [format_of(trial) for trial in trials]
        integers = np.array([own.integer for own in formats])
        colours = [_COLOURS[trial["outcome"]] for trial in trials]
        axes.bar(
            [own.fraction for own in formats],
            *(1, 1),
            bottom=integers - 0.5,
            color=colours,
            edgecolor="white",
        )
        axes.margins(0)
        axes.set_yticks(range(min(integers), max(integers) + 1))
        axes.set_ylabel(f"{mode}\ninteger bits")
        best = advice["narrowest"]
        if best is not None and best["rounding"] == mode:
            axes.plot(format_of(best).fraction, format_of(best).integer, "k*", markersize=12)
    panels[-1].set_xlabel("fraction bits")
    goal = advice["goal"]
    aim = "value iteration's policy" if goal is None else f"a return of {goal:g}"
    figure.suptitle(f"{world}: formats that reach {aim}; the star is the narrowest")
    found = {trial["outcome"] for trial in advice["trials"]}
    patches = [Patch(color=_COLOURS[name], label=name.value) for name in _COLOURS if name in found]
    patches.append(Patch(facecolor="white", edgecolor="grey", label="not tried"))
    figure.legend(handles=patches, loc="outside lower center", ncols=len(patches))
    return figure
