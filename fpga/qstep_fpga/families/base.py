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
    """Commands and names of one family; commands read and write the file names defined above.

    Attributes
    ----------
    packages : tuple of str
        Python packages of the tools, apart from yosys.
    synthesis : str
        Yosys command that maps a design to the family.
    free_lanes : str
        Additional options of `synthesis` for several lanes that are placed by nextpnr, not copied.
    refinements : tuple of callable
        Functions that improve the result of yosys: each changes a module of a JSON netlist in place,
        before placement.
    agents_refinements : tuple of callable
        Further refinements for lanes with agents, which do not reach their clock without them.
    resources : dict
        Place-and-route names of each resource, by resource name; the amounts under all names are added.
    cells : dict
        Groups of a netlist's cell types, by the names in `resources`. Cells of different groups can
        share a resource, so the needed amount is the number of cells in the largest group.
    block_bits : int
        Size of a block RAM in bits, including its parity bits.
    bitstream : str
        Suffix of the bitstream file that a programmer loads.
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
        """Return the text of module ``pll`` for two clocks, with both clocks as outputs."""

    def constraints(self, board: Board, lanes_hz: int | None = None) -> str:
        """Return the pin constraints of the board's top module in the family's format.

        If the lanes have a separate clock of `lanes_hz`, the constraints also specify the PLL's output
        clocks, or the input clock from which the tool derives them.
        """

    def limits(self, board: Board, netlist: Path) -> dict[str, float]:
        """Return clock limits in MHz that place and route does not check, by resource.

        `netlist` is the netlist to place.
        """

    def place(self, board: Board) -> list[str]:
        """Return the family's nextpnr command with family-specific options: chip, pins, output, tuning.

        :func:`qstep_fpga.placement.place` adds the options that all families share.
        """

    def pack(self, board: Board, out: str) -> list[str]:
        """Return the command that makes the bitstream `out`."""
