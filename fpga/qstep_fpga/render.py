"""Renders one report as a table for the terminal, or several as Markdown tables.

This command prints the tables of ``fpga/README.md``::

    python -m qstep_fpga.render fpga/reports/*.json
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click
from rich.console import Group
from rich.table import Table
from rich.text import Text

from qstep.errors import FileFormatError
from qstep.spec.config import Config
from qstep_fpga.report import BuildReport

__all__ = ["main", "markdown", "origins", "render"]


def render(report: BuildReport) -> Group:
    """Return the table of a report for the terminal."""
    config = Config.from_dict(report.config)
    low, median, high = report.spread
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_row("configuration", f"{_geometry(config)}, digest {report.digest[:16]}")
    made_of = f", sources of commit {report.commit}" if report.commit else ""
    table.add_row("build", f"{report.build}{made_of}")
    for name, (used, available) in report.resources.items():
        table.add_row(name, f"{used:,} of {available:,} ({used / available:.0%})")
    table.add_row("clock", f"{report.clock_mhz:g} MHz, {'met' if report.is_met else 'NOT MET'}")
    table.add_row(
        "highest clock",
        f"{low:.1f} / {median:.1f} / {high:.1f} MHz (lowest, median, highest of "
        f"{len(report.fmax_mhz)} placement seeds)",
    )
    if report.link is not None:
        reached = report.link.fmax_mhz.values()
        table.add_row(
            "link's clock",
            f"{report.link.clock_mhz:g} MHz; highest {min(reached):.1f} to {max(reached):.1f} MHz",
        )
    table.add_row("critical path", report.critical_path)
    table.add_row("lane", f"{report.core_rate:g} million updates/s if no update waits for another")
    if not report.agents:
        full, continuing = report.link_rates
        table.add_row(
            "link",
            f"{full:.4f} million transitions/s at {config.link.baud:,} baud, "
            f"{continuing:.4f} if each starts where the previous one ended",
        )
    table.add_row("tools", _tools(report))
    return Group(
        Text(f"{report.board} ({report.part})", style="bold"),
        table,
        Text("Place-and-route estimates; nothing was measured on a board."),
    )


def markdown(reports: Sequence[BuildReport]) -> str:
    """Return the reports as a Markdown table, one row each."""
    head = ["board", "configuration", "logic", "FF", "block RAM", "DSP", "clock, MHz"]
    head += [
        "highest clock, MHz (min / median / max)",
        "seeds",
        "million updates/s at best: lane / link",
    ]
    rows = []
    for report in reports:
        use = {name: f"{used:,} / {there:,}" for name, (used, there) in report.resources.items()}
        low, median, high = report.spread
        link = "not needed" if report.agents else f"{report.link_rates[1]:.3f}"
        rows.append(
            [
                f"{report.board} ({report.part})",
                _geometry(Config.from_dict(report.config)),
                use.get("LUT4") or use["logic cells"],
                use.get("FF", "in the cells"),
                use["block RAM"],
                use["DSP"],
                f"{report.clock_mhz:g}",
                f"{low:.1f} / {median:.1f} / {high:.1f}",
                str(len(report.fmax_mhz)),
                f"{report.core_rate:g} / {link}",
            ]
        )
    return _table(head, rows)


def origins(reports: Sequence[BuildReport]) -> str:
    """Return the identities and tools of the reports as a Markdown table, one row each."""
    head = ["board", "digest", "build", "commit", "seed of the bitstream", "critical path", "tools"]
    rows = [
        [
            *(r.board, r.digest[:16], r.build, r.stale or r.commit, str(r.seed)),
            *(r.critical_path, _tools(r)),
        ]
        for r in reports
    ]
    return _table(head, rows)


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _tools(report: BuildReport) -> str:
    return ", ".join(f"{name} {version}" for name, version in report.tools.items())


def _geometry(config: Config) -> str:
    acting = config.acting
    lane = f"loop depth {config.loop_depth}"
    if acting:
        lane = "1 agent" if acting.agents == 1 else f"{acting.agents} agents"
    return f"{config.states} x {config.actions}, {config.format}, {lane}"


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
def main(files: tuple[Path, ...]) -> None:
    """Print two Markdown tables of the reports FILES: one of figures, one of identities and tools."""
    try:
        reports = [BuildReport.read(path) for path in files]
    except FileFormatError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{markdown(reports)}\n{origins(reports)}", nl=False)


if __name__ == "__main__":
    main()
