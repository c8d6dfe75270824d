"""Letters of maps, and rendering of environments as text or as an image of that text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep.errors import ConfigError
from qstep.spec.checks import shown

__all__ = [
    "FREE",
    "GOAL",
    "HOLE",
    "METADATA",
    "PLAYER",
    "START",
    "WALL",
    "GridMap",
    "checked_render_mode",
    "draw_offscreen",
    "rendered",
]

START, GOAL, HOLE, WALL, FREE = "SGH#."


@dataclass(frozen=True, slots=True)
class GridMap:
    """A map's rows of letters, and the direction of each action as (right, up)."""

    rows: tuple[str, ...]
    moves: tuple[tuple[int, int], ...]


METADATA: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 10}
"""Gymnasium metadata of QStep's environments that are not vector environments."""

PLAYER = "@"
"""Character that marks the walker, the snake's head or the cart."""

PIXELS = 12
"""Side of the square drawn for one character, in pixels."""

_COLOURS = {
    FREE: (238, 238, 238),
    START: (200, 215, 235),
    GOAL: (90, 170, 90),
    HOLE: (70, 70, 80),
    WALL: (130, 130, 140),
    PLAYER: (205, 80, 50),
    "o": (230, 150, 90),
    "*": (90, 170, 90),
    "|": (70, 70, 80),
    "_": (130, 130, 140),
}


def checked_render_mode(render_mode: str | None) -> str | None:
    """Return the render mode; raise ConfigError if it is unknown."""
    modes = METADATA["render_modes"]
    if render_mode is not None and render_mode not in modes:
        raise ConfigError(
            f"render_mode is {shown(render_mode)}; it must be None or one of {', '.join(modes)}"
        )
    return render_mode


def draw_offscreen() -> None:
    """Configure pygame, which Gymnasium uses for drawing, to run without a screen or a banner."""
    for name, value in (("PYGAME_HIDE_SUPPORT_PROMPT", "1"), ("SDL_VIDEODRIVER", "dummy")):
        os.environ.setdefault(name, value)


def rendered(render_mode: str | None, rows: Sequence[str]) -> str | NDArray[np.uint8] | None:
    """Return the result of an environment's `render`.

    Parameters
    ----------
    render_mode : {"ansi", "rgb_array"} or None
    rows : sequence of str
        Rows of equal length, one character per cell.

    Returns
    -------
    str, or ndarray of uint8 of shape (12 * rows, 12 * columns, 3), or None
        The rows, each with a line break; an image of them, with white lines one pixel wide between
        cells; or None if `render_mode` is None.
    """
    if render_mode is None:
        return None
    if render_mode == "ansi":
        return "".join(f"{row}\n" for row in rows)
    cells = np.array([[_COLOURS[cell] for cell in row] for row in rows], np.uint8)
    picture = cells.repeat(PIXELS, axis=0).repeat(PIXELS, axis=1)
    for axis in range(2):
        lines = np.moveaxis(picture, axis, 0)
        lines[::PIXELS] = 255
    return picture
