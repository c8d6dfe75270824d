"""The grid world with PyTorch: many agents share one table, in plain and in fast code."""

from __future__ import annotations

import torch
from torch import Tensor

from qstep.deep import torch_device
from qstep_bench.baselines import torch_batched, torch_graph, torch_plain
from qstep_bench.baselines.learning import AgentsLearning, AgentsProgress, LearnTogether, Watch
from qstep_bench.checks import solved
from qstep_bench.measure import Absent, Benchmark, Form
from qstep_bench.workloads import EPSILON, WORKLOADS

__all__ = ["benchmark"]

_LEAST = 1 << 16
"""Steps after which every implementation has learned the way to the goal."""


def benchmark(device: str) -> Benchmark:
    """Return the benchmark of agents that share a table on a device."""
    on, threads = torch_device.choose(device).type, torch.get_num_threads()
    graph = ("torch-graph", "the fast form as a CUDA graph, recorded again in every turn")
    here: list[Form] = [
        _form(
            "torch-plain", "masks, pairs of indices, finished agents wait", torch_plain.learn, on
        ),
        _form("torch", "all on the device, finished agents start again", torch_batched.learn, on),
    ]
    absent: list[Absent] = []
    if on == "cuda":
        note = "; each turn also records its graph, after 64 steps without one"
        here.append(_form(*graph, torch_graph.learn, on, note))
    else:
        absent.append(Absent(*graph, f"it needs NVIDIA's CUDA; this is {on}"))
    return Benchmark(
        "torch",
        f"512 agents share a table of the 5x5 grid world; PyTorch on {on}, threads: {threads}",
        "steps",
        tuple(here),
        tuple(absent),
    )


def _form(name: str, what: str, learn: LearnTogether, on: str, note: str = "") -> Form:
    workload = WORKLOADS["gridworld"]()
    last: list[tuple[Tensor, AgentsProgress]] = []

    def run(amount: int) -> int:
        told: list[AgentsProgress] = []
        assert workload.world is not None
        how = AgentsLearning(epsilon=EPSILON)
        table = learn(workload.world, amount, how, on, Watch(report=told.append))
        last[:] = [(table, told[-1])]
        return told[-1].updates

    def check() -> str:
        table, progress = last[0]
        found = solved(workload)(progress.updates, torch_batched.to_array(table))
        wins = f"{progress.win_rate:.0%} wins"
        return f"{found}; start value {progress.start_value:.4f}, {wins}{note}"

    return Form(name, what, run, check, None if name == "torch-plain" else "torch-plain", _LEAST)
