"""The demonstration: learn a small map on the simulated accelerator, checked bit for bit."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qstep.device.base import Counters, Status
from qstep.envs import MAPS, GridWorld
from qstep.envs.rendering import FREE, START
from qstep.learn.host import HostRun, Plan
from qstep.learn.host_checkpoint import TableCheckpoint
from qstep.learn.plots import learnt
from qstep.spec.config import Config
from qstep.spec.settings import Hyperparameters
from qstep_bench.workloads import WORKLOADS

__all__ = [
    "CONFIG",
    "HYPER",
    "PLAN",
    "Trained",
    "arrows",
    "differing_entries",
    "is_optimal",
    "train",
    "world",
]

PLAN = Plan("gridworld", episodes=500)
CONFIG = Config(states=25, actions=4)
HYPER = Hyperparameters(seed=0)

_ARROWS = "↑↓←→"


@dataclass(frozen=True, slots=True)
class Trained:
    """A device's training run and its result.

    Attributes
    ----------
    result : TableCheckpoint
        The run's checkpoint after the last episode, with the table.
    status : Status
        The device's status: transitions applied and their digest.
    counters : Counters or None
        The device's counters, or None if it has no counters.
    seconds : float
        Wall-clock time to train and evaluate on the device.
    """

    result: TableCheckpoint
    status: Status
    counters: Counters | None
    seconds: float


def world() -> GridWorld:
    """Return the demonstration's grid world."""
    return GridWorld(MAPS[PLAN.env_id], source=PLAN.env_id)


def train(url: str, on_episode: Callable[[int], object]) -> Trained:
    """Run :data:`PLAN` on a device; call `on_episode` with the number of each finished episode."""
    with closing(HostRun(url, PLAN, HYPER, CONFIG)) as run:
        run.open(None)
        begin = time.perf_counter()
        for line in run:
            if line is None:
                on_episode(run.latest.episode)
        seconds, device = time.perf_counter() - begin, run.device
        return Trained(run.final, device.status(), device.counters(), seconds)


def differing_entries(one: Trained, other: Trained) -> int:
    """Return how many raw entries of two tables differ; 0 if they are bit-identical."""
    return int(np.count_nonzero(one.result.table != other.result.table))


def is_optimal(trained: Trained) -> bool:
    """Return whether the greedy policy is optimal in all states that it visits from the start."""
    return WORKLOADS[PLAN.env_id]().solved(CONFIG.format.to_float(trained.result.table))


def arrows(world: GridWorld, q: NDArray[np.int32]) -> list[str]:
    """Return the map, one line of text per row, with the greedy action of each learned cell.

    Parameters
    ----------
    world : GridWorld
    q : ndarray of int32, shape (S, 4)
        Raw values. A cell keeps its letter unless it is :func:`~qstep.learn.plots.learnt`.
    """
    cells = list("".join(world.rows))
    known = learnt(q)
    for state, cell in enumerate(cells):
        if cell in (FREE, START) and known[state]:
            cells[state] = _ARROWS[int(q[state].argmax())]
    width = world.shape[1]
    return [" ".join(cells[k : k + width]) for k in range(0, len(cells), width)]
