"""The state of N games of Snake, and the results of a step: structures of arrays.

A grid is 12 x 12 bytes with a border of 1 around its cells, so walls and bodies look alike and
there are no checks for the edge. A cell is identified by its number in that grid, ``12 * row +
column``, counted from the border. A body is a ring: the cells from `head` back to ``head - length +
1``, modulo its size.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from qstep.errors import ConfigError

__all__ = [
    "ACTIONS",
    "DIRECTION_FEATURE",
    "FEATURES",
    "FLOOD_FEATURES",
    "MARGIN",
    "MOVES",
    "PATIENCE",
    "PITCH",
    "REWARD_DEATH",
    "REWARD_FOOD",
    "RING",
    "SCRATCH",
    "SIDE",
    "START_LENGTH",
    "STATES",
    "TURNS",
    "Cell",
    "Observation",
    "Outcome",
    "Snakes",
    "checked_observation",
    "checked_placement",
]

Cell: TypeAlias = tuple[int, int]
"""Row and column, counted from the upper left corner."""

Observation: TypeAlias = Literal["state", "features", "flood"]

SIDE = 10
START_LENGTH = 3
MARGIN = 3
"""Least number of free cells between the head and the border at the start."""

PATIENCE = 100
"""Steps without food, per cell of the body, after which an episode is truncated."""

REWARD_FOOD = 10.0
REWARD_DEATH = -10.0

MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))
"""Row and column step of the directions right, down, left, up: clockwise."""

TURNS = (0, 1, -1)
"""The change of direction by the actions straight, right, left."""

ACTIONS = len(TURNS)
FEATURES = 11
FLOOD_FEATURES = FEATURES + ACTIONS
STATES = 1 << FEATURES

DIRECTION_FEATURE = (4, 6, 3, 5)
"""The feature that is 1 for each direction."""


def checked_observation(observation: Observation) -> Observation:
    """Return the kind of observation; raises ConfigError if it does not exist."""
    kinds = get_args(Observation)
    if observation not in kinds:
        raise ConfigError(f"observation is {observation!r}; it must be one of {', '.join(kinds)}")
    return observation


def checked_placement(body: Sequence[Cell], food: Cell) -> int:
    """Return the direction of a snake; raises ConfigError if it or its food is impossible."""
    if len(body) < START_LENGTH:
        raise ConfigError(
            f"the body has {len(body)} cells; it must have {START_LENGTH} to {SIDE * SIDE - 1}"
        )
    for cell in (*body, food):
        if not all(0 <= k < SIDE for k in cell):
            raise ConfigError(
                f"cell {cell} is off the grid; row and column are from 0 to {SIDE - 1}"
            )
    steps = [(a[0] - b[0], a[1] - b[1]) for a, b in pairwise(body)]
    for k, step in enumerate(steps):
        if step not in MOVES:
            raise ConfigError(
                f"the body goes from {body[k]} to {body[k + 1]}; its cells must be side by side"
            )
    for k, cell in enumerate((*body, food)):
        if cell in body[:k]:
            what = "the food" if k == len(body) else "the body a second time"
            raise ConfigError(f"cell {cell} holds the body and {what}; only one fits")
    return MOVES.index(steps[0])


PITCH = SIDE + 2
"""Distance from one row of the grid to the next."""

RING = 128
"""Cells in a ring: a power of two that holds every body."""

SCRATCH = ("marks", "stack")
"""Fields of `Snakes` that hold no state between steps."""


class Snakes(NamedTuple):
    """The state of N snakes, one element or row per game, and work space of the flood fill.

    Attributes
    ----------
    word : ndarray of uint64, shape (N,)
        Generators.
    grid : ndarray of uint8, shape (N, 144)
        1 for border or body.
    ring : ndarray of uint8, shape (N, 128)
        Cells of the body.
    head : ndarray of int64, shape (N,)
        Position of the head in the ring.
    length, direction, hunger : ndarray of int64, shape (N,)
        Hunger counts the steps since the last food.
    food : ndarray of int64, shape (N,)
        Its cell, or 0 (a border cell) if the game is won.
    marks : ndarray of uint8, shape (144,)
        The grid of one game, with the cells that a flood fill has reached.
    stack : ndarray of int64, shape (144,)
        Cells from which the fill must continue.
    """

    word: NDArray[np.uint64]
    grid: NDArray[np.uint8]
    ring: NDArray[np.uint8]
    head: NDArray[np.int64]
    length: NDArray[np.int64]
    direction: NDArray[np.int64]
    hunger: NDArray[np.int64]
    food: NDArray[np.int64]
    marks: NDArray[np.uint8]
    stack: NDArray[np.int64]

    @classmethod
    def empty(cls, num_envs: int) -> Self:
        """Return games in which no episode has begun yet."""
        cells = PITCH * PITCH
        return cls(
            word=np.zeros(num_envs, np.uint64),
            grid=np.zeros((num_envs, cells), np.uint8),
            ring=np.zeros((num_envs, RING), np.uint8),
            head=np.zeros(num_envs, np.int64),
            length=np.zeros(num_envs, np.int64),
            direction=np.zeros(num_envs, np.int64),
            hunger=np.zeros(num_envs, np.int64),
            food=np.zeros(num_envs, np.int64),
            marks=np.zeros(cells, np.uint8),
            stack=np.zeros(cells, np.int64),
        )


class Outcome(NamedTuple):
    """The results of a step, one element or row per game; N snakes, W float features.

    Attributes
    ----------
    next_state : ndarray of int64, shape (N,)
    next_features : ndarray of float32, shape (N, W)
    reward : ndarray of float32, shape (N,)
    terminated, truncated : ndarray of bool, shape (N,)
    score : ndarray of int64, shape (N,)
    """

    next_state: NDArray[np.int64]
    next_features: NDArray[np.float32]
    reward: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    score: NDArray[np.int64]
