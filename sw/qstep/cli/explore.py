"""``qstep explore``: sizes and speeds of many configurations, on many boards."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from qstep._io.pictures import write_pictures
from qstep.cli._interrupt import command_line, on_interrupt
from qstep.cli._options import (
    CommaList,
    Decorator,
    jobs_option,
    option,
    plot_option,
    scheduler_option,
    seeds_option,
)
from qstep.cli._output import JsonOutput, json_option, room_for, task_progress

__all__ = ["command"]


_SIZES = CommaList(int, "integers such as 256,1024")


def _axis(flag: str, name: str, help: str, default: str | None = None) -> Decorator:
    return option(flag, help, name, type=_SIZES, metavar="N,...", default=default)


@click.command(short_help="Compare sizes and speeds of many configurations.")
@click.argument("boards", nargs=-1, metavar="[BOARD]...")
@_axis("--states", "states", "Rows of the table, 2..65536.  [default: the board's own]")
@_axis("--actions", "actions", "Columns of the table, 2..64.  [default: the board's own]")
@_axis("--width", "widths", "Bits of a value, 8..32.  [default: the board's own]")
@_axis("--loop-depth", "loop_depths", "Depth of the dependence loop in clocks, 1..3.", "1,2,3")
@option(
    "--what",
    "The lane alone, between registers, or the whole bitstream.",
    type=click.Choice(["lane", "device"]),
    default="lane",
)
@seeds_option
@jobs_option("Tools to run at a time.")
@scheduler_option
@json_option("all figures")
@plot_option("Picture of area against updates per second", "build/explore.png")
def command(
    boards: tuple[str, ...],
    what: str,
    seeds: int,
    jobs: int,
    scheduler: str | None,
    json_output: JsonOutput,
    plot_file: Path,
    **sizes: tuple[int, ...] | None,
) -> None:
    """Compare all combinations of the given sizes on each BOARD: area, clock, updates per second.

    Without a BOARD, the command compares all boards that accept a stream of transitions. Before placing
    anything, it lists the combinations that are illegal or do not fit, and why. Finished placements are
    kept, so the same command resumes where it stopped, and a larger --seeds places only the additional
    seeds.
    """
    from qstep_fpga.board import load, names
    from qstep_fpga.explore.grid import grid
    from qstep_fpga.explore.plot import draw
    from qstep_fpga.explore.sweep import explore
    from qstep_fpga.explore.table import render
    from qstep_fpga.workers import workers

    chosen = [load(name) for name in dict.fromkeys(boards or names())]
    if not boards:
        chosen = [board for board in chosen if board.config.acting is None]
    points = grid(chosen, **{name: values for name, values in sizes.items() if values is not None})
    who = workers(chosen, jobs, scheduler)
    on_interrupt(f"; finished placements are kept; to resume, run: {command_line()}")
    with room_for(json_output.file, plot_file), task_progress("explore") as progress:
        exploration = explore(
            points, what, range(1, seeds + 1), jobs, who, json_output.note, progress
        )
    json_output.tell(exploration.to_dict(), render(exploration))
    write_pictures({plot_file: partial(draw, exploration)})
    json_output.note(plot_file)
