"""``qstep bench``: every backend that this machine has, in one table."""

from __future__ import annotations

from pathlib import Path

import click

from qstep.bench import WORKLOAD_NAMES

__all__ = ["command"]


@click.command(short_help="Time every backend that this machine has.")
@click.option("--quick", is_flag=True, help="Fewer and shorter repeats: about 30 seconds.")
@click.option(
    "--workload",
    "names",
    multiple=True,
    type=click.Choice(WORKLOAD_NAMES),
    help="What to learn; may be repeated.  [default: all]",
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write all repeats.")
@click.option("--plot", "plot_file", type=click.Path(path_type=Path), help="Write a picture.")
@click.option(
    "--report",
    "reports",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A board's report from qstep build; may be repeated.  [default: the repository's fpga/reports]",
)
def command(
    quick: bool,
    names: tuple[str, ...],
    json_file: Path | None,
    plot_file: Path | None,
    reports: tuple[Path, ...],
) -> None:
    """Time every backend that this machine has, and check what it learnt.

    Kernel (the update loop) and end-to-end rates stand side by side. Boards and serial lines stand among
    them in a second table, with the line rate that would make a board as fast as each backend. No
    hardware is measured: clocks are estimates of place and route, clocks per update come from
    simulation.
    """
    from rich.console import Console
    from rich.progress import Progress

    from qstep.bench.boards import load_reports
    from qstep.bench.plot import plot
    from qstep.bench.report import run
    from qstep.bench.table import render

    builds = load_reports(reports)
    rounds, seconds = (3, 0.1) if quick else (9, 0.5)
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("bench")

        def progress(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        report = run(names or WORKLOAD_NAMES, rounds, seconds, progress, builds)
    Console().print(render(report))
    if json_file is not None:
        report.write(json_file)
    if plot_file is not None:
        plot(report, plot_file)
