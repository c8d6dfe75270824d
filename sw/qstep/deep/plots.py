"""The picture of a run with a network."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from qstep.deep.run import GAMES, Run

__all__ = ["draw_learning_curve"]


def draw_learning_curve(run: Run) -> Figure:
    """Plot returns above scores: Snake's returns have other units, ten per point and less for death."""
    figure = Figure(figsize=(8, 6), layout="constrained")
    explored, played = figure.subplots(2, 1, sharex=True)
    steps, totals = np.array(run.returns).reshape(-1, 2).T
    window = max(1, len(totals) // 50)
    if len(totals):
        smooth = np.convolve(totals, np.full(window, 1 / window), "valid")
        explored.plot(steps[window - 1 :], smooth, color="tab:blue")
    explored.set_ylabel(f"return while exploring,\nmean of {window} episodes")
    at = [score.steps for score in run.scores]
    low, high = [s.low for s in run.scores], [s.high for s in run.scores]
    played.fill_between(at, low, high, color="tab:orange", alpha=0.2, linewidth=0)
    played.plot(at, [s.mean for s in run.scores], color="tab:orange", marker=".", markersize=4)
    played.set_ylabel(f"score of {GAMES} greedy episodes:\nmean, lowest to highest")
    threshold = run.preset.solved
    if threshold is not None:
        played.axhline(threshold, color="tab:green", linestyle=":", label=f"solved: {threshold:g}")
        played.legend(loc="best")
    played.set_xlabel("steps")
    for axes in (explored, played):
        axes.grid(alpha=0.3)
    figure.suptitle(f"{run.name}, {run.form}: learning curve")
    return figure
