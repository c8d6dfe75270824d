"""Area and clock of the interleaved lane and its world, between registers, on the chip of a board.

python -m qstep_fpga.acting ulx3s-85f --algorithm sarsa --algorithm double-q --json area.json
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import statistics
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from qstep._io import cache
from qstep._io.files import write_atomically
from qstep._io.workers import Threads
from qstep.errors import QStepError
from qstep.spec.agents import Acting, Algorithm
from qstep.spec.config import Config
from qstep_fpga import board as boards
from qstep_fpga import tools
from qstep_fpga.board import Board
from qstep_fpga.critical import describe
from qstep_fpga.families import FAMILIES
from qstep_fpga.families.base import NETLIST
from qstep_fpga.fit import needs_around_lane
from qstep_fpga.netlist import refine, refinement_sources, refinements, versions
from qstep_fpga.pin_wrapper import WRAPPER, around_acting
from qstep_fpga.placement import Design, place_all
from qstep_fpga.report import resources
from qstep_rtl import sources

__all__ = ["Estimate", "estimate", "main", "synthesise_acting"]

_ACTING_WRAPPER = Path(__file__).with_name("qs_acting_wrapper.sv")


def synthesise_acting(board: Board, sizes: dict[str, int]) -> Path:  # pragma: no cover: minutes
    """Return the netlist of ``qs_acting`` between registers, from the cache or made.

    Raises
    ------
    ToolMissingError
        The FPGA tools are not installed.
    BuildError
        A tool failed.
    """
    family = FAMILIES[board.family]
    # Files of only the other lane are read as well; they do not reach the netlist.
    files = sources.rtl_files(Config(2, 2, acting=Acting()))
    given = " ".join(f"-G {name}={value}" for name, value in sizes.items())
    top = around_acting(board)
    script = "; ".join(
        [
            tools.reading("qs_acting", files, given),
            f"read_verilog -sv {_ACTING_WRAPPER.name}",
            f"read_rtlil {WRAPPER}.il",
            f"{family.synthesis} -top {WRAPPER} -json {NETLIST}",
        ]
    )
    read = [*files, *sources.includes(), _ACTING_WRAPPER]
    parts = [top, script, str(sorted(versions(board).items()))]
    steps = refinements(family, agents=True)
    parts += map(sources.substance, [*read, *refinement_sources(steps), Path(__file__)])

    def make(folder: Path) -> Path:
        for path in read:
            shutil.copy(path, folder)
        (folder / f"{WRAPPER}.il").write_text(top, encoding="utf-8")
        tools.yosys(script, folder)
        refine(steps, folder / NETLIST, WRAPPER)
        return folder / NETLIST

    return cache.fetch(hashlib.sha256("\0".join(parts).encode()).hexdigest(), ".json", make)


@dataclass(frozen=True)
class Estimate:
    """The figures of place and route for an algorithm, without the registers around the lane.

    Attributes
    ----------
    algorithm : str
    resources : dict
        Name to used and available, for the seed with the highest clock.
    fmax_mhz : dict
        Highest clock by seed.
    critical_path : str
        For that seed.
    """

    algorithm: str
    resources: dict[str, tuple[int, int]]
    fmax_mhz: dict[str, float]
    critical_path: str

    def __str__(self) -> str:
        clocks = self.fmax_mhz.values()
        used = ", ".join(f"{name} {used:,}" for name, (used, _) in self.resources.items())
        return (
            f"{self.algorithm}: {used}; {min(clocks):.1f} / {statistics.median(clocks):.1f} / "
            f"{max(clocks):.1f} MHz over {len(clocks)} seeds; best: {self.critical_path}"
        )


def estimate(
    board: Board, algorithm: Algorithm, sizes: dict[str, int], clock_hz: int, seeds: int, jobs: int
) -> Estimate:
    """Synthesise and place the lane with one algorithm; raises as its two steps do."""
    netlist = synthesise_acting(board, {**sizes, "Algorithm": algorithm.code})
    placements = place_all(
        Design(board, netlist, clock_hz), range(1, seeds + 1), Threads(jobs), lambda placement: None
    )
    best = max(placements, key=lambda placement: placement.fmax_mhz)
    around = needs_around_lane(board, netlist)
    return Estimate(
        algorithm=algorithm.value,
        resources={
            name: (used - around.get(name, 0), there)
            for name, (used, there) in resources(board, best).items()
        },
        fmax_mhz={str(p.seed): round(p.fmax_mhz, 2) for p in placements},
        critical_path=describe(best.report),
    )


@click.command(help=__doc__)
@click.argument("board_name", metavar="BOARD")
@click.option("--states", default=25, show_default=True)
@click.option("--actions", default=4, show_default=True)
@click.option("--width", default=16, show_default=True)
@click.option("--agents", default=16, show_default=True)
@click.option("--outcomes", default=1, show_default=True)
@click.option("--starts", default=1, show_default=True)
@click.option("--shared-table", is_flag=True, help="All agents learn one table.")
@click.option("--schedules/--no-schedules", default=True, help="Build in epsilon's schedules.")
@click.option(
    "--step-limit/--no-step-limit", default=True, help="Build in an episode's limit of steps."
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
@click.option("--clock", default=250.0, show_default=True, help="MHz to place for.")
@click.option("--seeds", default=16, show_default=True)
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True)
@click.option(
    "--json", "json_path", type=click.Path(path_type=Path), help="Write the figures here."
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
            rows.append(estimate(board, Algorithm(name), sizes, clock_hz, seeds, jobs))
            click.echo(str(rows[-1]))
        if json_path:
            tree = {"board": board.name, "part": board.part, "sizes": given, "clock_mhz": clock}
            tree |= {"algorithms": [asdict(row) for row in rows], "tools": versions(board)}
            write_atomically(json_path, (json.dumps(tree, indent=2) + "\n").encode())
    except QStepError as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
