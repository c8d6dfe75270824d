"""The PLL of a board: its tool takes the nearest rate it can make, a build insists on the very one."""

from __future__ import annotations

import re
from pathlib import Path

from qstep.config import Config
from qstep.errors import BuildError
from qstep_fpga import tools
from qstep_fpga.board import Board
from qstep_fpga.families import FAMILIES

__all__ = ["PLL", "check_rate", "make", "pll_command"]

PLL = "pll.v"
"""File of the module ``pll``."""

_ROUNDING_HZ = 500


def pll_command(board: Board, config: Config) -> list[str]:
    """Return the command that writes :data:`PLL`."""
    return FAMILIES[board.family].pll(board, config.link.clock_hz, PLL)


def make(board: Board, config: Config, folder: Path) -> None:
    """Write :data:`PLL` to `folder`; raises as :func:`check_rate` does."""
    tools.run(pll_command(board, config), folder)
    check_rate(board, config, (folder / PLL).read_text(encoding="utf-8"))


def check_rate(board: Board, config: Config, written: str) -> None:
    """Raise BuildError if the PLL makes another rate than ``link.clock_hz``.

    Parameters
    ----------
    board : Board
    config : Config
    written : str
        What the tool of the board's family wrote.

    Notes
    -----
    The tools name the rate with three digits after the point, in MHz (ecppll with six in all, which is
    no coarser below 1 GHz). So what differs by no more than half a kilohertz counts as the same: that
    is 11 millionths of the slowest board's clock, less than its oscillator is off.
    """
    found = re.search(FAMILIES[board.family].pll_rate, written)
    if found is None:
        raise BuildError(f"the tool that writes the PLL of {board.title} does not say its rate")
    made, asked = float(found[1]), config.link.clock_hz
    if abs(round(made * 1e6) - asked) > _ROUNDING_HZ:
        raise BuildError(
            f"the PLL of {board.title} makes {made:g} MHz of its {board.clock_hz / 1e6:g} MHz, where "
            f"link.clock_hz asks for {asked / 1e6:g} MHz; to have it as it is, set link.clock_hz = "
            f"{round(made * 1e6):_}"
        )
