"""The points of a sweep: every combination of the requested values."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from qstep.errors import ConfigError
from qstep.spec.config import Config
from qstep.spec.fixed import QFormat
from qstep_fpga.board import Board

__all__ = ["Point", "Refused", "describe", "grid"]


@dataclass(frozen=True)
class Point:
    """A configuration on a board."""

    board: Board
    config: Config

    def __str__(self) -> str:
        config = self.config
        sizes = (config.states, config.actions, config.format.width, config.loop_depth)
        return describe(self.board.name, *sizes)


@dataclass(frozen=True)
class Refused:
    """A point that has no figures, with the reason."""

    point: str
    reason: str


def describe(board: str, states: int, actions: int, width: int, loop_depth: int) -> str:
    """Return the name of a point."""
    return f"{board}: {states} x {actions}, {width} bit, loop depth {loop_depth}"


def grid(
    boards: Sequence[Board],
    states: Sequence[int] = (),
    actions: Sequence[int] = (),
    widths: Sequence[int] = (),
    loop_depths: Sequence[int] = (),
) -> list[Point | Refused]:
    """Return every combination of values, with illegal configurations as `Refused`.

    Parameters
    ----------
    boards : sequence of Board
    states, actions, widths, loop_depths : sequence of int
        Values to combine; by default the board's. Half of the bits are fraction bits, because the
        position of the binary point does not affect the hardware.
    """
    points: list[Point | Refused] = []
    for board in boards:
        own = board.config
        axes = (
            states or [own.states],
            actions or [own.actions],
            widths or [own.format.width],
            loop_depths or [own.loop_depth],
        )
        for sizes in itertools.product(*(dict.fromkeys(axis) for axis in axes)):
            rows, columns, width, loop_depth = sizes
            try:
                chosen = QFormat(width - width // 2, width // 2) if widths else own.format
                config = replace(
                    own, states=rows, actions=columns, format=chosen, loop_depth=loop_depth
                )
            except ConfigError as cause:
                points.append(Refused(describe(board.name, *sizes), str(cause)))
            else:
                points.append(Point(board, config))
    return points
