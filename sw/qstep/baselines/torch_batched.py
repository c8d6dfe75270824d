"""Tabular Q-learning with PyTorch, fast: many agents at once share one table, on any device.

The algorithm, and what makes it fast, is that of :mod:`qstep.baselines.torch_agents`; here are the
rounds of a run, its reports and its checkpoints.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from qstep import torch_device
from qstep.baselines.progress import PROGRESS_EVERY, OnProgress
from qstep.baselines.torch_agents import Agents
from qstep.checkpoint import Checkpoint
from qstep.envs.gridworld import DeterministicModel

__all__ = ["learn", "to_array"]


def to_array(table: Tensor) -> NDArray[np.float64]:
    """Return a copy of a table on the host, shape (S, A)."""
    return table.cpu().double().numpy()


def learn(
    model: DeterministicModel,
    updates: int,
    *,
    alpha: float = 0.5,
    gamma: float = 0.9,
    epsilon: float = 0.1,
    seed: int = 0,
    agents: int = 512,
    episode_cap: int = 50,
    device: str = "cpu",
    report: OnProgress | None = None,
    progress_every: int = PROGRESS_EVERY,
    resume: Checkpoint | None = None,
    keep: Callable[[Checkpoint], None] | None = None,
) -> Tensor:
    """Let many agents walk through `model` epsilon-greedily and return their table.

    Parameters
    ----------
    model : DeterministicModel
        The environment.
    updates : int
        Steps over all agents; rounded up to whole rounds of `agents` steps.
    alpha, gamma, epsilon : float
        Learning rate, discount and share of random actions, each 0..1.
    seed : int
        Seed of the random numbers, which are drawn on the device.
    agents : int
        Agents that step together.
    episode_cap : int
        Steps after which an episode is cut off (truncated, so its last step still bootstraps).
    device : str
        ``cpu``, ``cuda``, ``mps``, or ``auto`` for the fastest that is present.
    report : callable, optional
        Called with the progress after about every `progress_every` updates and at the end.
    progress_every : int
        1 or more; each report waits for the device.
    resume : Checkpoint, optional
        Where to go on, with the same model and the same other parameters: to the same table, bit for
        bit on the processor. The steps before count as updates.
    keep : callable, optional
        Called after each report with what `resume` takes.

    Returns
    -------
    Tensor of float32, shape (S, A), on the device

    Raises
    ------
    TorchDeviceError
        There is no such device here.
    """
    walkers = Agents(
        model,
        agents,
        alpha=alpha,
        gamma=gamma,
        epsilon=epsilon,
        episode_cap=episode_cap,
        seed=seed,
        device=torch_device.choose(device),
    )
    begun = walkers.restore(resume) if resume else 0
    steps = -(-updates // agents)
    between = -(-progress_every // agents) if report or keep else max(1, steps)
    for first in range(begun, steps, between):
        last = min(first + between, steps)
        walkers.walk(last - first)
        if report:
            report(walkers.progress(last * agents))
        if keep:
            keep(walkers.checkpoint(last))
    return walkers.table
