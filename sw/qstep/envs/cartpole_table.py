"""`CartPoleTable`: Gymnasium's CartPole-v1 with its four state variables discretised into table rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
from gymnasium.spaces import Discrete

from qstep.envs.checked import checked_action
from qstep.envs.rendering import METADATA, PLAYER, checked_render_mode, rendered

__all__ = ["CELLS", "LIMITS", "CartPoleTable", "row_of"]

CELLS = (4, 4, 8, 16)
"""Bins for position, velocity, angle and angular velocity: powers of two, 11 bits in total."""

LIMITS = (2.4, 3.0, math.radians(12), 3.0)
"""Ranges that the bins cover, plus or minus (m, m/s, rad, rad/s); the outer bins are unbounded."""

_ROWS, _COLUMNS = 8, 49
"""Size of the text rendering: rows above the track, and width."""


class CartPoleTable(gym.Env[Any, Any]):
    """CartPole-v1 with a ``Discrete(2048)`` observation: see :func:`row_of`.

    Actions, rewards (1 per step) and the limit of 500 steps are the same as in Gymnasium. A row covers
    many states of the pole, so the environment is only approximately a Markov process, and learned
    values are averages.

    **Info.** ``is_success``: whether the pole still stands after 500 steps. Termination means failure.

    Parameters
    ----------
    render_mode : {None, "ansi", "rgb_array"}
        Result of :meth:`render`: None, the cart (``@``) on its track with the pole above, or an image
        of it.

    Attributes
    ----------
    pole : gymnasium.Env
        Gymnasium's CartPole-v1, whose ``state`` contains the four variables.

    Raises
    ------
    ConfigError
        The render mode is unknown.
    """

    metadata = METADATA

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = checked_render_mode(render_mode)
        limited = gym.make("CartPole-v1", disable_env_checker=True)
        self._limited = limited
        self.pole: Any = limited.unwrapped
        self.observation_space = Discrete(math.prod(CELLS))
        self.action_space = limited.action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Start an episode; return its first row and the info."""
        super().reset(seed=seed)
        seen, info = self._limited.reset(seed=seed, options=options)
        return row_of(seen.tolist()), {**info, "is_success": False}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Push the cart; return the row, the reward, terminated, truncated and the info."""
        seen, reward, terminated, truncated, info = self._limited.step(checked_action(action, 2))
        info = {**info, "is_success": truncated and not terminated}
        return row_of(seen.tolist()), float(reward), terminated, truncated, info

    def render(self) -> Any:
        """Render the cart's current state; see :func:`~qstep.envs.rendering.rendered`."""
        place, _, angle, _ = (0.0,) * 4 if self.pole.state is None else self.pole.state
        cells = [["."] * _COLUMNS for _ in range(_ROWS)] + [["_"] * _COLUMNS]
        middle = (place / LIMITS[0] + 1.0) * (_COLUMNS - 1) / 2
        for height in range(_ROWS):
            column = round(middle + math.tan(angle) * (height + 1))
            if 0 <= column < _COLUMNS:
                cells[_ROWS - 1 - height][column] = "|"
        cells[_ROWS][min(max(round(middle), 0), _COLUMNS - 1)] = PLAYER
        return rendered(self.render_mode, ["".join(row) for row in cells])

    def close(self) -> None:
        """Close Gymnasium's environment."""
        self._limited.close()


def row_of(numbers: Sequence[float]) -> int:
    """Return the row for a position, velocity, angle and angular velocity; position is most significant.

    Examples
    --------
    >>> row_of([-9.0, -9.0, -9.0, -9.0]), row_of([9.0, 9.0, 9.0, 9.0])
    (0, 2047)
    """
    row = 0
    for k in range(len(CELLS)):  # Numba compiles this too
        cell = int((numbers[k] + LIMITS[k]) / (2 * LIMITS[k]) * CELLS[k])
        row = row * CELLS[k] + min(max(cell, 0), CELLS[k] - 1)
    return row
