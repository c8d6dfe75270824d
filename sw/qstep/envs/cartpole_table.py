"""`CartPoleTable`: Gymnasium's CartPole-v1 with its four numbers cut into the rows of a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
from gymnasium.spaces import Discrete

__all__ = ["CELLS", "LIMITS", "CartPoleTable", "row_of"]

CELLS = (4, 4, 8, 16)
"""Cells for place, speed, angle, angular speed: powers of two, 11 bits together."""

LIMITS = (2.4, 3.0, math.radians(12), 3.0)
"""Each number is cut between minus this and this (m, m/s, rad, rad/s); the outer cells have no end."""


class CartPoleTable(gym.Wrapper[Any, Any, Any, Any]):
    """CartPole-v1 with a ``Discrete(2048)`` observation: see :func:`row_of`.

    Actions, rewards (1 a step) and the end after 500 steps are Gymnasium's. A row stands for many
    states of the pole, so the environment is not quite a Markov process any more, and what is learnt
    is an average.

    **Info.** ``is_success``: the pole is up and the 500 steps are over. Here to terminate is to fail.
    """

    def __init__(self) -> None:
        super().__init__(gym.make("CartPole-v1", disable_env_checker=True))
        self.observation_space = Discrete(math.prod(CELLS))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Start an episode; return its row and the info."""
        seen, info = self.env.reset(seed=seed, options=options)
        return row_of(seen.tolist()), {**info, "is_success": False}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Push the cart; return the row, the reward, terminated, truncated and the info."""
        seen, reward, terminated, truncated, info = self.env.step(action)
        up = truncated and not terminated
        return (
            row_of(seen.tolist()),
            float(reward),
            terminated,
            truncated,
            {**info, "is_success": up},
        )


def row_of(numbers: Sequence[float]) -> int:
    """Return the row of place, speed, angle and angular speed: place in the highest bits.

    Examples
    --------
    >>> row_of([-9.0, -9.0, -9.0, -9.0]), row_of([9.0, 9.0, 9.0, 9.0])
    (0, 2047)
    """
    row = 0
    for k in range(len(CELLS)):  # Numba compiles it, too
        cell = int((numbers[k] + LIMITS[k]) / (2 * LIMITS[k]) * CELLS[k])
        row = row * CELLS[k] + min(max(cell, 0), CELLS[k] - 1)
    return row
