"""``qstep build``: build a bitstream for a board, and write a report."""

from __future__ import annotations

from pathlib import Path

import click

from qstep.cli._interrupt import command_line, on_interrupt
from qstep.cli._options import BITSTREAMS, FILE, option, refuse, scheduler_option, seeds_option
from qstep.cli._output import JsonOutput, json_option, room_for, task_progress
from qstep.spec.config import Config

__all__ = ["command"]


@click.command(short_help="Build a bitstream for a board, and a report.")
@click.argument("board")
@option("--config", "Configuration as TOML.  [default: the board's own]", "config_file", type=FILE)
@seeds_option
@option("--jobs", "Placements to run at a time.", type=click.IntRange(1, 64), default=2)
@scheduler_option
@option("--out", "Folder to write to.", "folder", type=FILE, default=str(BITSTREAMS))
@option(
    "--accept-unmet-clock", "Write the bitstream even if no seed reaches the clock.", is_flag=True
)
@json_option("the report")
def command(
    board: str,
    config_file: Path | None,
    seeds: int,
    jobs: int,
    scheduler: str | None,
    folder: Path,
    accept_unmet_clock: bool,
    json_output: JsonOutput,
) -> None:
    """Build a bitstream for BOARD, and a report of its size and clock.

    The error for an unknown BOARD lists all boards. Finished placements are kept, so an interrupted
    build resumes where it stopped, and a larger --seeds places only the additional seeds.
    """
    from qstep_fpga.board import load
    from qstep_fpga.flow import build
    from qstep_fpga.render import render
    from qstep_fpga.workers import workers

    if scheduler is not None:
        refuse(["jobs"], "is for this computer: --scheduler uses its own workers")
    chosen = load(board)
    config = chosen.config if config_file is None else Config.from_toml(config_file)
    who = workers([chosen], jobs, scheduler)
    on_interrupt(f"; finished placements are kept; to resume, run: {command_line()}")
    with room_for(folder / f"{board}.json", json_output.file), task_progress(board) as progress:
        report, bitstream = build(
            chosen, config, range(1, seeds + 1), who, folder, progress, accept_unmet_clock
        )
    size = f"{bitstream.stat().st_size:,} bytes"
    json_output.tell(
        report.to_dict(), render(report), f"{bitstream}  {size}, from seed {report.seed}"
    )
