"""The interface between a chip family and the build."""

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
    """Commands and names of one family; files in the command's folder have the names above.

    Attributes
    ----------
    packages : tuple of str
        Python packages of the tools, apart from yosys.
    synthesis : str
        Yosys command that maps a design to the family.
    free_lanes : str
        Options of `synthesis` for several lanes that nextpnr places freely.
    refinements : tuple of callable
        Improvements on yosys' result: each changes a module of a JSON netlist in place, before
        placement.
    agents_refinements : tuple of callable
        Further improvements for agents, whose lanes need them to reach their clock.
    resources : dict
        Place-and-route names of each resource, by resource name; their amounts are added.
    cells : dict
        Groups of a netlist's cell types, by the names in `resources`. The needed amount is the number of
        cells in the largest group; cells of different groups can share a resource.
    block_bits : int
        Bits of a block RAM, including its parity bits.
    bitstream : str
        Suffix of the file that a programmer loads.
    pll_rates : dict
        Regular expression for each output of the module ``pll`` that finds its rate in the file; group 1
        is the rate in MHz. Without ``lanes_out`` the PLL generates only one clock.
    """

    packages: ClassVar[tuple[str, ...]]
    synthesis: ClassVar[str]
    free_lanes: ClassVar[str]
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

    def with_lanes(self, pll: str) -> str:
        """Return the PLL file that the command wrote for two clocks, with both clocks as outputs."""

    def constraints(self, board: Board, lanes_hz: int | None = None) -> str:
        """Return the pin constraints of the board's top module in the family's format.

        If the lanes have a separate clock, of `lanes_hz`, the constraints also give the PLL's input
        clock, from which its output clocks follow, or the output clocks.
        """

    def limits(self, board: Board, netlist: Path) -> dict[str, float]:
        """Return clock limits in MHz that place and route does not know, by resource.

        `netlist` is the netlist to place.
        """

    def place(self, board: Board) -> list[str]:
        """Return the family's nextpnr command with its own options: chip, pins, output, tuning.

        :func:`qstep_fpga.placement.place` adds the options that all families share.
        """

    def pack(self, board: Board, out: str) -> list[str]:
        """Return the command that makes the bitstream `out`."""
