"""`GridWorld`: an environment whose walker moves over a text map one cell at a time."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple, Self

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from qstep._io.files import read_text
from qstep.envs.checked import checked_action
from qstep.envs.rendering import (
    FREE,
    GOAL,
    HOLE,
    METADATA,
    PLAYER,
    START,
    WALL,
    checked_render_mode,
    rendered,
)
from qstep.errors import FileFormatError, WorldError
from qstep.spec.checks import shown

__all__ = ["DeterministicModel", "GridWorld"]

MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))
"""Row and column offsets of the actions up, down, left and right."""

MAX_CELLS = 65536

_MOST_BYTES = 1 << 19
"""Maximum size of a map file in bytes: enough for one cell per line, in UTF-16."""

MOST_STEPS = 65535
"""Maximum number of steps per episode that a device can count."""


class DeterministicModel(NamedTuple):
    """A transition model with S states, A actions and one outcome per action.

    Attributes
    ----------
    next_state : ndarray of int32, shape (S, A)
        Next state of each state and action, 0..S-1.
    reward : ndarray of float64, shape (S, A)
        Reward for entering the next state.
    terminated : ndarray of bool, shape (S, A)
        True if the episode terminates in the next state, which then has no value.
    start : int
        Start state of every episode.
    """

    next_state: NDArray[np.int32]
    reward: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    start: int


class GridWorld(gym.Env[Any, Any]):
    """A walker must reach the goal of a map and avoid its holes.

    **Map.** A rectangle of text, one character per cell: ``S`` start (exactly one), ``G`` goal (one or
    more), ``H`` hole, ``#`` wall, ``.`` free; 2 to 65536 cells.

    **Observation.** ``Discrete(rows * columns)``: the walker's cell, ``row * columns + column``,
    counted from the upper left corner.

    **Actions.** ``Discrete(4)``: 0 up, 1 down, 2 left, 3 right. A step off the map or into a wall
    leaves the walker in place. Moves are deterministic.

    **Reward**, given on entering a cell: goal +1, hole `hole_reward`, any other cell -1 (also for
    staying in place). `hole_reward` is -5 on maps of at most 25 cells and -100 on larger ones, where a
    hole at -5 would cost less than the path to the goal.

    **End.** Entering the goal or a hole terminates the episode. Otherwise it is truncated after
    `step_cap` steps: 4 per cell of the map, but at most 65535.

    **Start.** Every episode starts in cell ``S``. Nothing is random, so the seed has no effect.

    Parameters
    ----------
    text : str
        The map.
    source : str
        Name of the map in error messages, for example the path of its file.
    render_mode : {None, "ansi", "rgb_array"}
        Result of :meth:`render`: None, the map with ``@`` for the walker, or an image of it.

    Raises
    ------
    WorldError
        The text is not a map; the message names the line and the column, both counted from 1.
    ConfigError
        The render mode is unknown.

    Examples
    --------
    >>> world = GridWorld("S.G")
    >>> world.reset()
    (0, {})
    >>> world.step(3), world.step(3)
    ((1, -1.0, False, False, {}), (2, 1.0, True, False, {}))
    """

    metadata = METADATA

    def __init__(self, text: str, source: str = "map", render_mode: str | None = None) -> None:
        self.render_mode = checked_render_mode(render_mode)
        if not isinstance(text, str):
            raise WorldError(f"{source} is {shown(text)}; it must be text, one line for each row")
        self.rows = _parse(text, source)
        self.shape = (len(self.rows), len(self.rows[0]))
        cells = "".join(self.rows)
        self.start = cells.index(START)
        self.hole_reward = -5.0 if len(cells) <= 25 else -100.0
        self.step_cap = min(4 * len(cells), MOST_STEPS)
        self.observation_space = Discrete(len(cells))
        self.action_space = Discrete(len(MOVES))
        self._model = _model(cells, self.start, self.shape, self.hole_reward)
        # Element access is three times as fast in lists as in arrays.
        self._next, self._reward, self._terminated = (array.tolist() for array in self._model[:3])
        self._state = self.start
        self._steps = 0

    @classmethod
    def from_file(cls, path: str | Path, render_mode: str | None = None) -> Self:
        """Read a map from a text file.

        Raises
        ------
        FileFormatError
            The file cannot be read as text.
        WorldError
            The text is not a map.
        """
        try:
            text = read_text(path, _MOST_BYTES)
        except FileNotFoundError as cause:
            raise FileFormatError(f"{path}: no such file") from cause
        except (OSError, ValueError, TypeError) as cause:
            raise FileFormatError(f"{path}: cannot be read as a map: {cause}") from cause
        return cls(text, str(path), render_mode)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Put the walker at the start; return its cell and an empty dictionary."""
        super().reset(seed=seed)
        self._state = self.start
        self._steps = 0
        return self._state, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Move; return the walker's cell, the reward, terminated, truncated and an empty dictionary."""
        action = checked_action(action, len(MOVES))
        state = self._state
        self._state = self._next[state][action]
        self._steps += 1
        terminated = self._terminated[state][action]
        truncated = not terminated and self._steps >= self.step_cap
        return self._state, self._reward[state][action], terminated, truncated, {}

    def render(self) -> Any:
        """Render the current map; see :func:`~qstep.envs.rendering.rendered`."""
        cells = list("".join(self.rows))
        cells[self._state] = PLAYER
        width = self.shape[1]
        rows = ["".join(cells[at : at + width]) for at in range(0, len(cells), width)]
        return rendered(self.render_mode, rows)

    def deterministic_model(self) -> DeterministicModel:
        """Return a copy of the transition model.

        A cell that cannot be left (goal, hole, wall) is absorbing: it leads to itself with reward 0,
        and the episode terminates.
        """
        next_state, reward, terminated, start = self._model
        return DeterministicModel(next_state.copy(), reward.copy(), terminated.copy(), start)


def _parse(text: str, source: str) -> tuple[str, ...]:
    rows = tuple(re.split(r"\r\n|\r|\n", text))
    if len(rows) > 1 and not rows[-1]:
        rows = rows[:-1]  # the text ends with a line break
    if not rows[0]:
        raise WorldError(f"{source}, line 1, column 1: the map is empty")
    width = len(rows[0])
    for line, row in enumerate(rows, start=1):
        wrong = re.search(f"[^{START}{GOAL}{HOLE}{WALL}{FREE}]", row)
        if wrong is not None:
            raise WorldError(
                f"{source}, line {line}, column {wrong.start() + 1}: {wrong[0]!r} is not a cell; S is "
                "start, G goal, H hole, # wall, . free"
            )
        if len(row) != width:
            raise WorldError(
                f"{source}, line {line}, column {min(len(row), width) + 1}: the line has {len(row)} "
                f"cells and line 1 has {width}; all lines must have the same length"
            )
    cells = "".join(rows)
    second = cells.find(START, cells.find(START) + 1)
    if second > 0:
        line, column = divmod(second, width)
        raise WorldError(
            f"{source}, line {line + 1}, column {column + 1}: another start S; a map has exactly one"
        )
    end = f"{source}, line {len(rows)}, column {width}"
    for needed, name in ((START, "start S"), (GOAL, "goal G")):
        if needed not in cells:
            raise WorldError(f"{end}: the map ends without a {name}")
    if len(cells) > MAX_CELLS:
        raise WorldError(f"{end}: the map has {len(cells)} cells; at most {MAX_CELLS} fit")
    return rows


def _model(
    cells: str, start: int, shape: tuple[int, int], hole_reward: float
) -> DeterministicModel:
    height, width = shape
    kind = np.array(list(cells))
    row, column = np.divmod(np.arange(len(cells)), width)
    up_down, left_right = np.array(MOVES).T
    to_row = row[:, None] + up_down
    to_column = column[:, None] + left_right
    inside = (to_row >= 0) & (to_row < height) & (to_column >= 0) & (to_column < width)
    stay = np.arange(len(cells))[:, None]
    entered = np.where(inside, to_row * width + to_column, stay)
    absorbing = np.isin(kind, (GOAL, HOLE, WALL))[:, None]
    next_state = np.where(absorbing | (kind[entered] == WALL), stay, entered)
    to = kind[next_state]
    reward = np.select([to == GOAL, to == HOLE], [1.0, hole_reward], -1.0)
    return DeterministicModel(
        next_state.astype(np.int32),
        np.where(absorbing, 0.0, reward),
        absorbing | np.isin(to, (GOAL, HOLE)),
        start,
    )
