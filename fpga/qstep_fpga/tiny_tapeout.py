"""Write the source of the Tiny Tapeout project: the smallest lane, as one file of plain Verilog.

python -m qstep_fpga.tiny_tapeout tiny_tapeout/src/project.v
"""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from qstep._io.files import make_room, write_atomically
from qstep_fpga import tools
from qstep_rtl import sources

__all__ = ["TOP", "main", "verilog"]

TOP = Path(__file__).with_name("tt_um_qstep.sv")


def verilog() -> str:
    """Return the Verilog of the top and the lane in it, elaborated and flattened by yosys.

    Raises
    ------
    ToolMissingError
        The FPGA tools are not installed.
    BuildError
        yosys failed.
    """
    files = [*sources.rtl_files(), TOP]
    with TemporaryDirectory() as name:
        folder = Path(name)
        for path in (*files, *sources.includes()):
            shutil.copy(path, folder)
        read = f"read_slang --threads 1 --top {TOP.stem} {' '.join(path.name for path in files)}"
        # Constants leave little of the multipliers; the foundry's tools do the rest.
        steps = f"{read}; flatten; opt -full; clean -purge; write_verilog -noattr project.v"
        tools.yosys(steps, folder)
        return (folder / "project.v").read_text(encoding="utf-8")


@click.command(help=__doc__)
@click.argument("file", type=click.Path(path_type=Path))
def main(file: Path) -> None:
    """Write the file."""
    make_room(file)
    write_atomically(file, verilog().encode())


if __name__ == "__main__":
    main()
