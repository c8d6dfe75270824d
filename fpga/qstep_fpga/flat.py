"""Writes a design as one file of plain Verilog-2005 for any tool: Icarus, yosys, Vivado, Quartus."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from qstep_fpga import tools
from qstep_rtl import sources

__all__ = ["flat_verilog"]


def flat_verilog(top: str, files: Sequence[Path]) -> str:
    """Return a module and its submodules, elaborated and flattened by yosys.

    Memories stay arrays, so that each tool maps them to its own block RAM.

    Parameters
    ----------
    top : str
        Name of the module; its parameters keep their defaults.
    files : sequence of Path
        Source files of the module, with packages before the files that import them.

    Raises
    ------
    ToolMissingError
        The FPGA tools are not installed.
    BuildError
        yosys failed.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        for path in (*files, *sources.includes()):
            shutil.copy(path, folder)
        tools.yosys(
            f"{tools.reading(top, files)}; flatten; opt -full; bwmuxmap; clean -purge; "
            "write_verilog -noattr flat.v",
            folder,
        )
        return (folder / "flat.v").read_text(encoding="utf-8")
