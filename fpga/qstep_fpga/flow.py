"""The whole flow: configuration, netlist, placements, bitstream, report."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from qstep._io.files import make_room, write_atomically
from qstep._io.workers import Workers
from qstep.errors import BuildError
from qstep.spec.config import Config
from qstep_fpga.board import Board
from qstep_fpga.families import bitstream_name
from qstep_fpga.families.ecp5.islands.build import copy_lanes
from qstep_fpga.families.ecp5.islands.synthesis import synthesise_farm
from qstep_fpga.fit import check_fit, check_table
from qstep_fpga.netlist import copies_lanes, synthesise
from qstep_fpga.pin_wrapper import WRAPPER
from qstep_fpga.pins import led_bits, led_out, pins_text
from qstep_fpga.placement import Design, Placement, pack, place_all
from qstep_fpga.report import BuildReport
from qstep_rtl.crossing import lanes_clock
from qstep_rtl.island import ISLAND

__all__ = ["build"]


def build(
    board: Board,
    config: Config,
    seeds: Sequence[int],
    workers: Workers,
    folder: Path,
    progress: Callable[[str, int, int], None],
    accept_unmet_clock: bool = False,
) -> tuple[BuildReport, Path]:
    """Build a bitstream, its report and its configuration in `folder`.

    The files are ``BOARD.bin`` (.bit, .fs), ``BOARD.json`` and ``BOARD.toml``. A build for an external
    world also writes ``BOARD.pins``, which lists the pin of each bit.

    Parameters
    ----------
    board : Board
    config : Config
        The PLL generates its ``link.clock_hz``, and ``acting.clock_hz`` if it is set.
    seeds : sequence of int
        Placement seeds, at least one; the bitstream comes from the seed with the highest clock. If lanes
        are copied, up to eight times as many seeds, at most 32, are tried for the original lane, until
        it is as fast as the chip allows.
    workers : Workers
        Workers for the placements.
    folder : Path
        Output folder, created if necessary.
    progress : callable
        Called with the current activity, the number of completed steps, and the total number.
    accept_unmet_clock : bool
        Write the bitstream even if no seed reaches the clock.

    Returns
    -------
    (BuildReport, Path)
        The report, and the file of the bitstream.

    Raises
    ------
    BuildError
        The configuration does not fit, its clock is not met, a tool failed, or a world cannot be
        connected to the board's pins. If the clock is not met, the report is written, but not the
        bitstream.
    ToolMissingError
        The FPGA tools are not installed.
    FileFormatError
        The folder cannot be written to.
    """
    bitstream = folder / bitstream_name(board)
    make_room(bitstream)  # early, because placing takes minutes
    total = len(seeds) + 2
    done = 1
    progress("synthesis", 0, total)
    board = led_out(board, config)
    check_table(board, config)
    copying = copies_lanes(board, config)
    netlist = synthesise_farm(board, config) if copying else synthesise(board, config)
    if not copying:
        check_fit(board, config, netlist)
    progress(f"placing with {len(seeds)} seeds", done, total)

    def placed(placement: Placement) -> None:
        nonlocal done
        done += 1
        progress(f"seed {placement.seed}: {placement.fmax_mhz:.1f} MHz", done, total)

    clock_hz, lanes_hz = config.link.clock_hz, config.lane_clock_hz
    two_clocks = bool(lanes_clock(config))
    if copying:
        modules = json.loads(netlist.read_text(encoding="utf-8"))["modules"]
        lane_seeds = range(1, min(8 * len(seeds), 32) + 1)
        farm = copy_lanes(
            *(board, modules, WRAPPER, ISLAND, lanes_hz, lane_seeds, seeds, workers),
            lambda what: progress(what, done, total),
            link_hz=clock_hz if two_clocks else None,
        )
        placements = list(farm.placements)
        for placement in placements:
            placed(placement)
    else:
        design = Design.of_device(board, config, netlist)
        placements = place_all(design, seeds, workers, placed)
    report = BuildReport.of(board, config, placements)
    # Remove the old bitstream first, so that it is never next to another build's configuration.
    bitstream.unlink(missing_ok=True)
    write_atomically(folder / f"{board.name}.toml", config.to_toml().encode())
    report.write(folder / f"{board.name}.json")
    if led_bits(config):
        write_atomically(folder / f"{board.name}.pins", pins_text(board, config).encode())
    if not report.is_met and not accept_unmet_clock:
        clocks = {"acting" if two_clocks else "link": (report.clock_mhz, report.fmax_mhz)}
        if report.link is not None:
            clocks["link"] = report.link.clock_mhz, report.link.fmax_mhz
        part, (asked, reached) = next(
            (part, clock) for part, clock in clocks.items() if clock[1][str(report.seed)] < clock[0]
        )
        raise BuildError(
            f"the clock of {asked:g} MHz is not met: the best of {len(seeds)} seeds allows "
            f"{reached[str(report.seed)]:.1f} MHz. Lower {part}.clock_hz, or take the bitstream as it "
            "is with --accept-unmet-clock"
        )
    pack(board, next(p for p in placements if p.seed == report.seed), bitstream)
    progress("done", total, total)
    return report, bitstream
