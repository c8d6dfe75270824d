"""Place one lane of a farm, copy it, place the other logic around the lanes, and print clocks and times.

python -m qstep_fpga.families.ecp5.islands ulx3s-85f farm.json --lane island
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import click

from qstep.errors import QStepError
from qstep_fpga import board as boards
from qstep_fpga.families.ecp5.islands.build import copy_lanes, needs_of
from qstep_fpga.pin_wrapper import WRAPPER
from qstep_fpga.placement import pack
from qstep_fpga.workers import workers

__all__ = ["main"]


@click.command(help=__doc__)
@click.argument("board_name", metavar="BOARD")
@click.argument("netlist", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--lane", required=True, help="The lane's module.")
@click.option("--top", default=WRAPPER, show_default=True, help="The module with the pins.")
@click.option("--clock", default=212.0, show_default=True, help="MHz to place for.")
@click.option("--seeds", default=16, show_default=True)
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True)
@click.option(
    "--scheduler", metavar="ADDRESS", help="Place the lanes on this Dask scheduler's workers."
)
@click.option("--out", type=click.Path(path_type=Path), help="Write the bitstream here.")
def main(
    board_name: str,
    netlist: Path,
    lane: str,
    top: str,
    clock: float,
    seeds: int,
    jobs: int,
    scheduler: str | None,
    out: Path | None,
) -> None:
    clock_hz = int(clock * 1e6)
    try:
        board = boards.load(board_name)
        modules = json.loads(netlist.read_text(encoding="utf-8"))["modules"]
        click.echo(", ".join(f"{name} {n:,}" for name, n in needs_of(modules[lane]).items()))
        begun = time.perf_counter()

        def progress(done: str) -> None:
            click.echo(f"{time.perf_counter() - begun:7.1f} s  {done}")

        every = range(1, seeds + 1)
        who = workers([board], jobs, scheduler)
        farm = copy_lanes(board, modules, top, lane, clock_hz, every, [1], who, progress)
        limits = ", ".join(f"{name} {mhz:g} MHz" for name, mhz in farm.limits.items())
        progress(f"limits of the chip: {limits}")
        if out:
            pack(board, farm.placements[0], out)
    except QStepError as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
