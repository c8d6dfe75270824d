"""Many agents with separate tables on all cores, for comparison with a farm of lanes."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from qstep._io import extras
from qstep.deep import torch_device
from qstep_bench.baselines.learning import AgentsLearning
from qstep_bench.checks import WrongTableError
from qstep_bench.measure import Benchmark, Form
from qstep_bench.systems.acting import ActingTask
from qstep_bench.workloads import EPSILON, WORKLOADS

__all__ = ["benchmark"]

_WORLD = "gridworld"
_AGENTS = 16
"""Number of agents per core, the same as per lane."""

_TOGETHER = 1024
"""Number of agents in the vectorised implementations."""

_LEAST_THREADED = 1 << 24
"""Minimum steps per turn, enough to make the threads' start-up time negligible."""

_LEAST = _TOGETHER << 10
"""Steps after which the agents of the vectorised implementations have learned the way to the goal."""

_MOST = _TOGETHER << 14
"""Maximum steps per run, limited because JAX draws all its random numbers beforehand."""

_SAMPLE = 64
_KNOWING = 0.9
"""Minimum share of agents with an optimal policy; exploration may mislead a few at the end."""

_Tables: TypeAlias = NDArray[np.float32]
_Learn: TypeAlias = Callable[[int], _Tables]
"""Function from the number of steps per agent to the tables of all agents."""


def benchmark(device: str) -> Benchmark:
    """Return the benchmark of Q-learning on all cores: in C, compiled, in PyTorch and in JAX."""
    cores, on = os.cpu_count() or 1, torch_device.choose(device)
    here = f"{cores} threads of {_AGENTS} agents"
    threads = _Threads(cores)
    how = AgentsLearning(agents=_TOGETHER, epsilon=EPSILON)
    model = WORKLOADS[_WORLD]().world
    torch = extras.load("qstep_bench.baselines.torch_own_tables", "torch")

    def jax(steps: int) -> _Tables:  # pragma: no cover: needs JAX
        learnt: _Tables = extras.load("qstep_bench.baselines.jax_own_tables", "jax").learn(
            model, steps, how
        )
        return learnt

    return Benchmark(
        "farm",
        "agents with separate tables learn the 5x5 grid world, including acting, on all cores",
        "steps",
        (
            threads.form("vector", f"the vectorised loop in C, {here}", None),
            threads.form("c", f"agents one after the other in C, {here}", "farm-vector"),
            threads.form("model", f"the compiled model, {here}", "farm-vector"),
            _Vectorised(lambda steps: torch.learn(model, steps, how, on.type)).form(
                "torch", f"PyTorch on {on.type}, {_TOGETHER} agents at once"
            ),
            _Vectorised(jax).form("jax", f"JAX on the CPU, {_TOGETHER} agents under vmap"),
        ),
    )


class _Threads:
    """One thread per core; both C and the compiled model release the GIL."""

    def __init__(self, cores: int) -> None:
        self._cores = cores

    @cached_property
    def _tasks(self) -> list[ActingTask]:
        return [ActingTask(_WORLD, _AGENTS) for _ in range(self._cores)]

    def form(self, kind: str, what: str, base: str | None) -> Form:
        """Return an implementation that runs these agents with :class:`ActingTask`."""
        run, check = partial(self._run, kind), partial(self._check, kind)
        return Form(f"farm-{kind}", what, run, check, base, _LEAST_THREADED)

    def _run(self, kind: str, amount: int) -> int:
        tasks = self._tasks
        with ThreadPoolExecutor(len(tasks)) as pool:
            return sum(pool.map(lambda task: task.run(kind, amount // len(tasks)), tasks))

    def _check(self, kind: str) -> str:
        found = [task.check(kind) for task in self._tasks]
        return found[0]


class _Vectorised:
    """Vectorised agents: each operation covers all of them; values are float32."""

    def __init__(self, learn: _Learn) -> None:
        self._learn = learn
        self._learnt = np.empty((0, 0, 0), np.float32)

    def form(self, kind: str, what: str) -> Form:
        """Return an implementation that runs these agents."""
        return Form(f"farm-{kind}", what, self._run, self._check, "farm-vector", _LEAST, _MOST)

    def _run(self, amount: int) -> int:
        self._learnt = self._learn(amount // _TOGETHER)
        return amount

    def _check(self) -> str:
        workload = WORKLOADS[_WORLD]()
        sample = self._learnt[:_SAMPLE]
        knowing = sum(workload.solved(table.astype(np.float64)) for table in sample)
        if knowing < _KNOWING * len(sample):
            raise WrongTableError(
                f"the greedy policy of {knowing} of {len(sample)} agents is optimal; "
                f"at least {_KNOWING:.0%} must be"
            )
        return f"{knowing} of {len(sample)} agents have the optimal policy"
