"""`SnakeVectorEnv`: many environments of `Snake` at once, compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qstep.envs.compiled_vector import CompiledVectorEnv
from qstep.envs.snake_arrays import PITCH, RING, SCRATCH, Outcome, Snakes
from qstep.envs.snake_kernels import observe, restart, step
from qstep.envs.snake_rules import (
    ACTIONS,
    FEATURES,
    FLOOD_FEATURES,
    Cell,
    Observation,
    checked_observation,
    checked_placement,
)
from qstep.envs.vector import VectorStep
from qstep.envs.vector_checks import checked_num_envs

__all__ = ["SnakeVectorEnv"]

Observations: TypeAlias = NDArray[np.float32] | NDArray[np.int32]

_WIDTHS = {"state": 0, "features": FEATURES, "flood": FLOOD_FEATURES}


class SnakeVectorEnv(CompiledVectorEnv):
    """N environments of :class:`~qstep.envs.snake.Snake`, stepped in one compiled call.

    The rules, rewards and observations are those of `Snake`; action 0 goes straight on, 1 turns to the
    right, 2 to the left. Environment i goes move for move as one `Snake` that is first reset with
    ``seed + i`` and, whenever an episode ends, without a seed. The score is the food eaten in the
    episode.

    **Autoreset.** An environment whose episode ends is reset within the same step. The step's
    ``next_observation`` is still what the last move led to; :attr:`observation`, on which the next
    action is chosen, is that of the new episode.

    **Memory.** A step allocates no arrays: it returns the same ones each time. Only the observation
    that was acted on is spared until the next step, so that the transition (observation, action,
    reward, next_observation, terminated) can be stored once its step is done.

    Parameters
    ----------
    num_envs : int
        1 or more.
    observation : {"features", "state", "flood"}
        As for `Snake`: float32 of shape (N, 11), int32 of shape (N,), float32 of shape (N, 14).
    seed : int
        0..2^64-`num_envs`.

    Raises
    ------
    EnvironmentSpaceError
        A parameter is out of its range.

    Examples
    --------
    >>> envs = SnakeVectorEnv(4, "state", seed=7)
    >>> envs.observation.shape
    (4,)
    >>> envs.step([0, 0, 1, 2]).reward.shape
    (4,)
    """

    actions = ACTIONS

    def __init__(self, num_envs: int, observation: Observation = "features", seed: int = 0) -> None:
        self.kind = checked_observation(observation)
        arrays = Snakes.empty(checked_num_envs(num_envs))
        width = _WIDTHS[observation]

        def shown() -> tuple[NDArray[np.int32], NDArray[np.float32]]:
            return np.zeros(num_envs, np.int32), np.zeros((num_envs, width), np.float32)

        self._out = Outcome(
            *shown(),
            np.zeros(num_envs, np.float32),
            np.zeros(num_envs, np.bool_),
            np.zeros(num_envs, np.bool_),
            np.zeros(num_envs, np.int32),
        )
        returned = VectorStep(self._pick(*self._out[:2]), *self._out[2:])
        super().__init__(arrays, (shown(), shown()), returned, seed)

    @property
    def inputs(self) -> int:
        """Numbers of an observation; 0 where it is a state."""
        return _WIDTHS[self.kind]

    @property
    def observation(self) -> Observations:
        """What every environment shows now, to choose the next actions on."""
        return self._pick(*self._seen[0])

    def body(self, index: int) -> list[Cell]:
        """Return the (row, column) of a snake's cells, from head to tail."""
        head, length = self._arrays.head[index], self._arrays.length[index]
        places = (head - np.arange(length)) & (RING - 1)
        return [_cell(number) for number in self._arrays.ring[index, places]]

    def food(self, index: int) -> Cell:
        """Return the (row, column) of an environment's food."""
        return _cell(self._arrays.food[index])

    def place(self, index: int, body: Sequence[Cell], food: Cell) -> Observations:
        """Put a snake and its food somewhere; see :meth:`Snake.place`. Return the observation."""
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
        self._observe(index)
        return self.observation

    def _restart(self, index: int) -> None:
        restart(self._arrays, index)

    def _observe(self, index: int) -> None:
        observe(self._arrays, index, *self._seen[0])

    def _advance(self) -> int:
        bad: int = step(self._arrays, self._actions, *self._seen[1], self._out)
        return bad

    def _kept(self) -> dict[str, NDArray[Any]]:
        return {name: array for name, array in super()._kept().items() if name not in SCRATCH}

    def _pick(self, state: NDArray[np.int32], features: NDArray[np.float32]) -> Observations:
        return state if self.kind == "state" else features


def _number(cell: Cell) -> int:
    row, column = cell
    return PITCH * (row + 1) + column + 1


def _cell(number: Any) -> Cell:
    row, column = divmod(int(number), PITCH)
    return row - 1, column - 1
