"""The grid world with tables: every backend of the benchmark that is no batch, as a form."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np

from qstep.bench import backends
from qstep.bench.backend import Absent, Backend
from qstep.bench.checks import Table
from qstep.bench.measure import FEWEST
from qstep.bench.pairs import Form, System
from qstep.bench.simulated import open_simulated
from qstep.bench.workloads import WORKLOADS, Workload
from qstep.errors import ToolMissingError

__all__ = ["system"]


def system(device: str) -> System:
    """Return the grid world; its forms do not use PyTorch, so `device` changes nothing."""
    workload = WORKLOADS["gridworld"]()
    here = [*backends.original(workload), *backends.software(workload), backends.model(workload)]
    return System(
        workload.name,
        workload.task,
        "updates",
        (*(_form(backend) for backend in here), _simulated(workload)),
    )


def _form(backend: Backend) -> Form:
    updates, table = 0, np.zeros((0, 0))

    def run(amount: int) -> int:
        nonlocal updates, table
        updates, table = amount, _learn(backend, amount)
        return amount

    return Form(
        backend.name, backend.what, run, lambda: backend.verify(updates, table), least=FEWEST
    )


def _simulated(workload: Workload) -> Form:
    found = ""

    def run(amount: int) -> int:
        nonlocal found
        with ExitStack() as stack:
            backend = open_simulated(workload, stack)
            if isinstance(backend, Absent):
                raise ToolMissingError(backend.reason)
            found = backend.verify(amount, _learn(backend, amount))
        return amount

    return Form("sim", "RTL in Verilator, in process", run, lambda: found, least=FEWEST)


def _learn(backend: Backend, updates: int) -> Table:
    return backend.read(backend.kernel(backend.prepare(updates)))
