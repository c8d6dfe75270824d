"""``qstep bench``: times and checks every backend that this machine can run."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from qstep._io.pictures import write_pictures
from qstep.cli._options import plot_option, refuse, torch_device_option
from qstep.cli._output import JsonOutput, json_option, room_for, task_progress
from qstep_bench.systems import NAMES, TABLES

__all__ = ["command"]


@click.command(short_help="Time every backend that this machine can run.")
@click.option(
    "--quick", is_flag=True, help="Fewer and shorter repeats: about 30 seconds per system."
)
@click.option(
    "--system",
    "names",
    multiple=True,
    type=click.Choice(NAMES),
    default=TABLES,
    show_default=True,
    help="System to time; may be repeated.",
)
@torch_device_option("cpu")
@json_option("all repeats")
@plot_option("Write a picture")
@click.option(
    "--html",
    "html_file",
    type=click.Path(path_type=Path),
    help="Write the results to an HTML page.",
)
@click.option(
    "--report",
    "reports",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A board's report from qstep build; may be repeated.  [default: the reports of QStep's boards]",
)
def command(
    quick: bool,
    names: tuple[str, ...],
    torch_device: str,
    json_output: JsonOutput,
    plot_file: Path | None,
    html_file: Path | None,
    reports: tuple[Path, ...],
) -> None:
    """Time every backend that this machine can run, and check the results.

    The backends of a system, both plain and fast code, take turns. For systems that fill a table, a
    second table also lists boards, serial lines, and the line rate at which a board would match each
    backend. No hardware is measured: clocks are place-and-route estimates, and line rates are computed.
    """
    from qstep_bench.boards import load_reports
    from qstep_bench.html import write_page
    from qstep_bench.plot import draw
    from qstep_bench.report import run
    from qstep_bench.systems import load
    from qstep_bench.table import render

    if not set(names) & set(TABLES):
        refuse(["reports"], f"needs a system that fills a table: {', '.join(TABLES)}")
    builds = load_reports(reports)
    systems = [load(name, torch_device) for name in names]
    rounds, seconds = (3, 0.1) if quick else (9, 0.5)
    with (
        room_for(json_output.file, plot_file, html_file),
        task_progress("bench") as progress,
    ):
        report = run(systems, rounds, seconds, progress, builds)
    json_output.tell(report.to_dict(), render(report))
    if plot_file is not None:
        write_pictures({plot_file: partial(draw, report)})
    if html_file is not None:
        write_page(report, html_file)
