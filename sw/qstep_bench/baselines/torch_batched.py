"""Tabular Q-learning with PyTorch, fast: many agents at once share one table, on any device.

The algorithm, and the reasons for its speed, are in
:mod:`qstep_bench.baselines.torch_agents`; this module has the rounds of a run, its reports
and its checkpoints.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from qstep.deep import torch_device
from qstep.envs.gridworld import DeterministicModel
from qstep_bench.baselines.learning import AGENTS, UNWATCHED, AgentsLearning, Watch
from qstep_bench.baselines.torch_agents import Agents

__all__ = ["learn", "to_array"]


def to_array(table: Tensor) -> NDArray[np.float64]:
    """Return a copy of a table on the host, shape (S, A)."""
    return table.cpu().double().numpy()


def learn(
    model: DeterministicModel,
    updates: int,
    how: AgentsLearning = AGENTS,
    device: str = "cpu",
    watch: Watch = UNWATCHED,
) -> Tensor:
    """Let many agents walk; see :class:`~qstep_bench.baselines.learning.LearnTogether`."""
    walkers = Agents(model, how, torch_device.choose(device))
    begun = walkers.restore(watch.resume) if watch.resume else 0
    steps = -(-updates // how.agents)
    between = -(-watch.every // how.agents) if watch.report or watch.keep else max(1, steps)
    for first in range(begun, steps, between):
        last = min(first + between, steps)
        walkers.walk(last - first)
        if watch.report:
            watch.report(walkers.progress(last * how.agents))
        if watch.keep:
            watch.keep(walkers.checkpoint(last))
    return walkers.table
