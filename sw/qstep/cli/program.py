"""``qstep program``: load a bitstream into a board."""

from __future__ import annotations

from pathlib import Path

import click

from qstep.cli._interrupt import command_line, on_interrupt
from qstep.cli._options import BITSTREAMS

__all__ = ["command"]


@click.command(short_help="Load a bitstream into a board.")
@click.argument("board")
@click.option(
    "--bitstream",
    "file",
    type=click.Path(path_type=Path),
    help=f"The file.  [default: what qstep build wrote to {BITSTREAMS.as_posix()}]",
)
@click.option(
    "--flash",
    is_flag=True,
    help="Keep the bitstream when power is off; the iCEBreaker always does.",
)
def command(board: str, file: Path | None, flash: bool) -> None:
    """Load a bitstream into BOARD, with openFPGALoader."""
    from qstep_fpga.board import load
    from qstep_fpga.families import bitstream_name
    from qstep_fpga.program import program

    chosen = load(board)
    bitstream = file or BITSTREAMS / bitstream_name(chosen)
    on_interrupt(
        lambda: f"; the bitstream on the board is incomplete; repeat with: {command_line()}"
    )
    program(chosen, bitstream, flash)
    config = bitstream.with_suffix(".toml")
    click.echo(
        f"{chosen.title} is programmed; try: "
        f"qstep train gridworld --device serial:PORT --config {config}"
    )
