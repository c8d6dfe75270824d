"""Estimate area and clock of the interleaved lane and its world on a chip, with registers at all ports.

python -m qstep_fpga.acting ulx3s-85f --algorithm sarsa --algorithm double-q --json area.json
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path

import click

from qstep._io.files import write_atomically
from qstep.errors import QStepError
from qstep.spec.agents import Acting, Algorithm
from qstep.spec.config import Config
from qstep_fpga import board as boards
from qstep_fpga import tools
from qstep_fpga.alone import estimate
from qstep_fpga.board import Board
from qstep_fpga.families import FAMILIES
from qstep_fpga.netlist import mapped, parameter_options, refinements, versions
from qstep_fpga.pin_wrapper import WRAPPER, around_acting
from qstep_rtl import sources

__all__ = ["main", "synthesise_acting"]

_ACTING_WRAPPER = Path(__file__).with_name("qs_acting_wrapper.sv")


def synthesise_acting(board: Board, sizes: dict[str, int]) -> Path:  # pragma: no cover: minutes
    """Return the netlist of ``qs_acting`` with registers at all ports, cached or newly synthesised.

    Raises
    ------
    ToolMissingError
        The FPGA tools are not installed.
    BuildError
        A tool failed.
    """
    family = FAMILIES[board.family]
    # Files needed only by the other lane are read as well, but add nothing to the netlist.
    files = sources.rtl_files(Config(2, 2, acting=Acting()))
    read = [*files, *sources.includes(), _ACTING_WRAPPER]

    def prepare(folder: Path) -> None:
        for path in read:
            shutil.copy(path, folder)

    reading = [
        tools.reading("qs_acting", files, parameter_options(sizes)),
        f"read_verilog -sv {_ACTING_WRAPPER.name}",
        f"read_rtlil {WRAPPER}.il",
    ]
    depends = [str(sorted(versions(board).items())), *map(sources.substance, read)]
    steps = refinements(family, agents=True)
    return mapped(around_acting(board), family.synthesis, reading, depends, prepare, steps)


@click.command(help=__doc__)
@click.argument("board_name", metavar="BOARD")
@click.option("--states", default=25, show_default=True)
@click.option("--actions", default=4, show_default=True)
@click.option("--width", default=16, show_default=True)
@click.option("--agents", default=16, show_default=True)
@click.option("--outcomes", default=1, show_default=True)
@click.option("--starts", default=1, show_default=True)
@click.option("--shared-table", is_flag=True, help="All agents share one table.")
@click.option("--schedules/--no-schedules", default=True, help="Include epsilon schedules.")
@click.option(
    "--step-limit/--no-step-limit", default=True, help="Include a step limit for episodes."
)
@click.option(
    "--algorithm",
    "algorithms",
    type=click.Choice([algorithm.value for algorithm in Algorithm]),
    multiple=True,
    default=[Algorithm.Q_LEARNING.value],
    show_default=True,
    help="May be repeated.",
)
@click.option("--clock", default=250.0, show_default=True, help="Target clock in MHz.")
@click.option("--seeds", default=16, show_default=True)
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True)
@click.option(
    "--json", "json_path", type=click.Path(path_type=Path), help="Write the results to a file."
)
def main(
    board_name: str,
    algorithms: tuple[str, ...],
    clock: float,
    seeds: int,
    jobs: int,
    json_path: Path | None,
    **given: int,
) -> None:
    sizes = {name.title().replace("_", ""): int(value) for name, value in given.items()}
    rows = []
    try:
        board = boards.load(board_name)
        for name in algorithms:
            clock_hz = int(clock * 1e6)
            netlist = synthesise_acting(board, {**sizes, "Algorithm": Algorithm(name).code})
            rows.append(estimate(name, board, netlist, clock_hz, seeds, jobs))
            click.echo(str(rows[-1]))
        if json_path:
            tree = {"board": board.name, "part": board.part, "sizes": given, "clock_mhz": clock}
            tree |= {"algorithms": [asdict(row) for row in rows], "tools": versions(board)}
            write_atomically(json_path, (json.dumps(tree, indent=2) + "\n").encode())
    except QStepError as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
