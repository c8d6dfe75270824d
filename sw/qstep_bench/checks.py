"""Checks the table that an implementation computed: speed counts only if the result is correct."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from qstep.errors import QStepError
from qstep.golden.lane_fast import FastModel
from qstep.mdp.transitions import Transitions
from qstep_bench.baselines import numba_table
from qstep_bench.workloads import Workload

__all__ = [
    "FLOAT32_BOUND",
    "Check",
    "Table",
    "WrongTableError",
    "batched_table",
    "both",
    "equal_to",
    "fixed_bound",
    "float_table",
    "fresh_model",
    "model_table",
    "near",
    "solved",
    "transitions",
]

Table = NDArray[np.float64]
"""Real values, shape (S, A)."""

Check = Callable[[int, Table], str]
"""``check(updates, table)`` describes the verified property of a table, or raises WrongTableError."""


class WrongTableError(QStepError):
    """An implementation's result is wrong, so its speed is meaningless."""


def solved(workload: Workload) -> Check:
    """Return a check that the table's greedy policy is optimal."""

    def check(updates: int, table: Table) -> str:
        if not workload.solved(table):
            raise WrongTableError(
                f"the greedy policy on {workload.name} is not optimal after {updates} updates"
            )
        return "optimal policy"

    return check


def equal_to(reference: Callable[[int], Table], found: str) -> Check:
    """Return a check that a table is exactly ``reference(updates)``; `found` describes its success."""

    def check(updates: int, table: Table) -> str:
        expected = reference(updates)
        if not np.array_equal(table, expected):
            state, action = (int(index) for index in np.argwhere(table != expected)[0])
            raise WrongTableError(
                f"table[{state}, {action}] is {table[state, action]} after {updates} updates; "
                f"the reference holds {expected[state, action]}"
            )
        return found

    return check


FLOAT32_BOUND = 8 * 2.0**-18 / (0.5 * 0.1)
"""Maximum error of float32 against float64 for values below 128, alpha 0.5 and gamma 0.9.

About eight operations of an update are rounded, each by at most 2^-18. Every update shrinks the previous
error by a factor of ``1 - alpha + alpha * gamma``, and the bound is the sum of that series.
"""


def fixed_bound(workload: Workload) -> float:
    """Return the maximum error of a fixed-point table if nothing saturates.

    Each update adds at most half a unit of rounding error. Rounding kappa adds at most half of 2^-15
    times the next state's maximum, which is below 128. The error shrinks as in :data:`FLOAT32_BOUND`.
    """
    hyper = workload.hyper
    added = workload.config.format.resolution / 2 + 2.0**-16 * 128
    return added / (hyper.alpha * (1 - hyper.gamma))


def near(reference: Callable[[int], Table], bound: float, name: str) -> Check:
    """Return a check that no entry differs from ``reference(updates)`` by more than `bound`."""

    def check(updates: int, table: Table) -> str:
        error = float(np.abs(table - reference(updates)).max())
        if not error <= bound:
            raise WrongTableError(
                f"the table differs by {error:.3g} from that of {name} after {updates} updates; "
                f"at most {bound:.3g} is allowed"
            )
        return f"within {error:.2g} of {name}"

    return check


def both(first: Check, second: Check) -> Check:
    """Return a check that passes if both given checks pass."""
    return lambda updates, table: f"{first(updates, table)}, {second(updates, table)}"


def transitions(workload: Workload, updates: int) -> Transitions:
    """Return recorded transitions, checked and quantised for the workload's configuration."""
    return Transitions.from_arrays(workload.config, *workload.record(updates))


def fresh_model(workload: Workload) -> FastModel:
    """Return the golden model with a table of zeros and the workload's hyperparameters."""
    golden = FastModel(workload.config)
    golden.configure(workload.hyper)
    return golden


def model_table(workload: Workload, updates: int) -> Table:
    """Return the golden model's table after it has applied the recorded transitions."""
    golden = fresh_model(workload)
    golden.apply(transitions(workload, updates))
    return workload.config.format.to_float(golden.table)


def float_table(workload: Workload, updates: int) -> Table:
    """Return the float64 table that compiled Q-learning computes from the recorded transitions."""
    table = np.zeros((workload.config.states, workload.config.actions))
    hyper = workload.hyper
    numba_table.replay(table, workload.record(updates), alpha=hyper.alpha, gamma=hyper.gamma)
    return table


def batched_table(workload: Workload, updates: int, batch: int = 512) -> Table:
    """Return the float64 table that PyTorch's batched update rule computes from recorded transitions.

    The table is read once per batch; an entry moves by alpha times the mean of its TD errors.
    """
    shape = workload.config.states, workload.config.actions
    alpha, gamma = workload.hyper.alpha, workload.hyper.gamma
    table = np.zeros(shape)
    flat = table.reshape(-1)
    state, action, reward, next_state, terminated = workload.record(updates)
    entries = np.int64(shape[1]) * state + action
    for first in range(0, updates, batch):
        part = slice(first, first + batch)
        entry = entries[part]
        best = np.where(terminated[part], 0.0, table[next_state[part]].max(axis=1))
        error = reward[part] + gamma * best - flat[entry]
        total = np.bincount(entry, error, flat.size)
        flat += alpha * total / np.maximum(np.bincount(entry, minlength=flat.size), 1)
    return table
