"""The ports of a board's top module and the pins they go to."""

from __future__ import annotations

from qstep_fpga.board import Board, Pin

__all__ = ["ports"]


def ports(board: Board) -> list[tuple[str, Pin]]:
    """Return every port of the top module with its pin."""
    high = [(f"high{index}", Pin(at)) for index, at in enumerate(board.high)]
    return [*board.pins.items(), *high]
