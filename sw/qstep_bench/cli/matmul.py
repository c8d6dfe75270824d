"""``qstep matmul``: compares this machine's CPU with its GPUs."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from qstep._io import extras
from qstep._io.pictures import write_pictures
from qstep.cli._options import plot_option
from qstep.cli._output import JsonOutput, json_option, room_for, task_progress

__all__ = ["command"]

_LARGEST = 16384


def _sizes(_: click.Context, __: click.Parameter, text: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(word) for word in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of integers such as 64,256") from None
    wrong = [size for size in sizes if not 1 <= size <= _LARGEST]
    if wrong:
        raise click.BadParameter(f"{wrong[0]} is not a legal size; sizes go from 1 to {_LARGEST}")
    return tuple(sorted(set(sizes)))


@click.command(short_help="Compare processor and GPU by multiplying two matrices.")
@click.option(
    "--sizes",
    callback=_sizes,
    default="64,128,256,512,1024,2048",
    show_default=True,
    metavar="N,...",
    help=f"Rows and columns of the factors, each 1..{_LARGEST}.",
)
@click.option(
    "--rounds", type=click.IntRange(min=1), default=5, show_default=True, help="Repeats per device."
)
@json_option("everything")
@plot_option("Write a picture")
def command(
    sizes: tuple[int, ...], rounds: int, json_output: JsonOutput, plot_file: Path | None
) -> None:
    """Multiply square matrices on every device that PyTorch finds, and compare the speeds.

    Missing devices are listed and skipped. The unit is GFLOP/s: a billion additions and
    multiplications per second, in float32.
    """

    matmul = extras.load("qstep_bench.matmul", "torch")
    with (
        room_for(json_output.file, plot_file),
        task_progress("matmul") as progress,
    ):
        report = matmul.compare(sizes, rounds, progress=progress)
    json_output.tell(asdict(report), *_in_words(report))
    if plot_file is not None:
        write_pictures({plot_file: partial(matmul.draw, report)})


def _in_words(report: Any) -> list[object]:
    """Return a table of the speeds, and lines that describe the devices and the versions."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from qstep_bench.measure import number, spread

    found = {(row.size, row.device): row.gflops for row in report.rows}
    table = Table(box=SIMPLE_HEAD, title="GFLOP/s, float32", title_justify="left")
    table.add_column("size", justify="right")
    others = [device for device in report.devices if device != "cpu"]
    for device in report.devices:
        table.add_column(device, justify="right")
    for device in others:
        table.add_column(f"{device} to cpu", justify="right")
    for size in sorted({row.size for row in report.rows}):
        cpu = found[size, "cpu"].median
        table.add_row(
            f"{size:,}",
            *(spread(found[size, device]) for device in report.devices),
            *(number(found[size, device].median / cpu) for device in others),
        )
    threads = {"cpu": f", {report.threads} threads"}
    return [
        table,
        *(f"{device}: {what}{threads.get(device, '')}" for device, what in report.devices.items()),
        *(f"{entry.name}: left out, {entry.reason}" for entry in report.absent),
        f"{report.date}; torch {report.versions['torch']}",
    ]
