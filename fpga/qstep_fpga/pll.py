"""The PLL of a board: its tool chooses the nearest possible rates, but a build requires exact rates."""

from __future__ import annotations

import re
from pathlib import Path

from qstep.errors import BuildError
from qstep.spec.config import Config
from qstep_fpga import tools
from qstep_fpga.board import Board
from qstep_fpga.families import FAMILIES
from qstep_fpga.pin_wrapper import LANES_OUTPUT
from qstep_rtl.crossing import lanes_clock

__all__ = ["PLL", "check_rates", "make", "pll_command"]

PLL = "pll.v"
"""File of the module ``pll``."""

_ROUNDING_HZ = 500


def pll_command(board: Board, config: Config) -> list[str]:
    """Return the command that writes :data:`PLL`.

    Raises
    ------
    BuildError
        The lanes have a separate clock, but the family's PLL generates only one clock.
    """
    rates = {output: clock_hz for output, (_, clock_hz) in _outputs(config).items()}
    if not rates.keys() <= FAMILIES[board.family].pll_rates.keys():
        raise BuildError(
            f"acting.clock_hz is {config.lane_clock_hz}; the PLL of {board.title} generates one "
            "clock, so lanes run on the link's clock: leave it out"
        )
    return FAMILIES[board.family].pll(board, rates, PLL)


def _outputs(config: Config) -> dict[str, tuple[str, int]]:
    """Return, for each output of the PLL, the field that sets it and its rate in hertz."""
    outputs = {"clock_out": ("link.clock_hz", config.link.clock_hz)}
    if lanes_clock(config):
        outputs[LANES_OUTPUT] = "acting.clock_hz", config.lane_clock_hz
    return outputs


def make(board: Board, config: Config, folder: Path) -> None:
    """Write :data:`PLL` to `folder`; for errors, see :func:`check_rates` and :func:`pll_command`."""
    tools.run(pll_command(board, config), folder)
    file = folder / PLL
    written = file.read_text(encoding="utf-8")
    if lanes_clock(config):
        written = FAMILIES[board.family].with_lanes(written)
        file.write_text(written, encoding="utf-8")
    check_rates(board, config, written)


def check_rates(board: Board, config: Config, written: str) -> None:
    """Raise BuildError if the PLL does not generate the requested rates.

    Parameters
    ----------
    board : Board
    config : Config
    written : str
        Text of the file that the family's tool wrote.

    Notes
    -----
    The tools print the rate in MHz with three decimals (ecppll with six significant digits, which is no
    coarser below 1 GHz). So rates that differ by up to half a kilohertz count as equal. This tolerance
    is 11 ppm of the slowest board's clock, less than its oscillator's error.
    """
    for output, (field, asked) in _outputs(config).items():
        found = re.search(FAMILIES[board.family].pll_rates[output], written)
        if found is None:
            raise BuildError(f"the PLL generator for {board.title} does not report the rate")
        made = float(found[1])
        if abs(round(made * 1e6) - asked) > _ROUNDING_HZ:
            raise BuildError(
                f"the PLL of {board.title} makes {made:g} MHz of its {board.clock_hz / 1e6:g} MHz, "
                f"where {field} asks for {asked / 1e6:g} MHz; to accept this rate, set {field} = "
                f"{round(made * 1e6):_}"
            )
