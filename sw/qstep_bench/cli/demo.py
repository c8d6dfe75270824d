"""`qstep demo`: agents learn on the simulated accelerator, checked bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    from qstep_bench.demo_map import OnChip
    from qstep_bench.demo_picture import Bar
    from qstep_bench.demo_pole import OnPole
    from qstep_bench.measure import Comparison

__all__ = ["command"]


@click.command(short_help="Learn a map and CartPole on the simulated chip.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="build/demo",
    show_default=True,
    help="Folder for the pictures.",
)
@click.pass_context
def command(ctx: click.Context, out: Path) -> None:
    """Learn a small map and CartPole on the simulated chip, and check both bit for bit.

    Agents act and learn on the chip, first on the map, then in CartPole, whose states do not fit in a
    table. The same training runs on the model that defines the result, and the chip's speed is compared
    with that of other learners. The exit status is 0 if all tables match the model's, and 1 otherwise.
    """
    # Gymnasium, Numba and Matplotlib take a second to load, so they are imported only when needed.
    from qstep_bench import demo_map, demo_picture
    from qstep_bench.boards import load_reports

    console = plain_console()
    _introduce(console)
    _compile()
    on_map = demo_map.on_chip()
    _show_map(console, on_map)
    speed = _time(console)
    bars = demo_picture.bars(speed, on_map, load_reports(()))
    _show_speed(console, bars, speed)
    on_pole = _balance(console)
    _show_pole(console, on_pole, out)
    paths = demo_picture.draw(on_map, on_pole, bars, out)
    console.print(
        f"\nThe pictures, for light and dark pages: {', '.join(map(str, paths))}", soft_wrap=True
    )
    console.print("\nNext: qstep train CartPole-v1, qstep --help, README.md")
    ctx.exit(1 if on_map.differing or on_pole.differing else 0)


def _introduce(console: Console) -> None:
    from qstep_bench import demo_map

    console.print(
        "QStep learns with Q-learning, in hardware. Here the hardware is simulated on\n"
        "this computer, clock by clock, from the source code used for an FPGA.\n\n"
        "A walker starts at S and looks for G. A step costs 1, a hole H costs 5 and ends\n"
        "the walk, G pays 1. The walker does not know the map:\n"
    )
    for row in demo_map.world().rows:
        console.print(f"    {' '.join(row)}")
    console.print()


def _compile() -> None:
    """Compile the simulated devices and the models at the same time, so that they are cached.

    Running a model compiles it.

    Raises
    ------
    ToolMissingError
        Verilator or a C++ compiler is missing. This is checked first, as a running compilation of a
        model cannot be cancelled.
    """
    from qstep_bench import demo_map, demo_pole
    from qstep_sim import verilator
    from qstep_sim.build import build

    verilator.require("verilator", "C++ compiler")
    parts: tuple[Callable[[], object], ...] = (
        lambda: build(demo_pole.plan().config),
        demo_pole.on_model,
        lambda: build(demo_map.plan().config),
        demo_map.on_model,
    )
    with threads() as pool:
        for part in [pool.submit(part) for part in parts]:
            part.result()


def _show_map(console: Console, found: OnChip) -> None:
    from qstep_bench.demo_map import AGENTS, arrows, world

    gamma = found.model.plan.settings[0].gamma
    console.print(
        f"{AGENTS} walkers, or agents, each with its own table, act and learn on the chip; the link\n"
        "carries only commands and tables.\n\n"
        f"{found.steps:,} steps in {found.clocks:,} clocks of the chip, simulated in "
        f"{found.seconds:.2g} s of processor time."
    )
    _tell_difference(console, found.differing, found.table.size, "table entries")
    console.print(
        f"{found.optimal} of {AGENTS} agents found the best way at gamma {gamma:g}, according to value "
        "iteration,\nwhich solves the map exactly. (From gamma 0.93 on, it is better to jump into the "
        "hole\nbeside S.) The median agent's greedy action in each cell:\n",
        soft_wrap=True,
    )
    for row in arrows(world(), found.middle):
        console.print(f"    {row}")


def _tell_difference(console: Console, differing: int, size: int, what: str) -> None:
    if differing:
        console.print(
            f"{differing} of {size} {what} differ from the model's. This is a bug.",
            style="bold red",
        )
    else:
        console.print(f"All {size:,} {what} match the model's bit for bit.", style="bold green")


def _time(console: Console) -> Comparison:
    from qstep_bench.demo_picture import SOFTWARE
    from qstep_bench.measure import compare
    from qstep_bench.systems import load

    every = load("gridworld")
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
    console.print("\nSpeed on this map:\n")
    console.print(table)
    for absent in speed.absent:
        console.print(f"{absent.name}: {absent.reason}", soft_wrap=True)
    console.print(
        "\nNothing here was measured on an FPGA, and the speed of the simulated chip is that of\n"
        "the simulation. `qstep bench` times more learners, with more repeats."
    )


def _balance(console: Console) -> OnPole:
    from qstep_bench import demo_pole

    console.print(
        "\nCartPole's state is four real numbers (position, velocity, angle and angular velocity),\n"
        "which cannot index a table. Overlapping tiles turn them into a row in each of eight\n"
        f"tables, whose values are added. {demo_pole.AGENTS} agents learn on the chip to balance it.\n"
    )
    with task_bar() as progress:
        task = progress.add_task("CartPole on the chip", total=demo_pole.STEPS)
        return demo_pole.on_chip(lambda done: progress.update(task, completed=done))


def _show_pole(console: Console, found: OnPole, out: Path) -> None:
    from qstep.cli.export import to_c
    from qstep_bench.demo_pole import AGENTS

    make_folder(out)
    path = out / "cartpole.h"
    write_atomically(path, to_c(found.table[found.middle], found.model.config).encode())
    console.print(
        f"{found.model.updates:,} steps in {found.clocks:,} clocks of the chip, simulated in "
        f"{found.seconds:.2g} s of processor time."
    )
    _tell_difference(console, found.differing, found.table.size, "weights")
    console.print(
        "Played in Gymnasium's own CartPole-v1, 100 episodes each:\n"
        f"{found.solved} of {AGENTS} agents solve it (475 of 500 steps or more), and the median agent\n"
        f"keeps the pole up for {np.median(found.returns):.1f}. Its policy in C, tiles included: {path}",
        soft_wrap=True,
    )
