"""The implementations that fill a table: Python, Numba, C, PyTorch, compiled model and simulated device.

Each implementation has three timed phases: `prepare` (converts arrays or environment to the loop's
input), the kernel (the updates) and `read` (returns a table of real numbers on the host).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from qstep._io import extras
from qstep.device import Counters, Device
from qstep.device.lane import LinkDevice
from qstep.golden.lane_fast import FastModel
from qstep.mdp.transitions import Transitions
from qstep.spec.config import Config
from qstep_bench.baselines import dictionary, numba_table, numpy_table, reference
from qstep_bench.baselines.learning import AgentsLearning, Learn
from qstep_bench.baselines.problem import Stream
from qstep_bench.checks import (
    FLOAT32_BOUND,
    Check,
    Table,
    batched_table,
    both,
    equal_to,
    fixed_bound,
    float_table,
    fresh_model,
    model_table,
    near,
    solved,
    transitions,
)
from qstep_bench.measure import KERNEL, Benchmark, Form
from qstep_bench.workloads import EPSILON, WORKLOADS, Workload
from qstep_bench.yardstick import Yardstick

__all__ = ["C_LOOP", "FEWEST", "SIMULATED", "TableForm", "benchmark", "simulated"]

FEWEST = 1 << 14
"""Minimum updates per turn, enough for every implementation to learn the grid world."""

C_LOOP = "c"
"""Name of the implementation with the C loop."""

SIMULATED = "sim"
"""Name of the simulated device's entry, whose rate is the simulation's speed, not hardware's."""


class TableForm:
    """An implementation for a workload, with its last table and the time spent in each phase.

    Parameters
    ----------
    prepare : callable
        ``prepare(updates)`` returns the input of `kernel`.
    kernel : callable
        ``kernel(prepared)`` performs the updates and returns the input of `read`.
    read : callable
        ``read(result)`` returns the table as real numbers, float64 of shape (S, A).
    verify : Check
        Returns a finding about the table, or raises an error; see :mod:`qstep_bench.checks`.

    Attributes
    ----------
    seconds : dict
        Time spent so far in ``prepare``, ``kernel`` and ``read``.
    """

    def __init__(
        self,
        prepare: Callable[[int], Any],
        kernel: Callable[[Any], Any],
        read: Callable[[Any], Table],
        verify: Check,
    ) -> None:
        self._prepare, self._kernel, self._read, self._verify = prepare, kernel, read, verify
        self._last: tuple[int, Table] = 0, np.zeros((0, 0))
        self.seconds = {"prepare": 0.0, KERNEL: 0.0, "read": 0.0}

    def run(self, updates: int) -> int:
        """Fill a table with `updates` updates."""
        begin = time.perf_counter()
        prepared = self._prepare(updates)
        start = time.perf_counter()
        result = self._kernel(prepared)
        stop = time.perf_counter()
        self._last = updates, self._read(result)
        end = time.perf_counter()
        for phase, spent in zip(
            self.seconds, (start - begin, stop - start, end - stop), strict=True
        ):
            self.seconds[phase] += spent
        return updates

    def check(self) -> str:
        """Check the table of the last run."""
        return self._verify(*self._last)


@dataclass(frozen=True)
class _Program:
    """A program's functions: learn in an environment, encode a stream, replay it, and read the table."""

    learn: Learn
    replay: Callable[..., None]
    encode: Callable[[Stream, tuple[int, int]], tuple[Any, Any]] = lambda stream, shape: (
        np.zeros(shape),
        stream,
    )
    read: Callable[[Any], Table] = np.asarray


def benchmark(name: str, device: str) -> Benchmark:
    """Return the benchmark of a workload, with all its implementations.

    Parameters
    ----------
    name : str
        A key of :data:`~qstep_bench.workloads.WORKLOADS`.
    device : str
        Device for PyTorch: ``cpu``, ``cuda``, ``mps`` or ``auto``.
    """
    workload = WORKLOADS[name]()
    actions = workload.config.actions

    def form(name: str, what: str, table: TableForm, base: str | None = "dictionary") -> Form:
        run, check = table.run, table.check
        return Form(name, what, run, check, base, FEWEST, workload.limit, lambda: table.seconds)

    def software(program: Callable[[], _Program], verify: Check) -> TableForm:
        return _software(workload, cache(program), verify)

    equal = equal_to(partial(float_table, workload), "equal to numba")
    exact = fixed_bound(workload)
    forms = [
        form(
            "dictionary",
            "Python, one dictionary",
            software(lambda: _dictionary(actions), equal),
            None,
        ),
        form("numpy", "Python loop, NumPy table", software(_numpy, equal)),
        form(
            "numba",
            "compiled, one thread",
            software(_numba, near(partial(model_table, workload), exact, "model")),
        ),
        # Listed next to Numba, so that a disturbance affects both.
        form(
            C_LOOP,
            "the same loop in C, one thread",
            software(lambda: _c(actions), equal),
            "numba",
        ),
        form(
            "torch-batched",
            "PyTorch, 512 at once",
            software(
                lambda: _torch(device),
                near(partial(batched_table, workload), FLOAT32_BOUND, "batches in float64"),
            ),
        ),
        form(
            "model",
            f"compiled golden model, {workload.config.format}",
            _model(workload, near(partial(float_table, workload), exact, "numba")),
        ),
        form(SIMULATED, "RTL in Verilator, in process", simulated(workload)),
    ]
    if workload.world:
        forms.insert(1, form("reference", "the usual Python loop", _reference(workload)))
    return Benchmark(workload.name, workload.task, "updates", tuple(forms))


def _software(workload: Workload, program: Callable[[], _Program], verify: Check) -> TableForm:
    hyper: dict[str, Any] = {"alpha": workload.hyper.alpha, "gamma": workload.hyper.gamma}
    shape = workload.config.states, workload.config.actions

    def learn(updates: int) -> Any:
        assert workload.world is not None
        return program().learn(workload.world, updates, AgentsLearning(epsilon=EPSILON, **hyper))

    def replay(prepared: tuple[Any, Any]) -> Any:
        program().replay(*prepared, **hyper)
        return prepared[0]

    def read(table: Any) -> Table:
        return program().read(table)

    if workload.world:
        return TableForm(lambda updates: updates, learn, read, solved(workload))
    return TableForm(
        lambda updates: program().encode(workload.record(updates), shape), replay, read, verify
    )


def _reference(workload: Workload) -> TableForm:
    """Return the implementation of the public reference program, which supports only the grid world."""
    alpha, gamma = workload.hyper.alpha, workload.hyper.gamma
    return TableForm(
        lambda updates: updates,
        # Every episode has at least one move, so the limit on moves is reached before that on episodes.
        lambda updates: reference.learn(
            updates, most_moves=updates, alpha=alpha, gamma=gamma, epsilon=EPSILON
        ),
        reference.to_array,
        solved(workload),
    )


def _dictionary(actions: int) -> _Program:
    return _Program(
        dictionary.learn,
        lambda q, rows, **hyper: dictionary.replay(q, rows, actions, **hyper),
        lambda stream, shape: (
            dictionary.zeros(*shape),
            list(zip(*(column.tolist() for column in stream), strict=True)),
        ),
        dictionary.to_array,
    )


def _numpy() -> _Program:
    return _Program(numpy_table.learn, numpy_table.replay)


def _numba() -> _Program:
    return _Program(numba_table.learn, numba_table.replay)


def _c(actions: int) -> _Program:
    compiled = Yardstick(actions)
    return _Program(compiled.learn, compiled.replay)


def _torch(device: str) -> _Program:
    batched, replayed, torch_device = (
        extras.load(module, "torch")
        for module in (
            "qstep_bench.baselines.torch_batched",
            "qstep_bench.baselines.torch_replay",
            "qstep.deep.torch_device",
        )
    )
    on = torch_device.choose(device)

    def timed(work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **hyper: Any) -> Any:
            result = work(*given, **hyper)
            torch_device.synchronise(on)  # before the clock is read
            return result

        return call

    return _Program(
        timed(partial(batched.learn, device=on.type)),
        timed(replayed.replay),
        timed(
            lambda stream, shape: (
                replayed.zeros(*shape, on.type),
                replayed.upload(stream, on.type),
            )
        ),
        batched.to_array,
    )


def _model(workload: Workload, verify: Check) -> TableForm:
    def apply(prepared: tuple[FastModel, Transitions]) -> FastModel:
        golden, recorded = prepared
        golden.apply(recorded)
        return golden

    return TableForm(
        lambda updates: (fresh_model(workload), transitions(workload, updates)),
        apply,
        lambda golden: workload.config.format.to_float(golden.table),
        solved(workload) if workload.world else verify,
    )


def _simulation(config: Config) -> tuple[Device, Callable[[], int]]:
    """Open the simulated device; also return a function that reads its clock count."""
    from qstep_sim.port import SimPort

    port = SimPort(config)
    return LinkDevice(port, config), lambda: port.clocks


def simulated(workload: Workload) -> TableForm:
    """Return the implementation that runs on the simulated device, which is opened on first use.

    The check also reports the device's counters.
    """
    opened = cache(lambda: _simulation(workload.config))
    lane_before: Counters | None = None
    clocks = 0

    def prepare(updates: int) -> Transitions:
        nonlocal lane_before
        device, _ = opened()
        device.configure(workload.hyper)
        device.clear()
        lane_before = device.counters()
        return transitions(workload, updates)

    def apply(checked: Transitions) -> None:
        nonlocal clocks
        device, now = opened()
        before = now()
        device.apply(checked)
        clocks = now() - before

    equal = equal_to(partial(model_table, workload), "equal to model")
    right = both(solved(workload), equal) if workload.world else equal

    def verify(updates: int, table: Table) -> str:
        found = right(updates, table)
        lane = opened()[0].counters()
        assert lane is not None, "a simulated device has counters"
        assert lane_before is not None
        offered = lane.offered_clocks - lane_before.offered_clocks
        held = lane.held - lane_before.held
        return (
            f"{found}; simulated clocks per update: {offered / updates:.3f} in the lane, of which "
            f"{held / updates:.3f} held, {clocks / updates:.3f} in the device"
        )

    return TableForm(
        prepare, apply, lambda _: workload.config.format.to_float(opened()[0].read()), verify
    )
