"""Write the source of the Tiny Tapeout project: the smallest lane, as a single plain Verilog file.

python -m qstep_fpga.tiny_tapeout tiny_tapeout/src/project.v
"""

from __future__ import annotations

from pathlib import Path

import click

from qstep._io.files import make_room, write_atomically
from qstep_fpga.flat import flat_verilog
from qstep_rtl import sources

__all__ = ["TOP", "main", "verilog"]

TOP = Path(__file__).with_name("tt_um_qstep.sv")


def verilog() -> str:
    """Return the Verilog of the top module and its lane; for errors, see :func:`flat_verilog`.

    Constants eliminate most of the multipliers; the foundry's tools do all further optimisation.
    """
    return flat_verilog(TOP.stem, [*sources.rtl_files(), TOP])


@click.command(help=__doc__)
@click.argument("file", type=click.Path(path_type=Path))
def main(file: Path) -> None:
    """Write the Verilog file."""
    make_room(file)
    write_atomically(file, verilog().encode())


if __name__ == "__main__":
    main()
