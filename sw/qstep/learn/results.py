"""What is left of a finished run: table, history, pictures, summary."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep.files import write_atomically
from qstep.learn.checkpoint import Episode
from qstep.learn.plots import plot_learning_curve, plot_policy
from qstep.learn.train import Learner
from qstep.learn.value_iteration import TransitionModel, solve
from qstep.table import save_table

__all__ = ["optimum", "summary", "write_results"]


def write_results(folder: Path, learner: Learner) -> dict[str, Path]:
    """Write ``table.npz``, ``history.json``, ``learning_curve.png``, and ``policy.png`` of a map.

    Parameters
    ----------
    folder : Path
        Must exist; files of these names in it are replaced.
    learner : Learner
        After at least one episode.

    Returns
    -------
    dict of str to Path
        The files by what they hold.

    Raises
    ------
    FileFormatError
        A file cannot be written.
    """
    result, config, env_id = learner.result, learner.device.config, learner.plan.env_id
    columns = [entry.name for entry in fields(Episode)]
    history = {
        "episodes": {name: [getattr(e, name) for e in result.episodes] for name in columns},
        "evaluations": [asdict(evaluation) for evaluation in result.evaluations],
    }
    files = {
        "table": folder / "table.npz",
        "history": folder / "history.json",
        "learning curve": folder / "learning_curve.png",
    }
    save_table(files["table"], result.table, config, learner.hyper)
    write_atomically(files["history"], (json.dumps(history) + "\n").encode())
    plot_learning_curve(
        files["learning curve"],
        f"{env_id}: learning curve",
        result.episodes,
        result.evaluations,
    )
    policy = folder / "policy.png"
    if plot_policy(policy, f"{env_id}: greedy policy", learner.env, learner.q):
        files["policy"] = policy
    else:
        policy.unlink(missing_ok=True)  # it is of a run that these results replace
    return files


def summary(learner: Learner) -> dict[str, Any]:
    """Return what a run was and how well it learnt, as plain values.

    ``optimum`` is that of :func:`optimum`, or None where the environment has no transition model, or
    gamma is 1.
    """
    result = learner.result
    model, gamma = learner.model, learner.hyper.gamma
    return {
        **asdict(learner.plan),
        **learner.hyper.to_dict(learner.device.config),
        "format": str(learner.device.config.format),
        "steps": sum(episode.length for episode in result.episodes),
        "evaluation": asdict(result.evaluations[-1]),
        "optimum": (optimum(model, gamma, learner.q) if model is not None and gamma < 1 else None),
    }


def optimum(model: TransitionModel, gamma: float, q: NDArray[np.float64]) -> dict[str, Any]:
    """Compare a table, shape (S, A), with value iteration, as plain values.

    In how many of the states that its greedy policy visits is that optimal, and what is the start
    worth on average: learnt, and exactly. `gamma` is below 1.
    """
    solution = solve(model, gamma)
    chosen = np.zeros(q.shape, np.bool_)
    chosen[np.arange(len(q)), q.argmax(axis=1)] = True
    visited = model.visited(chosen)
    right = (chosen & solution.optimal).any(axis=1)
    return {
        "visited": int(visited.sum()),
        "optimal": int((visited & right).sum()),
        "start_value": float(model.start @ q.max(axis=1)),
        "exact_start_value": float(model.start @ solution.values),
    }
