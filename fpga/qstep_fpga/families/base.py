"""What the build asks of a family of chips."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Protocol

from qstep_fpga.board import Board

__all__ = ["CONSTRAINTS", "NETLIST", "PLACED", "REPORT", "Family", "Refinement"]

NETLIST = "netlist.json"
PLACED = "placed.txt"
REPORT = "report.json"
CONSTRAINTS = "pins.txt"

Refinement = Callable[[dict[str, Any]], object]


class Family(Protocol):
    """Commands and names of one family; files have the names above, in the folder of the command.

    Attributes
    ----------
    packages : tuple of str
        Python packages of the tools, beside yosys.
    synthesis : str
        Yosys command that maps to the family.
    refinements : tuple of callable
        What yosys leaves undone: each changes a module of a JSON netlist in place, before it is placed.
    agents_refinements : tuple of callable
        What is done after these where there are agents, whose lanes need it to reach their clock.
    resources : dict
        What people call a resource, and the names under which place and route reports it; they are
        added up.
    cells : dict
        By the names of `resources`, groups of cell types of a netlist. A resource is needed as
        often as the cells of its largest group; cells of different groups can share one.
    block_bits : int
        Bits of a block RAM, with those that others call parity.
    bitstream : str
        Suffix of the file that a programmer takes.
    pll_rates : dict
        By output of the module ``pll``, a regular expression for where its file names the rate that it
        makes; group 1 is it, in MHz. Where there is no ``lanes_out`` it makes one clock only.
    """

    packages: ClassVar[tuple[str, ...]]
    synthesis: ClassVar[str]
    refinements: ClassVar[tuple[Refinement, ...]]
    agents_refinements: ClassVar[tuple[Refinement, ...]]
    resources: ClassVar[dict[str, tuple[str, ...]]]
    cells: ClassVar[dict[str, tuple[tuple[str, ...], ...]]]
    block_bits: ClassVar[int]
    bitstream: ClassVar[str]
    pll_rates: ClassVar[dict[str, str]]

    def pll(self, board: Board, rates: dict[str, int], file: str) -> list[str]:
        """Return the command that writes module ``pll`` (clock_in, locked, outputs) to `file`.

        `rates` are in hertz, by the names of `pll_rates`.
        """

    def constraints(self, board: Board, two_clocks: bool = False) -> str:
        """Return the pins of the board's top module in the family's own language.

        With `two_clocks` they say its input clock too, from which those of the PLL's outputs follow.
        """

    def limits(self, board: Board, netlist: Path) -> dict[str, float]:
        """Return the highest clocks in MHz that place and route does not ask for, by resource.

        `netlist` is what is placed.
        """

    def place(self, board: Board) -> list[str]:
        """Return the family's nextpnr with its own words: chip, pins, output, what it does better with.

        :func:`qstep_fpga.placement.place` adds the words that all of them take.
        """

    def pack(self, board: Board, out: str) -> list[str]:
        """Return the command that makes the bitstream `out`."""
