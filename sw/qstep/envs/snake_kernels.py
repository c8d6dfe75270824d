"""The compiled part of `SnakeVectorEnv`: the rules of `Snake` for many games, without allocation.

A grid is 12 x 12 bytes with a border of ones, so one test covers border and body. A cell is identified
by its index in that grid, ``12 * row + column``, border included. A body is stored in a ring buffer,
from position `head` back to ``head - length + 1``, modulo the ring's size.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from qstep._io.compiled import compiled
from qstep.envs.snake import (
    ACTIONS,
    DIRECTION_FEATURE,
    FEATURES,
    MARGIN,
    MOVES,
    PATIENCE,
    REWARD_DEATH,
    REWARD_FOOD,
    SIDE,
    START_LENGTH,
    TURNS,
)
from qstep.envs.splitmix_kernels import below

__all__ = ["ARRAYS", "PITCH", "RING", "SCRATCH", "move", "observe", "restart", "row", "step"]

PITCH = SIDE + 2
"""Distance from one row of the grid to the next."""

RING = 128
"""Size of a ring: a power of two, large enough for any body."""


class Snakes(NamedTuple):
    """The state of N snakes, and the scratch arrays listed in :data:`SCRATCH`."""

    word: NDArray[np.uint64]
    """Generator words, shape (N,), like all arrays but `grid`, `ring`, `marks` and `stack`."""
    grid: NDArray[np.uint8]
    """1 in border and body cells, shape (N, 144)."""
    ring: NDArray[np.uint8]
    """Cells of the body, shape (N, 128)."""
    head: NDArray[np.int64]
    """Position of the head in the ring."""
    length: NDArray[np.int64]
    direction: NDArray[np.int64]
    hunger: NDArray[np.int64]
    """Steps since the last food."""
    food: NDArray[np.int64]
    """Cell of the food, or 0 (a border cell) if the game is won."""
    score: NDArray[np.int64]
    """Food eaten in the episode up to and including the last step, which may have ended it."""
    marks: NDArray[np.uint8]
    """The grid of one game, with the cells reached by the flood fill marked, shape (144,)."""
    stack: NDArray[np.int64]
    """Reached cells from which the fill must still continue, shape (144,)."""

    @classmethod
    def empty(cls, num_envs: int) -> Self:
        """Return games in which no episode has begun yet."""
        cells = PITCH * PITCH
        numbers = ("head", "length", "direction", "hunger", "food", "score")
        return cls(
            word=np.zeros(num_envs, np.uint64),
            grid=np.zeros((num_envs, cells), np.uint8),
            ring=np.zeros((num_envs, RING), np.uint8),
            **{name: np.zeros(num_envs, np.int64) for name in numbers},
            marks=np.zeros(cells, np.uint8),
            stack=np.zeros(cells, np.int64),
        )


ARRAYS = Snakes

SCRATCH = ("score", "marks", "stack")

_OFFSETS = tuple(PITCH * down + right for down, right in MOVES)
_FOOD_FEATURE = ACTIONS + len(MOVES)


@compiled
def _feed(snakes, i):  # type: ignore[no-untyped-def]
    """Put food on a random free cell of game `i`; `food` becomes 0 if no cell is free."""
    snakes.food[i] = 0
    free = SIDE * SIDE - snakes.length[i]
    if free == 0:
        return
    left = below(snakes.word, i, free)
    for cell in range(PITCH * PITCH):
        if snakes.grid[i, cell] == 0:
            if left == 0:
                snakes.food[i] = cell
                return
            left -= 1


@compiled
def restart(snakes, i):  # type: ignore[no-untyped-def]
    """Begin an episode in game `i`."""
    grid = snakes.grid[i]
    for cell in range(PITCH * PITCH):
        row, column = cell // PITCH, cell % PITCH
        grid[cell] = row == 0 or row > SIDE or column == 0 or column > SIDE
    start = below(snakes.word, i, 64)
    direction = start % 4
    head = (1 + MARGIN + start // 16) * PITCH + 1 + MARGIN + start // 4 % 4
    for k in range(START_LENGTH):
        cell = head - k * _OFFSETS[direction]
        grid[cell] = 1
        snakes.ring[i, START_LENGTH - 1 - k] = cell
    snakes.head[i] = START_LENGTH - 1
    snakes.length[i] = START_LENGTH
    snakes.direction[i] = direction
    snakes.hunger[i] = 0
    _feed(snakes, i)


@compiled
def _flood(snakes, grid, head, direction, free, shares):  # type: ignore[no-untyped-def]
    """Write, for each action, the share of the `free` cells connected to the cell that it enters.

    A reached cell is marked with 2 + action. Two actions often enter the same region; the second then
    reuses the share of the first.
    """
    marks, stack = snakes.marks, snakes.stack
    for cell in range(PITCH * PITCH):
        marks[cell] = grid[cell]
    for action in range(ACTIONS):
        cell = head + _OFFSETS[(direction + TURNS[action]) & 3]
        if marks[cell] == 1:
            shares[action] = 0.0
            continue
        if marks[cell] >= 2:
            shares[action] = shares[marks[cell] - 2]
            continue
        marks[cell] = 2 + action
        stack[0] = cell
        top = 1
        count = 0
        while top > 0:
            top -= 1
            count += 1
            cell = stack[top]
            for offset in _OFFSETS:
                beside = cell + offset
                if marks[beside] == 0:
                    marks[beside] = 2 + action
                    stack[top] = beside
                    top += 1
        shares[action] = count / free


@compiled
def row(snakes, i):  # type: ignore[no-untyped-def]
    """Return the state of game `i`: its features as one number."""
    grid, ring = snakes.grid[i], snakes.ring[i]
    head = np.int64(ring[snakes.head[i]])
    tail = np.int64(ring[(snakes.head[i] - snakes.length[i] + 1) & (RING - 1)])
    direction, food = snakes.direction[i], snakes.food[i]
    seen = np.int64(1) << DIRECTION_FEATURE[direction]
    for action in range(ACTIONS):
        cell = head + _OFFSETS[(direction + TURNS[action]) & 3]
        if cell != tail:  # the tail moves on before the head arrives
            seen |= np.int64(grid[cell]) << action
    if food:
        line, column = head // PITCH, head % PITCH
        to_line, to_column = food // PITCH, food % PITCH
        towards = (to_column < column, to_column > column, to_line < line, to_line > line)
        for k in range(4):
            seen |= np.int64(towards[k]) << (_FOOD_FEATURE + k)
    return seen


@compiled
def observe(snakes, i, shown):  # type: ignore[no-untyped-def]
    """Write the observation of game `i`: the state, and as many features as `shown` has columns."""
    state, features = shown
    seen = row(snakes, i)
    state[i] = seen
    width = features.shape[1]
    for k in range(min(width, FEATURES)):
        features[i, k] = (seen >> k) & 1
    if width > FEATURES:
        grid, ring = snakes.grid[i], snakes.ring[i]
        head = np.int64(ring[snakes.head[i]])
        tail = np.int64(ring[(snakes.head[i] - snakes.length[i] + 1) & (RING - 1)])
        free = SIDE * SIDE - (snakes.length[i] - 1)
        grid[tail] = 0  # it moves on before the head arrives
        _flood(snakes, grid, head, snakes.direction[i], free, features[i, FEATURES:])
        grid[tail] = 1


@compiled(inline="always")
def move(snakes, i, action):  # type: ignore[no-untyped-def]
    """Move the snake of game `i`; return the reward, terminated and truncated."""
    grid, ring = snakes.grid[i], snakes.ring[i]
    direction = (snakes.direction[i] + TURNS[action]) & 3
    cell = np.int64(ring[snakes.head[i]]) + _OFFSETS[direction]
    tail = np.int64(ring[(snakes.head[i] - snakes.length[i] + 1) & (RING - 1)])
    if grid[cell] and cell != tail:
        return REWARD_DEATH, True, False
    snakes.direction[i] = direction
    snakes.head[i] = (snakes.head[i] + 1) & (RING - 1)
    ring[snakes.head[i]] = cell
    if cell == snakes.food[i]:
        grid[cell] = 1
        snakes.length[i] += 1
        snakes.hunger[i] = 0
        _feed(snakes, i)
        return REWARD_FOOD, snakes.food[i] == 0, False
    grid[tail] = 0
    grid[cell] = 1
    snakes.hunger[i] += 1
    return 0.0, False, snakes.hunger[i] >= PATIENCE * snakes.length[i]


@compiled
def step(snakes, actions, shown, out):  # type: ignore[no-untyped-def]
    """Step every game, and restart those whose episodes end; see `qstep.envs.vector`."""
    state, features = shown
    next_state, next_features = out.next_shown
    for i in range(len(actions)):
        out.reward[i], out.terminated[i], out.truncated[i] = move(snakes, i, actions[i])
        snakes.score[i] = snakes.length[i] - START_LENGTH
        observe(snakes, i, out.next_shown)
        if out.terminated[i] or out.truncated[i]:
            restart(snakes, i)
            observe(snakes, i, shown)
        else:
            state[i] = next_state[i]
            for k in range(features.shape[1]):
                features[i, k] = next_features[i, k]
