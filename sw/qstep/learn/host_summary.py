"""The results of a finished run with a table: its files, and a summary in plain values."""

from __future__ import annotations

from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep.envs import table_size
from qstep.envs.maps import map_of
from qstep.learn.host import Learner
from qstep.learn.host_checkpoint import Episode
from qstep.learn.host_plots import draw_learning_curve, draw_policy
from qstep.learn.results import Results
from qstep.learn.table import TableWorld, save_table
from qstep.mdp.solve import solve
from qstep.mdp.world import World

__all__ = ["optimum", "results", "summary"]


def results(learner: Learner) -> Results:
    """Return ``table.npz``, the history, the learning curve and, for a map, the policy.

    Parameters
    ----------
    learner : Learner
        After at least one episode.
    """
    result, env_id = learner.result, learner.plan.env_id
    columns = [entry.name for entry in fields(Episode)]

    world = TableWorld.of(env_id, table_size(learner.env), learner.world)

    def table(path: Path) -> None:
        save_table(path, result.table, learner.device.config, learner.hyper, world)

    title = f"{env_id}: learning curve"
    curve = partial(draw_learning_curve, title, result.episodes, result.evaluations)
    grid = map_of(learner.env)
    title = f"{env_id}: greedy policy"
    policy = partial(draw_policy, title, grid, learner.q) if grid else None
    return Results(
        learnt={"table.npz": table},
        history={
            "episodes": {name: [getattr(e, name) for e in result.episodes] for name in columns},
            "evaluations": [asdict(evaluation) for evaluation in result.evaluations],
        },
        pictures={"learning_curve.png": curve, "policy.png": policy},
    )


def summary(learner: Learner) -> dict[str, Any]:
    """Return a summary of a run and its success, as plain values.

    ``saturations`` counts the updates of this process. ``discount`` is the discount that was learned,
    and ``optimum`` that of :func:`optimum` with it; None if the environment has no table, or the
    discount is 1.
    """
    result = learner.result
    world, discount = learner.world, learner.hyper.discount
    return {
        **asdict(learner.plan),
        **learner.hyper.to_dict(learner.device.config),
        "format": str(learner.device.config.format),
        "steps": sum(episode.length for episode in result.episodes),
        "saturations": learner.saturations,
        "evaluation": asdict(result.evaluations[-1]),
        "discount": discount,
        "optimum": optimum(world, discount, learner.q) if world and discount < 1 else None,
    }


def optimum(world: World, gamma: float, q: NDArray[np.float64]) -> dict[str, Any]:
    """Compare a table, shape (S, A), with value iteration, as plain values.

    The result says in how many of the states that the greedy policy visits its action is optimal,
    and the mean value of the start, learnt and exact. `gamma` is below 1.
    """
    solution = solve(world, gamma)
    chosen = np.zeros(q.shape, np.bool_)
    chosen[np.arange(len(q)), q.argmax(axis=1)] = True
    visited = world.visited(chosen)
    right = (chosen & solution.optimal).any(axis=1)
    return {
        "visited": int(visited.sum()),
        "optimal": int((visited & right).sum()),
        "start_value": float(world.start @ q.max(axis=1)),
        "exact_start_value": float(world.start @ solution.values),
    }
