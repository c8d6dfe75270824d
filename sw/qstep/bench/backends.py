"""Who learns in the benchmark in software: the forms, C, PyTorch, the compiled model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from qstep import extras
from qstep.baselines import dictionary, numba_table, numpy_table, reference
from qstep.baselines.problem import Stream
from qstep.bench.backend import Absent, Backend
from qstep.bench.checks import (
    Check,
    Table,
    equal_to,
    float_table,
    fresh_model,
    near,
    solved,
    transitions,
)
from qstep.bench.workloads import EPSILON, Workload
from qstep.bench.yardstick import Yardstick
from qstep.errors import QStepError, ToolMissingError
from qstep.fast_model import FastModel
from qstep.transitions import Transitions

__all__ = [
    "C_LOOP",
    "c_loop",
    "model",
    "original",
    "software",
    "torch",
]

C_LOOP = "C loop (-O3)"
"""What the yardstick of the compiled form is called."""


@dataclass(frozen=True)
class _Form:
    """A software form: how it learns, what its replay takes, and how its table is read."""

    learn: Callable[..., Any]
    encode: Callable[[Stream, tuple[int, int]], tuple[Any, Any]]
    replay: Callable[..., None]
    read: Callable[[Any], Table]


def software(workload: Workload) -> list[Backend]:
    """Return the forms that are always present: dictionary, NumPy, Numba."""
    equal = equal_to(lambda updates: float_table(workload, updates), "equal to numba")
    zeros = np.zeros
    return [
        _software(
            workload,
            "dictionary",
            "Python, one dictionary",
            _Form(
                dictionary.learn,
                lambda stream, shape: (
                    dictionary.zeros(*shape),
                    list(zip(*(column.tolist() for column in stream), strict=True)),
                ),
                lambda q, rows, **hyper: dictionary.replay(
                    q, rows, workload.config.actions, **hyper
                ),
                dictionary.to_array,
            ),
            equal,
        ),
        _software(
            workload,
            "numpy",
            "Python loop, NumPy table",
            _Form(
                numpy_table.learn,
                lambda stream, shape: (zeros(shape), stream),
                numpy_table.replay,
                np.asarray,
            ),
            equal,
        ),
        _software(
            workload,
            "numba",
            "compiled, one thread",
            _Form(
                numba_table.learn,
                lambda stream, shape: (zeros(shape), stream),
                numba_table.replay,
                np.asarray,
            ),
            lambda updates, table: "reference",
        ),
    ]


def original(workload: Workload) -> list[Backend]:
    """Return the program with which the story begins, on the one task that it knows."""
    if workload.world is None:
        return []
    alpha, gamma = workload.hyper.alpha, workload.hyper.gamma
    return [
        Backend(
            "reference",
            "Python, as people run it today",
            prepare=lambda updates: updates,
            # No episode is shorter than a move: the moves decide.
            kernel=lambda updates: reference.learn(
                updates, most_moves=updates, alpha=alpha, gamma=gamma, epsilon=EPSILON
            ),
            read=reference.to_array,
            verify=solved(workload),
        )
    ]


def c_loop(workload: Workload) -> Backend | Absent:
    """Return the loop in C, compiled now, or why it is absent."""
    what = "the same loop in C, one thread"
    try:
        compiled = Yardstick(workload.config.actions)
    except QStepError as cause:
        return Absent(C_LOOP, what, str(cause))
    return _software(
        workload,
        C_LOOP,
        what,
        _Form(
            compiled.learn,
            lambda stream, shape: (np.zeros(shape), stream),
            compiled.replay,
            np.asarray,
        ),
        equal_to(lambda updates: float_table(workload, updates), "equal to numba"),
    )


def torch(workload: Workload, device: str = "cpu") -> Backend | Absent:
    """Return the batched PyTorch form on a device, or why it is absent.

    Parameters
    ----------
    workload : Workload
    device : str
        ``cpu``, ``cuda``, ``mps`` or ``auto``.

    Raises
    ------
    TorchDeviceError
        There is no such device here.
    ToolMissingError
        PyTorch is not installed, and a device of it other than the processor was asked for.
    """
    name = "torch"
    try:
        batched, replayed, torch_device = (
            extras.load(module, "torch")
            for module in (
                "qstep.baselines.torch_batched",
                "qstep.baselines.torch_replay",
                "qstep.torch_device",
            )
        )
    except ToolMissingError as cause:
        if device != "cpu":
            raise
        return Absent(name, "PyTorch, CPU, 512 at once", str(cause))
    on = torch_device.choose(device)

    def timed(work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **hyper: Any) -> Any:
            result = work(*given, **hyper)
            torch_device.synchronise(on)  # before the clock is read
            return result

        return call

    return _software(
        workload,
        name if on.type == "cpu" else f"{name} ({on.type})",
        f"PyTorch, {on.type.upper()}, 512 at once",
        _Form(
            timed(partial(batched.learn, device=on.type)),
            timed(
                lambda stream, shape: (
                    replayed.zeros(*shape, on.type),
                    replayed.upload(stream, on.type),
                )
            ),
            timed(replayed.replay),
            batched.to_array,
        ),
        # Another algorithm: its rule for duplicates is tested on its own.
        lambda updates, table: "not compared",
    )


def _software(
    workload: Workload,
    name: str,
    what: str,
    form: _Form,
    verify_replay: Check,
) -> Backend:
    hyper = {"alpha": workload.hyper.alpha, "gamma": workload.hyper.gamma}
    shape = (workload.config.states, workload.config.actions)
    world = workload.world
    if world is not None:
        return Backend(
            name,
            what,
            prepare=lambda updates: updates,
            kernel=lambda updates: form.learn(world, updates, epsilon=EPSILON, **hyper),
            read=form.read,
            verify=solved(workload),
        )

    def replay(prepared: tuple[Any, Any]) -> Any:
        q, stream = prepared
        form.replay(q, stream, **hyper)
        return q

    return Backend(
        name,
        what,
        prepare=lambda updates: form.encode(workload.record(updates), shape),
        kernel=replay,
        read=form.read,
        verify=verify_replay,
    )


def model(workload: Workload) -> Backend:
    """Return the compiled golden model."""

    def apply(prepared: tuple[FastModel, Transitions]) -> FastModel:
        golden, recorded = prepared
        golden.apply(recorded)
        return golden

    return Backend(
        "model",
        f"compiled golden model, {workload.config.format}",
        prepare=lambda updates: (fresh_model(workload), transitions(workload, updates)),
        kernel=apply,
        read=lambda golden: workload.config.format.to_float(golden.table),
        verify=near(workload) if workload.world is None else solved(workload),
    )
