"""Model of the learner that executes choose and learn requests; this code is the definition.

It is written to be read, not to be fast. The compiled version (:mod:`qstep.golden.planes_fast`), the C++
header (``sw/qstep/cpp/planes.hpp``) and the hardware produce the same choices and weights bit for bit.

Every plane is a separate SARSA learner (Rummery and Niranjan, 1994); only the choice of an action
combines them, as in Pythia (Bera et al., MICRO 2021). With a shared error, the planes are a single
linear function instead (Sutton and Barto, 2018, section 10.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from qstep.errors import ConfigError, TransitionError
from qstep.golden.lane import exact_value
from qstep.spec.checks import boolean, instance, integer
from qstep.spec.config import checked_table
from qstep.spec.planes import PlanesConfig
from qstep.spec.random import DRAW_BITS, advanced, draw, first_word

__all__ = [
    "NO_ACTION",
    "Choice",
    "Choices",
    "PlanesModel",
    "Requests",
    "checked_requests",
]

NO_ACTION = -1
"""The action of a choose request that leaves exploration to the generator."""


class Choice(NamedTuple):
    """The answer to a choose request.

    `value` is the raw value of `action`, even if the action is not greedy. `explored` is True if the
    request or the generator chose the action instead of the greedy policy.
    """

    action: int
    value: int
    explored: bool


class PlanesModel:
    """The sequential model: requests take effect one at a time.

    Parameters
    ----------
    config : PlanesConfig
    seed : int
        Seed of exploration, 0..2^64-1. Each choose request, whether or not it explores, uses the next
        draw of agent 0 with this seed (``qstep.spec.random``).

    Examples
    --------
    >>> model = PlanesModel(PlanesConfig(groups=1, planes=2, rows=4, actions=2))
    >>> model.learn([0, 3], 1, 512, [1, 1], 0)
    >>> model.choose([0, 3])
    Choice(action=1, value=512, explored=False)
    """

    def __init__(self, config: PlanesConfig, seed: int = 0) -> None:
        self.config = instance("configuration", config, PlanesConfig)
        self._weights = np.full(config.table_shape, config.start_raw, np.int32).tolist()
        self._coefficients = config.coefficients
        self._word = first_word(seed, 0)

    @property
    def weights(self) -> NDArray[np.int32]:
        """A copy of all weights in raw units, int32, shape (P, R, A)."""
        return np.array(self._weights, np.int32)

    def load(self, weights: NDArray[np.int32]) -> None:
        """Replace all weights; raise TableError if shape, dtype or values do not fit."""
        self._weights = checked_table(self.config, weights).tolist()

    def choose(self, rows: Sequence[int], explore_action: int = NO_ACTION) -> Choice:
        """Return the action of the epsilon-greedy policy.

        Parameters
        ----------
        rows : sequence of int, length P
            The row in each plane, 0..R-1.
        explore_action : int
            The action to take instead of the greedy one, 0..A-1, or -1 to let the generator decide.

        Raises
        ------
        ConfigError
            An argument is out of range.
        """
        actions = self.config.actions
        integer("explore_action", explore_action, NO_ACTION, actions - 1)
        return self._choose(self._checked_rows("rows", rows), explore_action)

    def learn(
        self,
        rows: Sequence[int],
        action: int,
        reward: int,
        next_rows: Sequence[int],
        next_action: int,
        terminated: bool = False,
    ) -> None:
        """Apply a SARSA update to the action's weight in every plane.

        Parameters
        ----------
        rows, next_rows : sequence of int, length P
            The row in each plane, 0..R-1, before and after the action.
        action, next_action : int
            0..A-1.
        reward : int
            Raw, in the configuration's format.
        terminated : bool
            If True, the episode ends: `next_rows` and `next_action` are ignored, but must be legal.

        Raises
        ------
        ConfigError
            An argument is out of range.
        """
        number_format, actions = self.config.format, self.config.actions
        self._learn(
            self._checked_rows("rows", rows),
            integer("action", action, 0, actions - 1),
            integer("reward", reward, number_format.minimum, number_format.maximum),
            self._checked_rows("next_rows", next_rows),
            integer("next_action", next_action, 0, actions - 1),
            boolean("terminated", terminated),
        )

    def apply(self, requests: Requests) -> Choices:
        """Execute requests in order; return the answers to the choose requests.

        Raises
        ------
        TransitionError
            A request is illegal for this configuration.
        """
        columns = checked_requests(self.config, requests)
        choices = []
        for learns, rows, action, *rest in zip(*(own.tolist() for own in columns), strict=True):
            if learns:
                self._learn(rows, action, *rest)
            else:
                choices.append(self._choose(rows, action))
        return Choices.of(choices)

    def _checked_rows(self, name: str, rows: Sequence[int]) -> list[int]:
        if len(rows) != self.config.all_planes:
            raise ConfigError(f"{name} has {len(rows)} rows; it must have {self.config.all_planes}")
        most = self.config.rows - 1
        return [integer(f"{name}[{p}]", row, 0, most) for p, row in enumerate(rows)]

    def _choose(self, rows: Sequence[int], explore_action: int) -> Choice:
        values = self._values(rows)
        greedy = values.index(max(values))
        if self.config.floor and values[greedy] <= 0:
            greedy = 0
        self._word = advanced(self._word)
        drawn = draw(self._word)
        if explore_action != NO_ACTION:
            return Choice(explore_action, values[explore_action], True)
        if drawn.explore < self.config.threshold:
            random = (drawn.action * self.config.actions) >> DRAW_BITS
            return Choice(random, values[random], True)
        return Choice(greedy, values[greedy], False)

    def _values(self, rows: Sequence[int]) -> list[int]:
        """Return the value of each action: the maximum over groups of the sum over a group's planes."""
        held = [plane[row] for plane, row in zip(self._weights, rows, strict=True)]
        size = self.config.planes
        groups = [held[first : first + size] for first in range(0, len(held), size)]
        return [
            max(sum(plane[action] for plane in group) for group in groups)
            for action in range(self.config.actions)
        ]

    def _learn(
        self,
        rows: Sequence[int],
        action: int,
        reward: int,
        next_rows: Sequence[int],
        next_action: int,
        terminated: bool,
    ) -> None:
        # All reads precede all writes, because a row may be its own next row.
        old = [plane[row][action] for plane, row in zip(self._weights, rows, strict=True)]
        following = [
            0 if terminated else plane[row][next_action]
            for plane, row in zip(self._weights, next_rows, strict=True)
        ]
        if self.config.error == "shared":
            increment = self._exact(sum(old), reward, sum(following)) - sum(old)
            learned = [weight + increment for weight in old]
        else:
            learned = [self._exact(q, reward, m) for q, m in zip(old, following, strict=True)]
        low, high = self.config.format.minimum, self.config.format.maximum
        for plane, row, value in zip(self._weights, rows, learned, strict=True):
            plane[row][action] = max(low, min(high, value))

    def _exact(self, value: int, reward: int, following: int) -> int:
        c = self._coefficients
        return exact_value(c, value, reward, following, 1 << c.bits - 1)


class Choices(NamedTuple):
    """The answers to C choose requests.

    Attributes
    ----------
    action : ndarray of int32, shape (C,)
    value : ndarray of int64, shape (C,)
        Raw.
    explored : ndarray of bool, shape (C,)
    """

    action: NDArray[np.int32]
    value: NDArray[np.int64]
    explored: NDArray[np.bool_]

    @classmethod
    def of(cls, choices: Sequence[Choice]) -> Self:
        """Combine single choices into arrays."""
        columns = np.array(choices, np.int64).reshape(-1, 3).T
        return cls(columns[0].astype(np.int32), columns[1].copy(), columns[2].astype(np.bool_))


class Requests(NamedTuple):
    """N requests in order, with the arguments of :meth:`PlanesModel.learn`.

    Attributes
    ----------
    learns : ndarray of bool, shape (N,)
        True for a learn request, False for a choose request.
    rows : ndarray of int, shape (N, P)
    action : ndarray of int, shape (N,)
        The action, 0..A-1. For a choose request, the action to take instead of the greedy one, or -1.
    reward : ndarray of int, shape (N,)
        Raw reward. For a choose request, this and all fields below are ignored, but must be legal.
    next_rows : ndarray of int, shape (N, P)
    next_action : ndarray of int, shape (N,)
    terminated : ndarray of bool, shape (N,)
    """

    learns: NDArray[np.bool_]
    rows: NDArray[np.int32]
    action: NDArray[np.int32]
    reward: NDArray[np.int32]
    next_rows: NDArray[np.int32]
    next_action: NDArray[np.int32]
    terminated: NDArray[np.bool_]


def checked_requests(config: PlanesConfig, requests: Requests) -> Requests:
    """Check requests, and return them as contiguous arrays of bool and int32.

    Raises
    ------
    TransitionError
        An array has the wrong shape or dtype, or contains a value that is out of range.
    """
    count, planes = len(np.atleast_1d(requests.learns)), config.all_planes
    rows, action = (0, config.rows - 1), (0, config.actions - 1)
    reward = config.format.minimum, config.format.maximum
    ranges = {"rows": rows, "action": (NO_ACTION, action[1]), "reward": reward, "next_rows": rows}
    ranges["next_action"] = action
    checked = {}
    for name, values in requests._asdict().items():
        array = np.asarray(values)
        shape = (count, planes) if name.endswith("rows") else (count,)
        if array.shape != shape:
            raise TransitionError(f"{name} has shape {array.shape}; it must be {shape}")
        if name not in ranges:
            if array.dtype != np.bool_:
                raise TransitionError(f"{name} has dtype {array.dtype}; it must be bool")
            checked[name] = np.ascontiguousarray(array)
            continue
        if array.dtype.kind not in "iu":
            raise TransitionError(f"{name} has dtype {array.dtype}; it must be integers")
        low, high = ranges[name]
        bad = (array < low) | (array > high)
        if name == "action":
            bad |= checked["learns"] & (array == NO_ACTION)
        if bad.any():
            at = tuple(np.argwhere(bad)[0].tolist())
            low = 0 if name == "action" and checked["learns"][at] else low
            raise TransitionError(
                f"{name}[{', '.join(map(str, at))}] is {array[at]}; it must be from {low} to {high}"
            )
        checked[name] = np.ascontiguousarray(array, np.int32)
    return Requests(**checked)
