"""An :class:`~qstep.learn.advise.Advice` for people: a table and a picture."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from rich.table import Table
from rich.text import Text

from qstep.learn.advise import Advice, Outcome, Trial, dead_zone
from qstep.spec.discount import differs
from qstep.spec.fixed import Rounding

__all__ = ["draw", "render", "sentence"]

_COLOURS = {
    Outcome.REACHED: "tab:green",
    Outcome.DEAD_ZONE: "tab:orange",
    Outcome.SATURATION: "tab:red",
    Outcome.NOT_ENOUGH: "gold",
}


def sentence(advice: Advice, world: str) -> str:
    """Return the advice as a sentence, and the command that follows it."""
    best = advice.narrowest
    if best is None:
        return "No format that was tried reaches the policy: try --steps, --alpha or --width."
    return (
        f"The narrowest format that reaches the policy is {best.number_format} "
        f"({best.number_format.width} bits), rounding {best.rounding.value}.\n"
        f"Try: qstep train {world} --format {best.number_format} --rounding {best.rounding.value} "
        f"--alpha {advice.alpha} --gamma {advice.gamma}"
    )


def render(advice: Advice, world: str) -> Table:
    """Return a table: the best format of each width and rounding mode, or why none suffices."""
    modes = list(dict.fromkeys(trial.rounding for trial in advice.trials))
    learned = f" (learned: {advice.discount:.6g})" if differs(advice.alpha, advice.gamma) else ""
    settings = f"alpha {advice.alpha:g}, gamma {advice.gamma:g}{learned}"
    table = Table(
        title=f"{world}: {settings}, {advice.steps:,} steps",
        caption="Loss: how much less than the optimum the greedy policy is worth where episodes start. "
        "Dead zone: TD errors up to this are rounded away. Not enough: fraction bits, or steps. "
        "If a format with more fraction bits fails, the policy was reached by luck.",
    )
    table.add_column("bits", justify="right")
    for mode in modes:
        table.add_column(mode.value)
    widths = sorted({trial.number_format.width for trial in advice.trials})
    for width in widths:
        cells = (_cell(advice, width, mode) for mode in modes)
        table.add_row(str(width), *cells)
    return table


def _cell(advice: Advice, width: int, mode: Rounding) -> Text:
    """Return the format that is advised, or else the best of these."""

    def order(trial: Trial) -> tuple[bool, bool, bool, float, float]:
        failed = trial.outcome is not Outcome.REACHED
        lucky = advice.contradiction(trial) is not None
        return trial != advice.narrowest, failed, lucky, trial.loss, trial.saturated

    trials = [trial for trial in advice.trials if trial.rounding is mode]
    best = min((trial for trial in trials if trial.number_format.width == width), key=order)
    style = "bold green" if best == advice.narrowest else ""
    return Text(f"{best.number_format} {_reason(advice, best)}", style)


def _reason(advice: Advice, trial: Trial) -> str:
    if trial.outcome is Outcome.REACHED:
        other = advice.contradiction(trial)
        return f"reached, but {other.number_format} fails" if other else "reached"
    _, zone = dead_zone(trial.number_format, trial.rounding, advice.alpha)
    amount = {Outcome.DEAD_ZONE: f" {zone:.2g}", Outcome.SATURATION: f" {trial.saturated:.1%}"}
    return f"{trial.outcome}{amount.get(trial.outcome, '')}, loss {trial.loss:.1%}"


def draw(advice: Advice, world: str) -> Figure:
    """Return a picture: outcomes over fraction and integer bits, a panel for each rounding mode."""
    modes = list(dict.fromkeys(trial.rounding for trial in advice.trials))
    figure = Figure(figsize=(9, 1.2 + 1.6 * len(modes)), layout="constrained")
    panels = figure.subplots(len(modes), 1, sharex=True, squeeze=False)[:, 0]
    for axes, mode in zip(panels, modes, strict=True):
        trials = [trial for trial in advice.trials if trial.rounding is mode]
        integers = np.array([trial.number_format.integer for trial in trials])
        fractions = [trial.number_format.fraction for trial in trials]
        colours = [_COLOURS[trial.outcome] for trial in trials]
        axes.bar(fractions, 1, 1, bottom=integers - 0.5, color=colours)
        axes.margins(0)
        axes.set_yticks(range(min(integers), max(integers) + 1))
        axes.set_ylabel(f"{mode.value}\ninteger bits")
        best = advice.narrowest
        if best is not None and best.rounding is mode:
            axes.plot(best.number_format.fraction, best.number_format.integer, "k*", markersize=12)
    panels[-1].set_xlabel("fraction bits")
    figure.suptitle(
        f"{world}: formats that reach value iteration's policy; the star is the narrowest"
    )
    patches = [Patch(color=colour, label=name.value) for name, colour in _COLOURS.items()]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(patches))
    return figure
