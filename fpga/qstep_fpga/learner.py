"""Estimate area and clock of a preset's learner, queue and hash on a chip, with registers at all ports.

python -m qstep_fpga.learner ulx3s-85f --preset pythia --seeds 3
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from qstep.errors import QStepError
from qstep.spec.planes import PRESETS, PlanesConfig
from qstep_fpga import board as boards
from qstep_fpga import tools
from qstep_fpga.alone import estimate
from qstep_fpga.board import Board
from qstep_fpga.families import FAMILIES
from qstep_fpga.netlist import mapped, refinements, versions
from qstep_fpga.pin_wrapper import WRAPPER, around_learner
from qstep_rtl import sources
from qstep_rtl.learner import TOP, generate_learner, learner_ports

__all__ = ["main", "synthesise_learner", "wrapper"]

_KEPT = "clk_i"
_OWN = "qs_learner_wrapper"


def wrapper(ports: Sequence[tuple[str, str, int]]) -> str:
    """Return the Verilog of ``qs_learner_wrapper``, which has registers at all ports.

    The registers are connected as in ``qs_lane_wrapper``.

    Parameters
    ----------
    ports : sequence of (str, str, int)
        Direction, name and width in bits of each port, including ``clk_i``.
    """
    wires = [port for port in ports if port[1] != _KEPT]
    inputs, outputs = (
        [(name, bits) for way, name, bits in wires if way == direction]
        for direction in ("input", "output")
    )
    taken, given = (sum(bits for _, bits in own) for own in (inputs, outputs))
    declared = "".join(f"  wire [{bits - 1}:0] {name};\n" for _, name, bits in wires)
    connected = ", ".join(f".{name}({name})" for _, name, _ in ports)
    into, out = (", ".join(name for name, _ in own) for own in (inputs, outputs))
    return (
        f"module {_OWN} (input {_KEPT}, din_i, load_i, output dout_o);\n"
        f"{declared}"
        f"  reg [{taken - 1}:0] chain_q, in_q;\n"
        f"  reg [{given - 1}:0] out_q, shifted_q;\n"
        f"  assign {{{into}}} = in_q;\n"
        "  assign dout_o = shifted_q[0];\n"
        f"  always @(posedge {_KEPT}) begin\n"
        "    chain_q <= {chain_q, din_i};\n"
        "    if (load_i) in_q <= chain_q;\n"
        f"    out_q <= {{{out}}};\n"
        "    shifted_q <= load_i ? out_q : shifted_q >> 1;\n"
        "  end\n"
        f"  {TOP} u_learner ({connected});\n"
        "endmodule\n"
    )


def synthesise_learner(board: Board, config: PlanesConfig) -> Path:  # pragma: no cover: minutes
    """Return the netlist of a learner with registers at all ports, cached or newly synthesised.

    Raises
    ------
    ToolMissingError
        The FPGA tools are not installed.
    BuildError
        A tool failed.
    """
    around = wrapper(learner_ports(config))
    with TemporaryDirectory() as staged:
        files = generate_learner(config, Path(staged))

        def prepare(folder: Path) -> None:
            shutil.copytree(staged, folder, dirs_exist_ok=True)
            (folder / f"{_OWN}.v").write_text(around, encoding="utf-8")

        reading = [
            tools.reading(TOP, files),
            f"read_verilog -sv {_OWN}.v",
            f"read_rtlil {WRAPPER}.il",
        ]
        depends = [around, str(sorted(versions(board).items())), *map(sources.substance, files)]
        family = FAMILIES[board.family]
        steps = refinements(family, agents=False)
        return mapped(around_learner(board), family.synthesis, reading, depends, prepare, steps)


@click.command(help=__doc__)
@click.argument("board_name", metavar="BOARD")
@click.option(
    "--preset",
    type=click.Choice(list(PRESETS)),
    default="pythia",
    show_default=True,
)
@click.option("--clock", default=150.0, show_default=True, help="Target clock in MHz.")
@click.option("--seeds", default=3, show_default=True)
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True)
def main(board_name: str, preset: str, clock: float, seeds: int, jobs: int) -> None:
    try:
        board = boards.load(board_name)
        netlist = synthesise_learner(board, PRESETS[preset])
        click.echo(str(estimate(preset, board, netlist, int(clock * 1e6), seeds, jobs)))
    except QStepError as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
