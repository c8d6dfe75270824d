"""``qstep program``: load a bitstream into a board."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["command"]


@click.command(short_help="Load a bitstream into a board.")
@click.argument("board")
@click.option(
    "--bitstream",
    "file",
    type=click.Path(path_type=Path),
    help="The file.  [default: what qstep build wrote to build/fpga]",
)
@click.option("--flash", is_flag=True, help="Keep it over a loss of power.")
def command(board: str, file: Path | None, flash: bool) -> None:
    """Load a bitstream into BOARD, with openFPGALoader."""
    from qstep_fpga.board import load
    from qstep_fpga.families import FAMILIES
    from qstep_fpga.program import program

    chosen = load(board)
    made = Path("build/fpga") / f"{board}{FAMILIES[chosen.family].bitstream}"
    program(chosen, file or made, flash)
    click.echo(f"{chosen.title} is programmed; try: qstep train gridworld --device serial:PORT")
