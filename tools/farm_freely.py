"""Compare farm clocks and placement times between copied lanes and free placement of the same netlist.

    python -m tools.farm_freely BOARD LANES ... [--seeds 3] [--limit 600]

BOARD names a farm on an ECP5. For each number of lanes, the netlist is the same as in `qstep build`, and
the clocks are the board's. Times are the CPU time of all steps after synthesis; the cache is not used. A
free placement, or the placement of a lane, is aborted when it exceeds the limit.
"""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import click

from qstep._io.workers import Threads
from qstep.errors import BuildError
from qstep.spec.config import Config
from qstep_fpga.board import Board, load
from qstep_fpga.families.ecp5.islands.build import copy_lanes
from qstep_fpga.families.ecp5.islands.synthesis import synthesise_farm
from qstep_fpga.pin_wrapper import WRAPPER
from qstep_fpga.placement import Design, Placement, place
from qstep_rtl.island import ISLAND

__all__ = ["main"]

_LANE_SEEDS = range(1, 33)


def _farm(board: Board, lanes: int) -> Config:
    """Return the board's farm with another number of lanes and the same number of agents per lane."""
    acting = board.config.acting
    if acting is None or acting.clock_hz is None or board.config.lanes == 1:
        raise click.UsageError(f"{board.name} is not a farm with a clock of its own")
    agents = lanes * acting.agents // board.config.lanes
    return replace(board.config, lanes=lanes, acting=replace(acting, agents=agents))


def _copied(board: Board, config: Config, netlist: Path, seeds: range) -> list[Placement]:
    modules = json.loads(netlist.read_text(encoding="utf-8"))["modules"]
    farm = copy_lanes(
        *(board, modules, WRAPPER, ISLAND, config.lane_clock_hz, _LANE_SEEDS, seeds, Threads(1)),
        lambda what: click.echo(f"    {what}", err=True),
        link_hz=config.link.clock_hz,
    )
    return list(farm.placements)


def _with_one_top(netlist: Path, folder: Path) -> Path:
    """Return a copy of a netlist in which the lane's module is no longer marked as top-level."""
    tree = json.loads(netlist.read_text(encoding="utf-8"))
    del tree["modules"][ISLAND]["attributes"]["top"]
    (whole := folder / netlist.name).write_text(json.dumps(tree), encoding="utf-8")
    return whole


def _freely(design: Design, seed: int) -> list[Placement]:
    return [place(design, seed)]


def _shown(how: str, place_all: Callable[[], list[Placement]]) -> None:
    """Print the clock frequencies of the placements, and the CPU time that they took."""
    before = _processor_time()
    try:
        done = place_all()
        lanes = ", ".join(f"{one.fmax_mhz:.1f}" for one in done)
        links = ", ".join(f"{one.link_fmax_mhz:.1f}" for one in done)
        found = f"lanes {lanes} MHz, link {links} MHz"
    except BuildError as error:
        found = str(error).strip().splitlines()[0]
    click.echo(f"  {how}: {found}; {_processor_time() - before:.0f} s")


def _processor_time() -> float:
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


@click.command(help=__doc__)
@click.argument("board_name", metavar="BOARD")
@click.argument("lanes", nargs=-1, required=True, type=click.IntRange(2, 128))
@click.option("--seeds", default=3, show_default=True, type=click.IntRange(1, 1000))
@click.option("--limit", default=600, show_default=True, help="Seconds of processor time.")
def main(board_name: str, lanes: tuple[int, ...], seeds: int, limit: int) -> None:
    board, every = load(board_name), range(1, seeds + 1)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
    for number in lanes:
        config = _farm(board, number)
        netlist = synthesise_farm(board, config)
        click.echo(f"{number} lanes")
        with TemporaryDirectory() as empty, patch.dict(os.environ, QSTEP_CACHE=empty):
            _shown("copied", partial(_copied, board, config, netlist, every))
            design = Design.of_device(board, config, _with_one_top(netlist, Path(empty)))
            for seed in every:
                _shown(f"freely, seed {seed}", partial(_freely, design, seed))


if __name__ == "__main__":
    main()
