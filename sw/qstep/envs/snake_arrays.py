"""The state of N games of Snake, and the results of a step: structures of arrays.

A grid is 12 x 12 bytes with a border of 1 around its cells, so walls and bodies look alike and
there are no checks for the edge. A cell is identified by its number in that grid, ``12 * row +
column``, counted from the border. A body is a ring: the cells from `head` back to ``head - length +
1``, modulo its size.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from qstep.envs.snake_rules import SIDE

__all__ = ["PITCH", "RING", "SCRATCH", "Outcome", "Snakes"]

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
