"""The results of a finished run with a network: its files, its picture, a summary in plain values."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from safetensors.torch import save

from qstep._io.files import write_atomically
from qstep.deep.run import GAMES, Run, Score
from qstep.learn.results import Results

__all__ = ["draw_learning_curve", "results", "summary"]

_THOUSAND = 1000
"""Episodes compared at the beginning and at the end of a run."""


def results(run: Run) -> Results:
    """Return ``network.safetensors``, the history and the learning curve of a finished run.

    The network is that of :func:`qstep.deep.network.modules`, normalised for PQN, with PyTorch's names.
    """

    def network(path: Path) -> None:
        write_atomically(path, save(run.learner.to_modules().state_dict()))

    return Results(
        learnt={"network.safetensors": network},
        history={"returns": run.returns, "evaluations": [asdict(score) for score in run.scores]},
        pictures={"learning_curve.png": partial(draw_learning_curve, run)},
    )


def summary(run: Run) -> dict[str, Any]:
    """Return a run's identity and how well it learnt, as plain values.

    ``solved_at`` is the step of the first evaluation that reached the environment's threshold; the score
    is that of the last network. ``first_and_last`` shows whether a long run slowed down or grew:
    microseconds of processor time per step, and peak memory, over the first thousand episodes and the
    last thousand; None if there were fewer than two thousand.
    """
    learner, threshold = run.learner, run.preset.solved
    first = [s.steps for s in run.scores if threshold is not None and s.mean >= threshold]
    return {
        **run.identity,
        "steps_played": learner.steps,
        "episodes_played": learner.episodes,
        "updates": learner.updates,
        "score": asdict(run.scores[-1]),
        "solved": None if threshold is None else run.scores[-1].mean >= threshold,
        "solved_at": first[0] if first else None,
        "seconds": round(run.seconds, 2),
        "processor_s": round(run.processor_s, 2),
        "phases": {name: round(s, 2) for name, s in learner.seconds.items()},
        "first_and_last": _first_and_last(run.scores),
    }


def _first_and_last(scores: list[Score]) -> dict[str, list[float]] | None:
    last = scores[-1]
    early = [score for score in scores if score.episodes >= _THOUSAND]
    late = [score for score in scores if score.episodes <= last.episodes - _THOUSAND]
    if not early or not late or early[0].episodes > late[-1].episodes:
        return None
    first, before = early[0], late[-1]
    spent = (last.learning_s - before.learning_s) / (last.steps - before.steps)
    return {
        "us_per_step": [
            round(first.learning_s / first.steps * 1e6, 2),
            round(spent * 1e6, 2),
        ],
        "peak_mib": [round(first.peak_mib, 1), round(last.peak_mib, 1)],
    }


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
    figure.suptitle(f"{run.name}, {run.algorithm.name}: learning curve")
    return figure
