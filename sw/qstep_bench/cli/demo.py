"""`qstep demo`: demonstrates the accelerator on a small map."""

from __future__ import annotations

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
    from qstep_bench.demo import Trained
    from qstep_bench.demo_agents import OnChip
    from qstep_bench.demo_pole import OnPole
    from qstep_bench.measure import Comparison

__all__ = ["command"]


@click.command(short_help="Learn a small map and check it bit for bit.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="build/demo",
    show_default=True,
    help="Folder for the pictures.",
)
@click.pass_context
def command(ctx: click.Context, out: Path) -> None:
    """Learn a small map on the simulated accelerator and check it bit for bit.

    The same training then runs on the model that defines the result, and its speed is compared with that
    of other learners on a CPU. Then agents act on the simulated chip itself, on the map and in CartPole,
    whose states do not fit in a table. The exit status is 0 if all tables match the model's, and 1
    otherwise.
    """
    # Gymnasium, Numba and Matplotlib take a second to load, so they are imported only when needed.
    from qstep_bench import demo, demo_agents

    console = plain_console()
    _introduce(console)
    _compile()
    simulated = _train(console, "sim:", "simulated accelerator")
    model = _train(console, "model", "model (the definition)")
    differing = demo.differing_entries(simulated, model)
    _compare(console, simulated, differing)
    _show_policy(console, simulated)
    speed = _show_speed(console)
    on_chip = demo_agents.on_chip()
    _show_agents(console, on_chip)
    on_pole = _balance(console)
    _show_pole(console, on_pole, out)
    _draw(console, on_chip, on_pole, speed, out)
    console.print("\nNext: qstep train CartPole-v1, qstep --help, README.md")
    ctx.exit(1 if differing or on_chip.differing or on_pole.differing else 0)


def _introduce(console: Console) -> None:
    from qstep_bench import demo

    console.print(
        "QStep learns with Q-learning, in hardware. Here the hardware is simulated on\n"
        "this computer, clock by clock, from the source code used for an FPGA.\n\n"
        "A walker starts at S and looks for G. A step costs 1, a hole H costs 5 and ends\n"
        "the walk, G pays 1. The walker does not know the map:\n"
    )
    for row in demo.world().rows:
        console.print(f"    {' '.join(row)}")
    console.print()


def _compile() -> None:
    """Compile the simulated devices and the agents' models at the same time, so that they are cached.

    Running a model compiles it.

    Raises
    ------
    ToolMissingError
        Verilator or a C++ compiler is missing. This is checked first, as a running compilation of a
        model cannot be cancelled.
    """
    from qstep_bench import demo, demo_agents, demo_pole
    from qstep_sim import verilator
    from qstep_sim.build import build

    verilator.require("verilator", "C++ compiler")
    configs = (
        lambda: demo.CONFIG,
        lambda: demo_agents.on_model()[0].plan.config,
        lambda: demo_pole.on_model().plan.config,
    )
    with threads() as pool:
        list(pool.map(lambda config: build(config()), configs))


def _train(console: Console, url: str, name: str) -> Trained:
    from qstep_bench import demo

    with task_bar() as progress:
        task = progress.add_task(name, total=demo.PLAN.episodes)
        trained = demo.train(url, lambda _: progress.advance(task))
    console.print(
        f"{name:<24}{demo.PLAN.episodes} walks, {trained.status.applied:,} updates "
        f"in {trained.seconds:.1f} s"
    )
    return trained


def _compare(console: Console, simulated: Trained, differing: int) -> None:
    entries = simulated.result.table.size
    if differing:
        console.print(
            f"\n{differing} of {entries} table entries differ. This is a bug.",
            style="bold red",
        )
    else:
        console.print(f"\nAll {entries} table entries match bit for bit.", style="bold green")
    counters = simulated.counters
    if counters is not None:
        console.print(
            f"The lane was offered {counters.accepted:,} transitions in {counters.offered_clocks:,} "
            f"clocks and held {counters.held:,} of them back.\n{counters.forwarded:,} needed a result "
            "that had not yet been written to the table; it was forwarded."
        )


def _show_policy(console: Console, trained: Trained) -> None:
    from qstep_bench import demo

    console.print("\nThe learned policy (the greedy action in each cell):\n")
    for row in demo.arrows(demo.world(), trained.result.table):
        console.print(f"    {row}")
    last = trained.result.evaluations[-1]
    verdict = "is" if demo.is_optimal(trained) else "is not"
    console.print(
        f"\nFollowing the arrows reaches G in {last.success:.0%} of the walks, in "
        f"{last.mean_length:.0f} steps.\nValue iteration, which solves the map exactly, shows that "
        f"this {verdict} the best way\nat gamma {demo.HYPER.gamma:g}. (From 0.93 on, it is better "
        "to jump into the hole beside S.)"
    )


def _show_speed(console: Console) -> Comparison:
    from qstep_bench.measure import compare, number
    from qstep_bench.systems import load

    with task_bar() as progress:
        task = progress.add_task("timing")
        found = compare(
            load("gridworld"),
            rounds=3,
            seconds=0.1,
            progress=lambda what, done, total: progress.update(
                task, description=what, completed=done, total=total
            ),
        )
    table = Table("who", "how", "million updates/s", "speed-up", box=None, pad_edge=False)
    for column in table.columns[2:]:
        column.justify = "right"
    first = found.forms[0].rate.median
    for form in found.forms:
        rate = form.rate.median
        table.add_row(form.name, form.what, number(rate / 1e6), number(rate / first))
    console.print("\nSpeed on this computer, end to end:\n")
    console.print(table)
    for absent in found.absent:
        console.print(f"{absent.name}: {absent.reason}", soft_wrap=True)
    console.print(
        "\nThe last row is the speed of the simulation, not of hardware: nothing here was\n"
        "measured on an FPGA. `qstep bench` times more systems, with more repeats."
    )
    return found


def _show_agents(console: Console, found: OnChip) -> None:
    from qstep_bench.demo_agents import AGENTS, boards_with_agents

    steps = found.steps
    console.print(
        f"\nSo far, this computer chose the actions. Now the chip chooses them: {AGENTS} agents, each\n"
        "with its own table, act and learn in hardware; the link carries commands and tables.\n\n"
        f"{steps:,} steps in {found.clocks:,} clocks of the chip, simulated in "
        f"{found.seconds:.2g} s of processor time."
    )
    _tell_difference(console, found.differing, found.table.size, "table entries")
    console.print(f"{found.optimal} of {AGENTS} agents found the best way.")
    boards = sorted(boards_with_agents(), key=lambda report: -report.clock_mhz)
    if boards:
        console.print("At the bitstreams' clocks (estimated by place and route, not measured):\n")
    for report in boards:
        # Each step takes one clock of the lane; all others are clocks of the link, which may be slower.
        link_mhz = report.link.clock_mhz if report.link else report.clock_mhz
        milliseconds = (steps / report.clock_mhz + (found.clocks - steps) / link_mhz) / 1e3
        console.print(f"    {report.board:<22}{report.clock_mhz:>4g} MHz{milliseconds:>8.1f} ms")


def _tell_difference(console: Console, differing: int, size: int, what: str) -> None:
    if differing:
        console.print(f"{differing} of {size} {what} differ.", style="bold red")
    else:
        console.print(f"All {size:,} {what} match the model's bit for bit.", style="bold green")


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


def _draw(console: Console, found: OnChip, on_pole: OnPole, speed: Comparison, out: Path) -> None:
    from qstep_bench import demo_picture
    from qstep_bench.boards import load_reports

    paths = demo_picture.draw(
        found, on_pole, demo_picture.bars(speed, found, load_reports(())), out
    )
    console.print(
        f"\nThe pictures, for light and dark pages: {', '.join(map(str, paths))}", soft_wrap=True
    )
