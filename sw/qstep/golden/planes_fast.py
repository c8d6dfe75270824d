"""The compiled version of :mod:`qstep.golden.planes`: bit for bit equal, at millions of requests/s."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qstep._io.compiled import compiled
from qstep.golden.agents_kernel import drawn, halves, random_action
from qstep.golden.planes import (
    NO_ACTION,
    Choices,
    Requests,
    checked_requests,
)
from qstep.spec.checks import instance
from qstep.spec.config import checked_table
from qstep.spec.planes import PlanesConfig
from qstep.spec.random import first_word

__all__ = ["FastPlanesModel"]


@compiled
def _serve(weights, word, requests, row, groups, rules, answers):  # type: ignore[no-untyped-def]
    """Execute all requests in order, write the answers, and return the generator's word.

    `row` and `groups` are tuples of A and G zeros, so Numba compiles one loop per pair of A and G.
    """
    learns, rows, action, reward, next_rows, next_action, terminated = requests
    alpha, kappa, bits, low, high, threshold, floor, shared = rules
    chosen, value, explored = answers
    planes = weights.shape[0]
    size = planes // len(groups)
    half, done = np.int64(1) << (bits - 1), 0
    values = np.empty(len(row), np.int64)
    for i in range(len(learns)):
        if learns[i]:
            a, following = action[i], np.int64(not terminated[i])
            if shared:
                total = target = np.int64(0)
                for p in range(planes):
                    total += weights[p, rows[i, p], a]
                    target += following * weights[p, next_rows[i, p], next_action[i]]
                change = (alpha * (reward[i] - total) + kappa * target + half) >> bits
                for p in range(planes):
                    exact = weights[p, rows[i, p], a] + change
                    weights[p, rows[i, p], a] = min(max(exact, low), high)
            else:
                for p in range(planes):
                    old = np.int64(weights[p, rows[i, p], a])
                    target = following * weights[p, next_rows[i, p], next_action[i]]
                    change = (alpha * (reward[i] - old) + kappa * target + half) >> bits
                    weights[p, rows[i, p], a] = min(max(old + change, low), high)
            continue
        for g in range(len(groups)):
            for a in range(len(row)):
                total = np.int64(0)
                for p in range(g * size, (g + 1) * size):
                    total += weights[p, rows[i, p], a]
                values[a] = total if g == 0 else max(total, values[a])
        greedy = 0
        for a in range(1, len(row)):
            if values[a] > values[greedy]:
                greedy = a
        if floor and values[greedy] <= 0:
            greedy = 0
        word ^= word << np.uint64(13)
        word ^= word >> np.uint64(7)
        word ^= word << np.uint64(17)
        _, lower, _ = drawn(*halves(word))
        given = action[i] != NO_ACTION
        explored[done] = given or np.int64(lower >> np.uint32(16)) < threshold
        picked = np.int64(greedy)
        if given:
            picked = np.int64(action[i])
        elif explored[done]:
            picked = np.int64(random_action(lower, row))
        chosen[done], value[done] = picked, values[picked]
        done += 1
    return word


class FastPlanesModel:
    """Compiled :class:`qstep.golden.planes.PlanesModel` for arrays of requests, with the same contract.

    `weights` is a live view of the model's array, not a copy.
    """

    def __init__(self, config: PlanesConfig, seed: int = 0) -> None:
        self.config = instance("configuration", config, PlanesConfig)
        self.weights: NDArray[np.int32] = np.full(config.table_shape, config.start_raw, np.int32)
        self._word = first_word(seed, 0)

    def load(self, weights: NDArray[np.int32]) -> None:
        """Replace all weights; raise TableError if shape, dtype or values do not fit."""
        self.weights[:] = checked_table(self.config, weights)

    def apply(self, requests: Requests) -> Choices:
        """Execute requests in order; return the answers to the choose requests.

        Raises
        ------
        TransitionError
            A request is illegal for this configuration.
        """
        columns, config = checked_requests(self.config, requests), self.config
        count = int((~columns.learns).sum())
        answers = Choices(
            np.empty(count, np.int32), np.empty(count, np.int64), np.empty(count, np.bool_)
        )
        c, limits = config.coefficients, (config.format.minimum, config.format.maximum)
        numbers = map(np.int64, (c.alpha, c.kappa, c.bits, *limits, config.threshold))
        self._word = int(
            _serve(
                self.weights,
                np.uint64(self._word),
                tuple(columns),
                (0,) * config.actions,
                (0,) * config.groups,
                (*numbers, config.floor, config.error == "shared"),
                tuple(answers),
            )
        )
        return answers
