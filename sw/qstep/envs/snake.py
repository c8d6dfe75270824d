"""`Snake`: the readable definition of the game; `SnakeVectorEnv` is the fast version."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, TypeAlias, get_args

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Discrete

from qstep.envs.checked import checked_action
from qstep.envs.rendering import METADATA, PLAYER, checked_render_mode, rendered
from qstep.envs.splitmix import SplitMix64
from qstep.errors import ConfigError, EpisodeError
from qstep.spec.checks import one_of

__all__ = [
    "ACTIONS",
    "DIRECTION_FEATURE",
    "FEATURES",
    "FLOOD_FEATURES",
    "MARGIN",
    "MOVES",
    "PATIENCE",
    "REWARD_DEATH",
    "REWARD_FOOD",
    "SIDE",
    "START_LENGTH",
    "TURNS",
    "Cell",
    "Observation",
    "Snake",
    "checked_placement",
]

Cell: TypeAlias = tuple[int, int]
"""Row and column, counted from the upper left corner."""

Observation: TypeAlias = Literal["state", "features", "flood"]

SIDE = 10
START_LENGTH = 3
MARGIN = 3
"""Minimum number of free cells between the head and the border at the start."""

PATIENCE = 100
"""Number of steps without food, per body cell, after which an episode is truncated."""

REWARD_FOOD = 10.0
REWARD_DEATH = -10.0

MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))
"""Row and column offsets of the directions right, down, left and up (clockwise)."""

TURNS = (0, 1, -1)
"""Change of direction for the actions straight, right and left."""

ACTIONS = len(TURNS)
FEATURES = 11
FLOOD_FEATURES = FEATURES + ACTIONS
STATES = 1 << FEATURES

DIRECTION_FEATURE = (4, 6, 3, 5)
"""For each direction, the index of the feature that is 1 if the snake heads in this direction."""

_CELLS = [(row, column) for row in range(SIDE) for column in range(SIDE)]


class Snake(gym.Env[Any, Any]):
    """A snake looks for food, grows when it eats, and must not run into the border or itself.

    **Grid.** 10 x 10 cells. One cell contains food; the body covers 3 or more cells.

    **Actions.** ``Discrete(3)``, relative to the snake's heading: 0 straight, 1 right, 2 left.

    **Step.** The head moves one cell. If the new cell contains food, the snake grows: its tail stays and
    new food appears. Otherwise, the tail moves first, so the head may enter the cell that the tail
    leaves.

    **Reward.** Food +10, death -10, any other step 0.

    **End.** Moving into the border or the body kills the snake: the episode terminates and the grid is
    unchanged. If the snake eats and no free cell remains, the game is won: the episode terminates with
    reward +10. An episode is truncated after 100 steps without food per body cell.

    **Start.** A straight snake of length 3. Its direction and the position of its head, at least 3 free
    cells from every border, are uniformly random. Food is placed uniformly over the free cells.

    **Observation.** Selected by `observation`:

    - ``"features"``: ``Box(0, 1, (11,), float32)``, each 0 or 1: whether moving straight, right or left
      kills the snake; whether it heads left, right, up or down; and whether the food is to the left of
      the head, to the right of it, above it or below it.
    - ``"state"``: ``Discrete(2048)``: the same features as an integer, with feature k in bit k.
    - ``"flood"``: ``Box(0, 1, (14,), float32)``: the 11 features, followed by the share of free cells
      that the head could still reach after moving straight, right or left. The share is 0 if the move
      kills the snake, and 1 if no cell is cut off. A cell is free unless the old body, without its tail,
      covers it. The entered cell counts as reached.

    **Info.** ``score``: food eaten in this episode.

    **Chance.** All draws come from :class:`~qstep.envs.splitmix.SplitMix64`. A reset draws
    ``below(64)``, which is ``(4 * row + column) * 4 + direction``, with the head's row and column minus
    3. The food is then placed in the free cell with the index ``below(free cells)``, counted row by row;
    the same draw follows each time the snake eats. A reset without a seed continues the same stream.

    Parameters
    ----------
    observation : {"features", "state", "flood"}
    render_mode : {None, "ansi", "rgb_array"}
        Result of :meth:`render`: None, the grid with ``@`` for the head, ``o`` for the rest of the
        snake and ``*`` for the food, or an image of it.

    Attributes
    ----------
    body : deque of (row, column)
        Cells from head to tail.
    direction : int
        0 right, 1 down, 2 left, 3 up.
    food : (row, column) or None
        None only when the game is won.

    Raises
    ------
    ConfigError
        `observation` or `render_mode` is not one of the values above.

    Examples
    --------
    >>> snake = Snake("state")
    >>> state, info = snake.reset(seed=0)
    >>> snake.place([(5, 5), (5, 4), (5, 3)], food=(5, 6))
    272
    >>> snake.step(0)[1:]
    (10.0, False, False, {'score': 1})
    """

    metadata = METADATA

    def __init__(
        self, observation: Observation = "features", render_mode: str | None = None
    ) -> None:
        self.render_mode = checked_render_mode(render_mode)
        one_of("observation", observation, get_args(Observation))
        self.kind = observation
        width = FLOOD_FEATURES if observation == "flood" else FEATURES
        self.observation_space = (
            Discrete(STATES) if observation == "state" else Box(0.0, 1.0, (width,), np.float32)
        )
        self.action_space = Discrete(ACTIONS)
        self.body: deque[Cell] = deque()
        self.direction = 0
        self.food: Cell | None = None
        self._chance: SplitMix64 | None = None
        self._hunger = 0
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; return the observation and the info.

        Parameters
        ----------
        seed : int, optional
            0..2^64-1; if no seed was ever given, the operating system provides one.
        options : dict, optional
            Not used.
        """
        if seed is not None:
            self._chance = SplitMix64(seed)
        super().reset(seed=seed)
        start = self.chance.below(64)
        self.direction = start % 4
        row, column = MARGIN + start // 16, MARGIN + start // 4 % 4
        down, right = MOVES[self.direction]
        self.body = deque((row - k * down, column - k * right) for k in range(START_LENGTH))
        self.food = self._new_food()
        self._hunger = 0
        self._over = False
        return self._observe(), self._info()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Move the snake; return the observation, the reward, terminated, truncated and the info.

        Raises
        ------
        EnvironmentSpaceError
            The action is not 0, 1 or 2.
        EpisodeError
            The episode is over.
        """
        action = checked_action(action, ACTIONS)
        if self._over:
            raise EpisodeError("the episode is over; call reset before the next step")
        cell = self._target(action)
        if self._deadly(cell):
            self._over = True
            return self._observe(), REWARD_DEATH, True, False, self._info()
        self.direction = (self.direction + TURNS[action]) % 4
        self.body.appendleft(cell)
        reward = 0.0
        if cell == self.food:
            reward = REWARD_FOOD
            self.food = self._new_food()
            self._hunger = 0
        else:
            self.body.pop()
            self._hunger += 1
        won = self.food is None
        truncated = self._hunger >= PATIENCE * len(self.body)
        self._over = won or truncated
        return self._observe(), reward, won, truncated, self._info()

    def render(self) -> Any:
        """Render the current grid; see :func:`~qstep.envs.rendering.rendered`."""
        cells = dict.fromkeys(self.body, "o")
        if self.body:
            cells[self.body[0]] = PLAYER
        if self.food is not None:
            cells[self.food] = "*"
        rows = [
            "".join(cells.get((row, column), ".") for column in range(SIDE)) for row in range(SIDE)
        ]
        return rendered(self.render_mode, rows)

    def place(self, body: Sequence[Cell], food: Cell) -> Any:
        """Place the snake and the food, continue from there, and return the observation.

        Parameters
        ----------
        body : sequence of (row, column)
            At least 3 cells from head to tail, each adjacent to the previous one. The snake heads away
            from its second cell.
        food : (row, column)

        Raises
        ------
        ConfigError
            The body is not a legal snake, or the food is on it or off the grid.
        """
        self.direction = checked_placement(body, food)
        self.body = deque(body)
        self.food = food
        self._hunger = 0
        self._over = False
        return self._observe()

    @property
    def chance(self) -> SplitMix64:
        """The stream of all draws; until a reset has a seed, the operating system provides one."""
        if self._chance is None:
            self._chance = SplitMix64(int(self.np_random.integers(1 << 63)))
        return self._chance

    def _new_food(self) -> Cell | None:
        covered = set(self.body)
        free = [cell for cell in _CELLS if cell not in covered]
        return free[self.chance.below(len(free))] if free else None

    def _target(self, action: int) -> Cell:
        """Return the cell that an action leads to, on or off the grid."""
        down, right = MOVES[(self.direction + TURNS[action]) % 4]
        row, column = self.body[0]
        return row + down, column + right

    def _deadly(self, cell: Cell) -> bool:
        row, column = cell
        inside = 0 <= row < SIDE and 0 <= column < SIDE
        return not inside or (cell in self.body and cell != self.body[-1])

    def _observe(self) -> Any:
        seen = self._features()
        if self.kind == "state":
            return sum(bit << k for k, bit in enumerate(seen))
        if self.kind == "flood":
            return np.array(seen + self._flood(), np.float32)
        return np.array(seen, np.float32)

    def _features(self) -> list[Any]:
        dangers = [int(self._deadly(self._target(action))) for action in range(ACTIONS)]
        heading = [0] * 4
        heading[DIRECTION_FEATURE[self.direction] - ACTIONS] = 1
        row, column = self.body[0]
        # Without food, all four features are 0.
        to_row, to_column = self.food or (row, column)
        food = [to_column < column, to_column > column, to_row < row, to_row > row]
        return dangers + heading + [int(there) for there in food]

    def _flood(self) -> list[float]:
        free = set(_CELLS).difference(self.body) | {self.body[-1]}
        return [_reachable(self._target(action), free) / len(free) for action in range(ACTIONS)]

    def _info(self) -> dict[str, Any]:
        return {"score": len(self.body) - START_LENGTH}


def _reachable(start: Cell, free: set[Cell]) -> int:
    """Count the free cells connected to `start`, itself included, by breadth-first search."""
    queue = deque([start] if start in free else [])
    seen = set(queue)
    while queue:
        row, column = queue.popleft()
        for down, right in MOVES:
            cell = row + down, column + right
            if cell in free and cell not in seen:
                seen.add(cell)
                queue.append(cell)
    return len(seen)


def checked_placement(body: Sequence[Cell], food: Cell) -> int:
    """Return the direction of a snake; raise ConfigError if the snake or its food is illegal."""
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
