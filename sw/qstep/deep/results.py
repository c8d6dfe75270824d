"""What is left of a finished run: network, history, learning curve, summary."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from safetensors.torch import save

from qstep.deep.presets import PRESETS
from qstep.deep.run import GAMES, Run, Score
from qstep.files import write_atomically
from qstep.plotting import write_picture

__all__ = ["summary", "write_results"]

_THOUSAND = 1000
"""Episodes at the beginning and at the end of a run that are compared."""


def write_results(folder: Path, run: Run) -> dict[str, Path]:
    """Write ``network.safetensors``, ``history.json`` and ``learning_curve.png``.

    The network is that of :func:`qstep.deep.network.modules`, with PQN normalised, by PyTorch's names.

    Parameters
    ----------
    folder : Path
        Must exist; files of these names in it are replaced.
    run : Run
        After its end.

    Returns
    -------
    dict of str to Path
        The files by what they hold.

    Raises
    ------
    FileFormatError
        A file cannot be written.
    """
    files = {
        "network": folder / "network.safetensors",
        "history": folder / "history.json",
        "learning curve": folder / "learning_curve.png",
    }
    history = {"returns": run.returns, "evaluations": [asdict(score) for score in run.scores]}
    write_atomically(files["network"], save(run.network.state_dict()))
    write_atomically(files["history"], (json.dumps(history) + "\n").encode())
    write_picture(_learning_curve(run), files["learning curve"])
    return files


def summary(run: Run) -> dict[str, Any]:
    """Return what a run was and how well it learnt, as plain values.

    ``solved_at`` is the first evaluation, in steps, that reached the threshold of the system; the
    score is that of the last network, whatever came before. ``first_and_last`` says how a long run
    went on: microseconds of processor time a step, and peak memory, over the first thousand episodes
    and the last thousand; None where there were fewer than two thousand.
    """
    learner, threshold = run.learner, PRESETS[run.name].solved
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
        "phases": {name: round(s, 2) for name, s in run.phases.items()},
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


def _learning_curve(run: Run) -> Figure:
    """Draw returns above scores: Snake's have other units, ten times a score and less for death."""
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
    threshold = PRESETS[run.name].solved
    if threshold is not None:
        played.axhline(threshold, color="tab:green", linestyle=":", label=f"solved: {threshold:g}")
        played.legend(loc="best")
    played.set_xlabel("steps")
    for axes in (explored, played):
        axes.grid(alpha=0.3)
    figure.suptitle(f"{run.name}, {run.form}: learning curve")
    return figure
