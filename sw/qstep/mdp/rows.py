"""Checks of data columns, and conversion of outcomes to rows whose weights sum to 65536.

A *set* contains the possible results of one draw: the outcomes of a state-action pair, or all start
states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from qstep.errors import QStepError, WorldError
from qstep.mdp.memory import TOTAL
from qstep.spec.checks import integer

__all__ = [
    "OUTCOMES",
    "STARTS",
    "booleans",
    "check_lengths",
    "column",
    "frozen",
    "integers",
    "outcome_rows",
    "start_rows",
]


def column(
    name: str, values: ArrayLike, error: type[QStepError], empty: DTypeLike = np.float64
) -> NDArray[Any]:
    """Return values as a one-dimensional array, or raise `error`.

    `empty` is the dtype to use for an empty list.
    """
    if isinstance(values, list | tuple) and not values:
        return np.empty(0, empty)
    try:
        array = np.asarray(values)
    except ValueError as cause:  # its nested lists differ in length
        raise error(f"{name} is not one-dimensional: {cause}") from cause
    if array.ndim != 1:
        found = "is None" if values is None else f"has shape {array.shape}"
        raise error(f"{name} {found}; it must be one-dimensional")
    return array


def check_lengths(columns: Mapping[str, NDArray[Any]], error: type[QStepError]) -> None:
    """Raise `error` if columns differ in length."""
    lengths = {name: len(array) for name, array in columns.items()}
    if len(set(lengths.values())) != 1:
        listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise error(f"arrays differ in length ({listed}); their lengths must be equal")


def integers(
    name: str, values: ArrayLike, limit: int, error: type[QStepError]
) -> NDArray[np.int32]:
    """Return a column of integers, all from 0 to `limit` - 1, as a copy."""
    array = column(name, values, error, np.int32)
    if array.dtype.kind not in "iu":
        raise error(f"{name} has dtype {array.dtype}; it must be integers")
    # As unsigned integers, negative numbers become large, so one comparison finds both errors.
    unsigned = array.view(array.dtype.str.replace("i", "u"))
    if len(array) and unsigned.max() >= limit:
        where = int(np.flatnonzero(unsigned >= limit)[0])
        raise error(f"{name}[{where}] is {array[where]}; it must be from 0 to {limit - 1}")
    return np.array(array, dtype=np.int32, order="C")


def booleans(name: str, values: ArrayLike, error: type[QStepError]) -> NDArray[np.bool_]:
    """Return a column of booleans, each stored as the byte 0 or 1, as a copy."""
    array = column(name, values, error, np.bool_)
    if array.dtype != np.bool_:
        raise error(f"{name} has dtype {array.dtype}; it must be bool")
    return np.not_equal(array.view(np.uint8), 0, order="C")


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Freeze an array; return a view that cannot be made writable again."""
    array.setflags(write=False)
    return array.view()


MOST_STATES, MOST_ACTIONS = 65536, 64
"""Maximum numbers of states and actions in a table."""

OUTCOMES = ("state", "action", "weight", "next_state", "reward", "terminated")
STARTS = ("start_state", "start_weight")
"""Names of the columns of a world."""

_SLACK = 1e-6
"""Largest deviation of a sum of probabilities from 1."""

_DIGITS = 6
"""Number of exact decimals of a weight before rounding; further decimals are floating-point noise."""

Given = Mapping[str, Any]
Rows = dict[str, NDArray[Any]]


def outcome_rows(given: Given, states: int | None, actions: int | None) -> tuple[int, int, Rows]:
    """Return the numbers of states and actions, and the rows of a world, from given columns.

    `given` contains five columns, and also ``weight`` or ``probability`` unless each pair has only one
    outcome. The resulting rows are ordered and have weights. Duplicate rows are merged, and rows with
    probability 0 are omitted. If `states` and `actions` are given, as for an environment, the columns
    must already be in range.
    """
    state = integers("state", given["state"], MOST_STATES, WorldError)
    action = integers("action", given["action"], MOST_ACTIONS, WorldError)
    next_state = integers("next_state", given["next_state"], MOST_STATES, WorldError)
    reward = _reals("reward", given["reward"])
    terminated = booleans("terminated", given["terminated"], WorldError)
    amount = _amount(given, "weight", "probability", np.full(len(state), TOTAL))
    columns = (state, action, amount, next_state, reward, terminated)
    check_lengths(dict(zip(OUTCOMES, columns, strict=True)), WorldError)
    if not len(state):
        raise WorldError("a world needs an outcome for every state and action; there are no rows")
    states = states or int(max(state.max(), next_state.max())) + 1
    actions = actions or int(action.max()) + 1
    states = integer("states", states, 2, MOST_STATES)
    actions = integer("actions", actions, 2, MOST_ACTIONS)

    pair = state.astype(np.int64) * actions + action
    missing = np.flatnonzero(np.bincount(pair, minlength=states * actions) == 0)
    if len(missing):
        raise WorldError(
            f"{_pair(int(missing[0]), actions)} has no outcome (missing pairs: {len(missing)}); each "
            f"pair of the {states} states and {actions} actions needs one"
        )
    if given.get("weight") is None and given.get("probability") is None:
        counts = np.bincount(pair)
        several = np.flatnonzero(counts > 1)
        if len(several):
            raise WorldError(
                f"{_pair(int(several[0]), actions)} has {counts[several[0]]} outcomes, but neither "
                "probability nor weight was given"
            )
    keys, weight = _weighted(
        (pair, next_state, reward, terminated),
        amount,
        states * actions,
        lambda number: _pair(number, actions),
    )
    pair, next_state, reward, terminated = keys
    state, action = (part.astype(np.int32) for part in np.divmod(pair, actions))
    found = (state, action, weight, next_state, reward, terminated)
    return states, actions, dict(zip(OUTCOMES, found, strict=True))


def start_rows(given: Given, states: int) -> Rows:
    """Return the start states, ascending, with weights; by default, all rows are equally likely."""
    state = integers("start_state", given["start_state"], states, WorldError)
    if not len(state):
        raise WorldError("start_state is empty; a world needs a state to start in")
    usual = np.full(len(state), 1 / len(state))
    amount = _amount(given, "start_weight", "start_probability", usual)
    check_lengths(dict(zip(STARTS, (state, amount), strict=True)), WorldError)
    zeros = np.zeros(len(state), np.int64)
    (_, state), weight = _weighted((zeros, state), amount, 1, lambda _: "the start states")
    return dict(zip(STARTS, (state, weight), strict=True))


def _amount(given: Given, weight: str, probability: str, usual: NDArray[Any]) -> NDArray[Any]:
    """Return weights as integers or probabilities as floats, whichever is given."""
    names = [name for name in (weight, probability) if given.get(name) is not None]
    if len(names) > 1:
        raise WorldError(f"{' and '.join(names)} are both given; give one of them")
    if weight in names:
        return integers(weight, given[weight], TOTAL + 1, WorldError)
    if not names:
        return usual
    amount = _reals(probability, given[probability])
    wrong = np.flatnonzero((amount < 0) | (amount > 1))
    if len(wrong):
        raise WorldError(f"{probability}[{wrong[0]}] is {amount[wrong[0]]}; it must be from 0 to 1")
    return amount


def _reals(name: str, values: ArrayLike) -> NDArray[np.float64]:
    array = column(name, values, WorldError)
    if array.dtype.kind not in "fiu":
        raise WorldError(f"{name} has dtype {array.dtype}; it must be real numbers")
    real = array.astype(np.float64) + 0.0  # turns -0 into 0
    wrong = np.flatnonzero(~np.isfinite(real))
    if len(wrong):
        raise WorldError(f"{name}[{wrong[0]}] is {real[wrong[0]]}; it must be finite")
    return real


def _pair(number: int, actions: int) -> str:
    return f"state {number // actions}, action {number % actions}"


def _weighted(
    keys: tuple[NDArray[Any], ...], amount: NDArray[Any], sets: int, named: Callable[[int], str]
) -> tuple[tuple[NDArray[Any], ...], NDArray[np.int32]]:
    """Return ordered rows and their weights; the first key is the number of a row's set."""
    total = np.bincount(keys[0], weights=amount, minlength=sets)
    whole = amount.dtype.kind == "i"
    wanted, slack = (TOTAL, 0.0) if whole else (1, _SLACK)
    wrong = np.flatnonzero(np.abs(total - wanted) > slack)
    if len(wrong):
        at = int(wrong[0])
        raise WorldError(
            f"the {'weights' if whole else 'probabilities'} of {named(at)} sum to {total[at]:.9g}, "
            f"{abs(total[at] - wanted):.6g} too {'little' if total[at] < wanted else 'much'}; they "
            f"must sum to {wanted}"
        )
    keys, amount = _merged(keys, amount)
    if whole:
        return keys, amount.astype(np.int32)
    weight = _apportioned(keys[0], amount / total[keys[0]])
    lost = np.flatnonzero(weight == 0)
    if len(lost):
        raise WorldError(
            f"an outcome of {named(int(keys[0][lost[0]]))} has the probability "
            f"{amount[lost[0]]:g}, which would be rounded to 0; it must be 0 or at least 2^-16, "
            f"{1 / TOTAL:.4g}"
        )
    return keys, weight


def _merged(
    keys: tuple[NDArray[Any], ...], amount: NDArray[Any]
) -> tuple[tuple[NDArray[Any], ...], NDArray[Any]]:
    """Return the rows with an amount above 0, sorted by the keys; rows with equal keys are merged."""
    order = np.flatnonzero(amount)
    order = order[np.lexsort([key[order] for key in reversed(keys)])]
    keys = tuple(key[order] for key in keys)
    new = np.ones(len(order), np.bool_)
    new[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    first = np.flatnonzero(new)
    return tuple(key[first] for key in keys), np.add.reduceat(amount[order], first)


def _apportioned(number: NDArray[Any], probability: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return weights by largest remainder; ties go to the lowest row. Set numbers ascend from 0."""
    exact = np.round(probability * TOTAL, _DIGITS)
    weight = np.floor(exact).astype(np.int64)
    left = TOTAL - np.bincount(number, weights=weight).astype(np.int64)
    order = np.lexsort((-np.round(exact - weight, _DIGITS), number))
    rank = np.arange(len(number)) - np.searchsorted(number, number)
    weight[order] += rank < left[number]
    return weight.astype(np.int32)
