"""What N boards of Snake are made of, and what a step of them writes: structures of arrays.

A board is 12 x 12 bytes with a border of 1 around its cells, so that a wall and a body look alike and
nothing has to be checked against the edge; a cell is its number in that grid, ``12 * row + column``
counted from the border. A body is a ring: the cells from `head` back to ``head - length + 1``, modulo
its size.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from qstep.envs.snake_rules import SIDE

__all__ = ["PITCH", "RING", "SCRATCH", "Boards", "Outcome"]

PITCH = SIDE + 2
"""From one row of the grid to the next."""

RING = 128
"""Cells in a ring: a power of two that holds every body."""

SCRATCH = ("marks", "stack")
"""Fields of `Boards` that carry nothing from one step to the next."""


class Boards(NamedTuple):
    """The state of N boards, one element or row a board, and what the flood fill works with.

    Attributes
    ----------
    word : ndarray of uint64, shape (N,)
        Generators.
    grid : ndarray of uint8, shape (N, 144)
        1 where there is border or body.
    ring : ndarray of uint8, shape (N, 128)
        Cells of the body.
    head : ndarray of int64, shape (N,)
        Place of the head in the ring.
    length, direction, hunger : ndarray of int64, shape (N,)
        Hunger counts the steps since the last food.
    food : ndarray of int64, shape (N,)
        Cell, or 0 (a border cell) where the game is won.
    marks : ndarray of uint8, shape (144,)
        The grid of one board, with what a flood fill has reached.
    stack : ndarray of int64, shape (144,)
        Cells from which the fill has to go on.
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
    def empty(cls, boards: int) -> Self:
        """Return boards on which nothing has begun yet."""
        cells = PITCH * PITCH
        return cls(
            word=np.zeros(boards, np.uint64),
            grid=np.zeros((boards, cells), np.uint8),
            ring=np.zeros((boards, RING), np.uint8),
            head=np.zeros(boards, np.int64),
            length=np.zeros(boards, np.int64),
            direction=np.zeros(boards, np.int64),
            hunger=np.zeros(boards, np.int64),
            food=np.zeros(boards, np.int64),
            marks=np.zeros(cells, np.uint8),
            stack=np.zeros(cells, np.int64),
        )


class Outcome(NamedTuple):
    """What a step gives, one element or row a board; N boards, W float features.

    Attributes
    ----------
    next_state : ndarray of int32, shape (N,)
    next_features : ndarray of float32, shape (N, W)
    reward : ndarray of float32, shape (N,)
    terminated, truncated : ndarray of bool, shape (N,)
    score : ndarray of int32, shape (N,)
    """

    next_state: NDArray[np.int32]
    next_features: NDArray[np.float32]
    reward: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    score: NDArray[np.int32]
