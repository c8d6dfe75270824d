"""Shared by `Snake` and `SnakeVectorEnv`: the numbers of the game, and its checks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, TypeAlias, get_args

from qstep.errors import EnvironmentSpaceError

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
    "STATES",
    "TURNS",
    "Cell",
    "Observation",
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
    """Return the kind of observation; raises EnvironmentSpaceError if it does not exist."""
    kinds = get_args(Observation)
    if observation not in kinds:
        raise EnvironmentSpaceError(
            f"observation is {observation!r}; it must be one of {', '.join(kinds)}"
        )
    return observation


def checked_placement(body: Sequence[Cell], food: Cell) -> int:
    """Return the direction of a snake; raises EnvironmentSpaceError if it or its food is impossible."""
    if len(body) < START_LENGTH:
        raise EnvironmentSpaceError(
            f"the body has {len(body)} cells; it must have {START_LENGTH} to {SIDE * SIDE - 1}"
        )
    for cell in (*body, food):
        if not all(0 <= k < SIDE for k in cell):
            raise EnvironmentSpaceError(
                f"cell {cell} is off the grid; row and column are from 0 to {SIDE - 1}"
            )
    steps = [(a[0] - b[0], a[1] - b[1]) for a, b in pairwise(body)]
    for k, step in enumerate(steps):
        if step not in MOVES:
            raise EnvironmentSpaceError(
                f"the body goes from {body[k]} to {body[k + 1]}; its cells must be side by side"
            )
    for k, cell in enumerate((*body, food)):
        if cell in body[:k]:
            what = "the food" if k == len(body) else "the body a second time"
            raise EnvironmentSpaceError(f"cell {cell} holds the body and {what}; only one fits")
    return MOVES.index(steps[0])
