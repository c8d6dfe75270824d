"""The maps supplied with :class:`~qstep.envs.gridworld.GridWorld`, and an environment's map."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from qstep.envs.gridworld import GridWorld
from qstep.envs.rendering import GridMap

__all__ = ["MAPS", "map_of"]

_UP, _DOWN, _LEFT, _RIGHT = (0, 1), (0, -1), (-1, 0), (1, 0)

MAPS = {
    "gridworld": """\
S....
H..H.
.....
.H...
..H.G
""",
    "gridworld-8x8": """\
S...H...
.##...#.
.#..H.#.
...##...
.H....H.
.##.#...
.#..#H#.
....H..G
""",
    "gridworld-16x16": """\
S...#.......#...
.##...####..#.#.
.#..#....#....#.
.#.###.H.#.####.
...#.....#......
.#.#.###.####.#.
.#...#.....H..#.
.###.#.###.####.
.....#.#........
.#H#...#.##.#.#.
.#.#.###..#.#.#.
.#...#..#.#...#H
.###.#.##.###.#.
...#...H......#.
.#.####.#.###.#.
.#......#...#..G
""",
    "gridworld-32x32": """\
S#.....#...#H..........#...#...#
.#.#.#.#.#.#####.#####.#.#.#.#.#
.#.#.#...#...#...#.........#.#..
.###.#######.#.#.#.###.#.#.#.#..
.#.......#.......#.#.#...#.#.#..
.#.###.#.#.#.#.###.#.###.#.#.#.#
.....#.....#.....#.#.....#...#.#
.#.#.#.#####.###.#.###.#.#.#.#..
.#H#.#.#.....#.#.#.....#.....#.#
.###.###.#####.#.#.#.#########.#
...#...#.#H........#.#.....#....
##.#.#.#.#####.#.###.#.###.#.#..
.....#.#.#.....#.....#.#.#...#.#
.###.#.#.#.#######.#.#.#.#####..
.....#...#.....#...#.#...#......
.#####.#######.#.###.#.#.#.#.#H.
.....#.....#...#.......#.......#
####.#.#.#.#.#.###.###.#####.##.
##H#.#.#.....#.......#.....#....
##.#.#.#.#####.#####.#####.###..
...#.....#.#....H........#...#.#
.#.#.#.#.#.#.#.#######.#.###.#..
.#...#.....#.#.....#......H#.#..
.#.#.#####.#.#####.#.###.###.#.#
...#...#.........#...#H..#...#.#
.#.#H#.#.#.#.#.#.###.#####.###.H
...#.#.#...#...#...#...#...#.#.#
##.#.#.#####.#.###.###.#.###.#..
H#.#...#...#H#...#.#.....#...#.#
.#.#.#.#.#.###H#.#.#.###.#H#.#..
.....#...#.....#...#.....###....
H##H####.#H##..H#####....H#H...G
""",
}
"""Map text by environment name."""


def map_of(env: gym.Env[Any, Any]) -> GridMap | None:
    """Return an environment's map if its states are the map's cells, row by row; otherwise None."""
    inner = env.unwrapped
    if isinstance(inner, GridWorld):
        return GridMap(inner.rows, (_UP, _DOWN, _LEFT, _RIGHT))
    description = getattr(inner, "desc", None)
    if type(inner).__name__ == "FrozenLakeEnv" and description is not None:
        rows = tuple(b"".join(row).decode().replace("F", ".") for row in description)
        return GridMap(rows, (_LEFT, _DOWN, _RIGHT, _UP))
    if type(inner).__name__ == "CliffWalkingEnv":
        rows = ("............",) * 3 + ("SHHHHHHHHHHG",)
        return GridMap(rows, (_UP, _RIGHT, _DOWN, _LEFT))
    return None
