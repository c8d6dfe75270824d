"""Tabular Q-learning with PyTorch as a CUDA graph: the fast form without its Python, for NVIDIA.

A step of :mod:`qstep.baselines.torch_agents` is 17 small kernels. On a GPU each is done before
Python has asked for the next, so the time goes into asking. Here the kernels of 64 steps, random
numbers included, are recorded once and then launched as a whole. It is the same algorithm, and with
the same seed it draws the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from qstep import torch_device
from qstep.baselines.progress import PROGRESS_EVERY, OnProgress
from qstep.baselines.torch_agents import DRAWN_STEPS, Agents
from qstep.checkpoint import Checkpoint
from qstep.envs.gridworld import DeterministicModel
from qstep.errors import TorchDeviceError

__all__ = ["learn"]


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
    device: str = "cuda",
    report: OnProgress | None = None,
    progress_every: int = PROGRESS_EVERY,
    resume: Checkpoint | None = None,
    keep: Callable[[Checkpoint], None] | None = None,
) -> Tensor:
    """Let many agents walk through `model` epsilon-greedily and return their table.

    Parameters and result are those of :func:`qstep.baselines.torch_batched.learn`, except that updates
    are rounded up to whole graphs of 64 steps of all agents, and that there is one device.

    Raises
    ------
    TorchDeviceError
        There is no CUDA here, or `device` is something else.
    """
    on = torch_device.choose(device)
    if on.type != "cuda":
        here = ", ".join(torch_device.present())
        raise TorchDeviceError(
            f"a CUDA graph needs the device 'cuda', not {device!r}; PyTorch has {here} on this machine"
        )
    walkers = Agents(
        model,
        agents,
        alpha=alpha,
        gamma=gamma,
        epsilon=epsilon,
        episode_cap=episode_cap,
        seed=seed,
        device=on,
    )
    whole = DRAWN_STEPS * agents
    launches = -(-updates // whole)
    between = -(-progress_every // whole)
    first = walkers.restore(resume) // DRAWN_STEPS if resume else 0
    graph = torch.cuda.CUDAGraph()
    for number in range(first + 1, launches + 1):
        if number == first + 1:
            walkers.walk(DRAWN_STEPS)  # loads the kernels, which may not happen in a recording
            graph.register_generator_state(walkers.generator)
            with torch.cuda.graph(graph):
                walkers.walk(DRAWN_STEPS)  # recorded, not done
        else:
            graph.replay()
        if number % between == 0 or number == launches:
            if report:
                report(walkers.progress(number * whole))
            if keep:
                keep(walkers.checkpoint(number * DRAWN_STEPS))
    return walkers.table
