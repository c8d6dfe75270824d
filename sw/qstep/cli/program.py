"""``qstep program``: load a bitstream into a board."""

from __future__ import annotations

from pathlib import Path

import click

from qstep.cli._interrupt import command_line, on_interrupt
from qstep.cli._options import BITSTREAMS, FILE, option

__all__ = ["command"]


@click.command(short_help="Load a bitstream into a board.")
@click.argument("board")
@option(
    "--bitstream",
    f"Bitstream file.  [default: what qstep build wrote to {BITSTREAMS.as_posix()}]",
    "file",
    type=FILE,
)
@option(
    "--flash", "Keep the bitstream when power is off; the iCEBreaker always does.", is_flag=True
)
def command(board: str, file: Path | None, flash: bool) -> None:
    """Load a bitstream into BOARD, with openFPGALoader."""
    from qstep_fpga.board import load
    from qstep_fpga.families import bitstream_name
    from qstep_fpga.program import program

    chosen = load(board)
    bitstream = file or BITSTREAMS / bitstream_name(chosen)
    on_interrupt(f"; the bitstream on the board is incomplete; repeat with: {command_line()}")
    program(chosen, bitstream, flash)
    config = bitstream.with_suffix(".toml")
    click.echo(
        f"{chosen.title} is programmed; try: "
        f"qstep train gridworld --device serial:PORT --config {config}"
    )
