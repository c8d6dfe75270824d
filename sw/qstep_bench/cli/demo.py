"""`qstep demo`: agents learn CartPole on the simulated chip, checked bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from qstep._io.files import make_folder, write_atomically
from qstep._io.workers import threads
from qstep.cli._output import console as plain_console
from qstep.cli._output import task_bar

if TYPE_CHECKING:
    from qstep_bench.demo import OnChip
    from qstep_bench.demo_picture import Bar
    from qstep_bench.measure import Comparison

__all__ = ["command"]


@click.command(short_help="Learn CartPole on the simulated chip.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="build/demo",
    show_default=True,
    help="Folder for the picture and the policy.",
)
@click.pass_context
def command(ctx: click.Context, out: Path) -> None:
    """Learn CartPole on the simulated chip, and check the result bit for bit.

    Agents act and learn on the chip. The same training runs on the model that defines the result, and
    the chip's speed is compared with that of other learners. The exit status is 0 if all weights match
    the model's, and 1 otherwise.
    """
    # Gymnasium, Numba and Matplotlib take a second to load, so they are imported only when needed.
    from qstep_bench import demo, demo_picture
    from qstep_bench.boards import load_reports

    console = plain_console()
    _introduce(console)
    _compile()
    with task_bar() as progress:
        task = progress.add_task("CartPole on the chip", total=demo.STEPS)
        found = demo.on_chip(lambda done: progress.update(task, completed=done))
    _show(console, found, out)
    speed = _time()
    bars = demo_picture.bars(speed, demo.plain_rate(), found, load_reports(()))
    _show_speed(console, bars, speed)
    paths = demo_picture.draw(found, bars, out)
    console.print(
        f"\nThe picture, for light and dark pages: {', '.join(map(str, paths))}", soft_wrap=True
    )
    console.print("\nNext: qstep train CartPole-v1, qstep --help, README.md")
    ctx.exit(1 if found.differing else 0)


def _introduce(console: Console) -> None:
    from qstep_bench.demo import AGENTS

    console.print(
        "QStep learns with Q-learning, in hardware. Here the hardware is simulated on\n"
        "this computer, clock by clock, from the source code used for an FPGA.\n\n"
        f"{AGENTS} agents act and learn on the chip, to balance a pole on a cart; the link carries\n"
        "only commands and tables. CartPole's state is four real numbers (position, velocity,\n"
        "angle and angular velocity), which cannot index a table. Overlapping tiles turn them\n"
        "into a row in each of eight tables, whose values are added.\n"
    )


def _compile() -> None:
    """Compile the simulated device and the model at the same time, so that they are cached.

    Running the model compiles it.

    Raises
    ------
    ToolMissingError
        Verilator or a C++ compiler is missing. This is checked first, as a running compilation of a
        model cannot be cancelled.
    """
    from qstep_bench import demo
    from qstep_sim import verilator
    from qstep_sim.build import build

    verilator.require("verilator", "C++ compiler")
    with threads() as pool:
        device, model = pool.submit(build, demo.plan().config), pool.submit(demo.on_model)
        device.result()
        model.result()


def _show(console: Console, found: OnChip, out: Path) -> None:
    from qstep.cli.export import to_c
    from qstep_bench.demo import AGENTS

    make_folder(out)
    path = out / "cartpole.h"
    write_atomically(path, to_c(found.table[found.middle], found.model.config).encode())
    console.print(
        f"{found.model.updates:,} steps in {found.clocks:,} clocks of the chip, simulated in "
        f"{found.seconds:.2g} s of processor time."
    )
    if found.differing:
        console.print(
            f"{found.differing} of {found.table.size} weights differ from the model's. This is a bug.",
            style="bold red",
        )
    else:
        console.print(
            f"All {found.table.size:,} weights match the model's bit for bit.", style="bold green"
        )
    console.print(
        "Played in Gymnasium's own CartPole-v1, 100 episodes each:\n"
        f"{found.solved} of {AGENTS} agents solve it (475 of 500 steps or more), and the median agent\n"
        f"keeps the pole up for {np.median(found.returns):.1f}. Its policy in C, tiles included: {path}",
        soft_wrap=True,
    )


def _time() -> Comparison:
    from qstep_bench.demo_picture import SOFTWARE
    from qstep_bench.measure import compare
    from qstep_bench.systems import load

    every = load("acting")
    with task_bar() as progress:
        task = progress.add_task("timing")
        return compare(
            replace(every, forms=tuple(form for form in every.forms if form.name in SOFTWARE)),
            rounds=3,
            seconds=0.1,
            progress=lambda what, done, total: progress.update(
                task, description=what, completed=done, total=total
            ),
        )


def _show_speed(console: Console, bars: Sequence[Bar], speed: Comparison) -> None:
    from qstep_bench.measure import number

    table = Table("who", "million steps/s", "on", box=None, pad_edge=False)
    table.columns[1].justify = "right"
    for bar in bars:
        table.add_row(bar.name, number(bar.rate / 1e6), bar.group)
    console.print("\nSpeed, with the same result bit for bit:\n")
    console.print(table)
    for absent in speed.absent:
        console.print(f"{absent.name}: {absent.reason}", soft_wrap=True)
    console.print(
        "\nNothing here was measured on an FPGA, and the speed of the simulated chip is that of\n"
        "the simulation. `qstep bench` times more learners, with more repeats."
    )
