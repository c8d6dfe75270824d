"""What a backend's table must be: speed counts only where the work was done right."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from qstep.baselines import numba_table
from qstep.bench.workloads import Workload
from qstep.errors import QStepError
from qstep.fast_model import FastModel
from qstep.transitions import Transitions

__all__ = [
    "Check",
    "Table",
    "WrongTableError",
    "both",
    "equal_to",
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
"""``check(updates, table)`` says what the table was found to be, or raises WrongTableError."""


class WrongTableError(QStepError):
    """A backend did its work wrong, so that its speed means nothing."""


def solved(workload: Workload) -> Check:
    """Return the check that a greedy policy is optimal."""

    def check(updates: int, table: Table) -> str:
        if not workload.solved(table):
            raise WrongTableError(
                f"the greedy policy on {workload.name} is not optimal after {updates} updates"
            )
        return "optimal policy"

    return check


def equal_to(reference: Callable[[int], Table], found: str) -> Check:
    """Return the check that a table equals ``reference(updates)``, which it then calls `found`."""

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


def near(workload: Workload) -> Check:
    """Return the check that a fixed-point table is as near to the real one as it can be.

    Where nothing saturates, an update adds half a unit of rounding and, from kappa, half of 2^-15 of
    the maximum (below 128), and the error itself shrinks by ``1 - alpha + alpha * gamma``. The bound
    is the sum of that series.
    """
    hyper = workload.hyper
    added = workload.config.format.resolution / 2 + 2.0**-16 * 128
    bound = added / (hyper.alpha * (1 - hyper.gamma))

    def check(updates: int, table: Table) -> str:
        error = float(np.abs(table - float_table(workload, updates)).max())
        if not error <= bound:
            raise WrongTableError(
                f"model is {error} from the float64 table; at most {bound} may be"
            )
        return f"within {error:.3f} of numba"

    return check


def both(first: Check, second: Check) -> Check:
    """Return the check that two checks pass."""
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
    """Return the table that the golden model has after recorded transitions."""
    golden = fresh_model(workload)
    golden.apply(transitions(workload, updates))
    return workload.config.format.to_float(golden.table)


def float_table(workload: Workload, updates: int) -> Table:
    """Return the float64 table that compiled Q-learning has after recorded transitions."""
    table = np.zeros((workload.config.states, workload.config.actions))
    hyper = workload.hyper
    numba_table.replay(table, workload.record(updates), alpha=hyper.alpha, gamma=hyper.gamma)
    return table
