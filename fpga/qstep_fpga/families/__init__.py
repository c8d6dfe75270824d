"""Chip families: how designs for each family are synthesised, placed and packed."""

from __future__ import annotations

from qstep_fpga.board import Board
from qstep_fpga.families.base import Family
from qstep_fpga.families.ecp5.family import ECP5
from qstep_fpga.families.gowin import Gowin
from qstep_fpga.families.ice40 import ICE40

__all__ = ["FAMILIES", "Family", "bitstream_name"]

FAMILIES: dict[str, Family] = {"ecp5": ECP5(), "gowin": Gowin(), "ice40": ICE40()}
"""Chip families by name, as used in board files."""


def bitstream_name(board: Board) -> str:
    """Return the file name of a board's bitstream."""
    return f"{board.name}{FAMILIES[board.family].bitstream}"
