"""``qstep profile``: shows where a backend spends its time."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from qstep._io.files import write_atomically
from qstep.cli._options import FiniteRange, refuse, torch_device_option
from qstep.cli._output import JsonOutput, console, json_option, room_for
from qstep_bench.machine import machine, today, versions
from qstep_bench.profilers import TOOLS, Profile, profile

__all__ = ["command"]


@click.command(short_help="Name the hot spot of a backend and its share of the time.")
@click.argument("backend", metavar="[BACKEND]", required=False)
@click.option(
    "--tool",
    type=click.Choice(tuple(TOOLS)),
    default="cprofile",
    show_default=True,
    help="Profile calls, lines, PyTorch operations, or stack samples.",
)
@torch_device_option("cpu")
@click.option(
    "--seconds",
    type=FiniteRange(0, 3600, min_open=True),
    default=1.0,
    show_default=True,
    help="Run time of the work without a profiler.",
)
@click.option(
    "--top", type=click.IntRange(min=1), default=10, show_default=True, help="Places to list."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="build/profile",
    show_default=True,
    help="Folder for the profile.",
)
@json_option("all places")
def command(
    backend: str | None,
    tool: str,
    torch_device: str,
    seconds: float,
    top: int,
    out: Path,
    json_output: JsonOutput,
) -> None:
    """Run a BACKEND under a profiler and report where it spends its time.

    BACKEND is a backend of any system in qstep bench; without it, the command lists all backends.
    pyinstrument writes an HTML page, torch a trace for chrome://tracing or ui.perfetto.dev, cprofile a
    file for pstats and snakeviz, and line the whole function as text.

    \b
    Examples:
      qstep profile
      qstep profile dictionary
      qstep profile dictionary --tool line
      qstep profile torch --tool torch --seconds 0.2
      qstep profile torch-plain --tool pyinstrument
    """
    from qstep_bench import systems
    from qstep_bench.measure import calibrate

    if backend is None:
        refuse(["tool", "seconds", "top", "out", "json_output"], "needs a BACKEND")
        for name in systems.PROFILED:
            for form in systems.load(name, torch_device).forms:
                click.echo(f"{form.name:26}{name}: {form.what}")
        return
    form = systems.find(backend, torch_device)
    with room_for(out / f"{backend}-{tool}", json_output.file):
        with console(stderr=True).status(f"{backend}: warming up"):
            amount = calibrate(form, seconds)
        with console(stderr=True).status(f"{backend}: under {tool}"):
            found = profile(tool, lambda: form.run(amount))
    file = out / f"{backend}-{tool}{found.suffix}"
    write_atomically(file, found.content())
    report = {
        "backend": backend,
        "tool": tool,
        "amount": amount,
        "sentence": found.sentence,
        "date": today(),
        "machine": machine(),
        "versions": versions(),
        "spots": [asdict(spot) for spot in found.spots],
        "file": str(file),
    }
    json_output.tell(report, _table(found, top), f"{backend}: {found.sentence}", str(file))


def _table(found: Profile, top: int) -> Table:
    table = Table(box=SIMPLE_HEAD)
    for name in ("share", "seconds", "calls"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("where", overflow="fold")
    for spot in found.spots[:top]:
        calls = "" if spot.calls is None else f"{spot.calls:,}"
        table.add_row(f"{spot.share:.1%}", f"{spot.seconds:.3f}", calls, spot.where)
    return table
