"""The letters of a map, and the direction of each action on it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FREE", "GOAL", "HOLE", "START", "WALL", "GridMap"]

START, GOAL, HOLE, WALL, FREE = "SGH#."


@dataclass(frozen=True, slots=True)
class GridMap:
    """Rows of letters, and the direction of each action as (right, up)."""

    rows: tuple[str, ...]
    moves: tuple[tuple[int, int], ...]
