"""`SnakeVectorEnv`: a compiled vector environment of `Snake`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep.envs import snake_kernels
from qstep.envs.snake import (
    FEATURES,
    FLOOD_FEATURES,
    START_LENGTH,
    Cell,
    Observation,
    Snake,
    checked_placement,
)
from qstep.envs.snake_kernels import PITCH, RING
from qstep.envs.vector import CompiledVectorEnv
from qstep.spec.checks import integer

__all__ = ["SnakeVectorEnv"]


class SnakeVectorEnv(CompiledVectorEnv):
    """N environments of :class:`~qstep.envs.snake.Snake`, stepped in one compiled call.

    Rules, rewards and observations are as in `Snake`: action 0 goes straight, 1 turns right, and 2 turns
    left. Environment i matches, move for move, a `Snake` that is reset with ``seed + i`` at first and
    without a seed after each episode. ``score`` in the info is the amount of food eaten in the episode.
    Autoreset and memory work as in :class:`~qstep.envs.vector.CompiledVectorEnv`.

    Parameters
    ----------
    num_envs : int
        1 or more.
    observation : {"features", "state", "flood"}
        As in `Snake`: float32 of shape (N, 11), int64 of shape (N,), float32 of shape (N, 14).

    Raises
    ------
    ConfigError
        A parameter is out of range.

    Examples
    --------
    >>> envs = SnakeVectorEnv(4, "state")
    >>> envs.reset(seed=7)[0].shape
    (4,)
    >>> envs.step([0, 0, 1, 2])[1].shape
    (4,)
    """

    def __init__(self, num_envs: int, observation: Observation = "features") -> None:
        num_envs = integer("num_envs", num_envs, 1)
        space = Snake(observation).observation_space
        width = {"state": 0, "features": FEATURES, "flood": FLOOD_FEATURES}[observation]
        shown = np.zeros(num_envs, np.int64), np.zeros((num_envs, width), np.float32)
        super().__init__(num_envs, space, snake_kernels, shown, int(observation != "state"))

    def body(self, index: int) -> list[Cell]:
        """Return the (row, column) of each cell of a snake, from head to tail."""
        head, length = self._arrays.head[index], self._arrays.length[index]
        positions = (head - np.arange(length)) & (RING - 1)
        return [_cell(number) for number in self._arrays.ring[index, positions]]

    def food(self, index: int) -> Cell:
        """Return the (row, column) of an environment's food."""
        return _cell(self._arrays.food[index])

    def place(self, index: int, body: Sequence[Cell], food: Cell) -> NDArray[Any]:
        """Place a snake and its food as in :meth:`Snake.place`; return the observation."""
        direction = checked_placement(body, food)
        arrays = self._arrays
        grid = np.ones((PITCH, PITCH), np.uint8)
        grid[1:-1, 1:-1] = 0
        arrays.grid[index] = grid.reshape(-1)
        numbers = [_number(cell) for cell in body]
        arrays.grid[index, numbers] = 1
        arrays.ring[index, : len(body)] = numbers[::-1]
        arrays.head[index] = len(body) - 1
        arrays.length[index] = len(body)
        arrays.direction[index] = direction
        arrays.hunger[index] = 0
        arrays.food[index] = _number(food)
        self._begun = True
        snake_kernels.observe(arrays, index, self._shown)
        return self.observation

    def _info(self) -> dict[str, Any]:
        return _score(self._arrays.length - START_LENGTH, np.ones(self.num_envs, np.bool_))

    def _final_info(self, ended: NDArray[np.bool_]) -> dict[str, Any]:
        return _score(np.where(ended, self._arrays.score, 0), ended)


def _score(score: NDArray[np.int64], where: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the score in the format of an info of Gymnasium's vector environments."""
    return {"score": score, "_score": where.copy()}


def _number(cell: Cell) -> int:
    row, column = cell
    return PITCH * (row + 1) + column + 1


def _cell(number: Any) -> Cell:
    row, column = divmod(int(number), PITCH)
    return row - 1, column - 1
