"""Tabular Q-learning with PyTorch as a CUDA graph: the fast code without Python calls, for NVIDIA GPUs.

A step of :mod:`qstep_bench.baselines.torch_batched` launches 17 small kernels. A GPU finishes each
kernel before Python has launched the next, so launch overhead dominates the time. Here the kernels of 64
steps, including random numbers, are recorded once and then launched as a whole. The algorithm is the
same, and the same seed draws the same numbers.
"""

from __future__ import annotations

import torch
from torch import Tensor

from qstep.deep import torch_device
from qstep.envs.gridworld import DeterministicModel
from qstep.errors import TorchDeviceError
from qstep_bench.baselines.learning import AGENTS, UNWATCHED, AgentsLearning, Watch
from qstep_bench.baselines.torch_batched import DRAWN_STEPS, Agents

__all__ = ["learn"]


def learn(
    model: DeterministicModel,
    updates: int,
    how: AgentsLearning = AGENTS,
    device: str = "cuda",
    watch: Watch = UNWATCHED,
) -> Tensor:
    """Step many agents through the model; see :class:`~qstep_bench.baselines.learning.LearnTogether`."""
    on = torch_device.choose(device)
    if on.type != "cuda":
        here = ", ".join(torch_device.present())
        raise TorchDeviceError(
            f"a CUDA graph needs the device 'cuda', not {device!r}; PyTorch has {here} on this machine"
        )
    walkers = Agents(model, how, on)
    whole = DRAWN_STEPS * how.agents
    launches = -(-updates // whole)
    between = -(-watch.every // whole)
    graph = torch.cuda.CUDAGraph()
    for number in range(1, launches + 1):
        if number == 1:
            walkers.walk(DRAWN_STEPS)  # loads the kernels, which is not allowed while recording
            graph.register_generator_state(walkers.generator)
            with torch.cuda.graph(graph):
                walkers.walk(DRAWN_STEPS)  # recorded, not executed
        else:
            graph.replay()
        if watch.report and (number % between == 0 or number == launches):
            watch.report(walkers.progress(number * whole))
    return walkers.table
