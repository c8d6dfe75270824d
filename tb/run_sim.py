"""Run the RTL benches and pyuvm environments, and print a table of the results (``make sim``).

python -m tb.run_sim --seed 7 --transitions 50000 --test LaneSuite --waves
"""

import json
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from tb.bench import TB, BenchError, Run, parameter_id, run
from tb.bus.axi_runs import AXI_BEATS, AXI_LANES, axi_agents_run, axi_run
from tb.unit.unit_runs import FARMS, UNITS, chain_run
from tb.uvm.acting_runs import ACTING
from tb.uvm.device_runs import CONFIGS, device_run
from tb.uvm.lane_runs import EXACT, SUITES, THROUGHPUT
from tb.uvm.ucis import as_ucis

from qstep._io.files import make_folder, write_atomically

__all__ = ["main"]

UCIS = TB.parent / "build" / "sim" / "coverage.ucis.xml"
"""File with the coverage bins of all suites, for tools that read UCIS."""

_LOG_COLUMNS = 160
"""Width of the tables if the output is not a terminal."""


@dataclass(frozen=True)
class Outcome:
    """The result of one run: figures of a pyuvm test, or the message of a failure."""

    run: Run
    seconds: float
    figures: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    waves: str = ""


def _carry_out(this: Run) -> Outcome:
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        try:
            report = run(replace(this, options={**this.options, "report": str(path)}))
        except BenchError as error:
            return Outcome(this, time.perf_counter() - start, error=str(error))
        figures = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    waves = str(report.folder / "dump.vcd") if report.folder.exists() else ""
    return Outcome(this, time.perf_counter() - start, figures, waves=waves)


def _label(this: Run) -> str:
    """Return the name of the build: its parameters, or the name of the device's configuration."""
    if "config" in this.options:
        return f"device {Path(this.options['config']).stem}"
    return parameter_id(this.parameters)


def _exact(outcome: Outcome) -> int:
    """Return the number of compared transitions or agent steps."""
    figures = outcome.figures
    return int(figures.get("transitions", figures.get("steps", 0)))


def _suite(outcome: Outcome) -> bool:
    """Return whether the run must hit every bin and did."""
    return "holes" in outcome.figures and not outcome.figures["holes"]


def _figures(outcome: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.run.test or outcome.run.top,
        "parameters": _label(outcome.run),
        "seed": outcome.run.seed,
        "exact": _exact(outcome),
        "coverage": outcome.figures["coverage"] if _suite(outcome) else {},
        "seconds": round(outcome.seconds, 1),
        "error": outcome.error,
    }


def _row(outcome: Outcome) -> list[str]:
    figures = outcome.figures
    covered = figures["coverage"].values() if _suite(outcome) else []
    return [
        outcome.run.test or outcome.run.top,
        _label(outcome.run),
        f"{_exact(outcome):,}" if _exact(outcome) else "",
        " ".join(f"{name} {value:.3f}" for name, value in figures.get("rates", {}).items()),
        f"{sum(hit for hit, _ in covered)}/{sum(bins for _, bins in covered)}" if covered else "",
        f"{outcome.seconds:.1f}",
        "[red]FAIL[/red]" if outcome.error else "[green]pass[/green]",
    ]


def _print_coverage(console: Console, outcomes: list[Outcome]) -> None:
    """Print, as hit/listed, the bins of each coverage point in the suites that must hit all bins."""
    suites = [o for o in outcomes if _suite(o)]
    points = list(dict.fromkeys(point for o in suites for point in o.figures["coverage"]))
    table = Table("functional coverage", *(_label(o.run) for o in suites))
    for point in points:
        cells = [o.figures["coverage"].get(point) for o in suites]
        table.add_row(point, *(f"{cell[0]}/{cell[1]}" if cell else "" for cell in cells))
    if suites:
        console.print(table)


@click.command(help=__doc__.splitlines()[0])
@click.option("--seed", default=1, show_default=True, help="Seed of every random choice.")
@click.option("--transitions", type=click.IntRange(1), help="Random transitions of each lane run.")
@click.option("--test", default="", help="Only runs whose test or top contains this text.")
@click.option("--waves", is_flag=True, help="Record a VCD file of each run.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Runs at a time.")
@click.option("--json", "path", type=click.Path(path_type=Path), help="Write figures here as well.")
def main(
    seed: int, transitions: int | None, test: str, waves: bool, jobs: int, path: Path | None
) -> None:
    waves = waves or os.environ.get("WAVES", "0") not in ("", "0")
    devices = [device_run(config) for config in CONFIGS]
    farms = [chain_run(config) for config in FARMS]
    buses = [
        *map(axi_run, AXI_LANES),
        *(axi_agents_run("axi_agents_tests", stream_bytes=size) for size in AXI_BEATS),
    ]
    runs = [
        replace(
            this,
            seed=seed,
            waves=waves,
            options={**this.options, "transitions": str(transitions)}
            if transitions and "transitions" in this.options
            else this.options,
        )
        for this in [*EXACT, *devices, *SUITES, *ACTING, *THROUGHPUT, *UNITS, *farms, *buses]
        if test in (this.test or this.top)
    ]
    if not runs:
        raise click.UsageError(f"no run's test or top holds {test!r}")
    console = Console()
    if not console.is_terminal:
        console = Console(width=_LOG_COLUMNS)
    console.print(f"seed {seed}, {len(runs)} runs, {jobs} at a time")
    outcomes = []
    with ProcessPoolExecutor(jobs) as pool:
        for outcome in pool.map(_carry_out, runs):
            outcomes.append(outcome)
            if outcome.error:
                console.print(outcome.error, markup=False, highlight=False)
            else:
                console.print(f"{' '.join(_row(outcome)[:2])}: pass")
            if outcome.waves:
                console.print(f"waves: {outcome.waves}", soft_wrap=True)
    table = Table("test", "parameters", "transitions", "updates/clock", "bins", "s", "result")
    for outcome in outcomes:
        table.add_row(*_row(outcome))
    _print_coverage(console, outcomes)
    console.print(table)
    suites = {
        f"{_figures(o)['name']} {_label(o.run)}": o.figures["hits"] for o in outcomes if _suite(o)
    }
    if suites:
        make_folder(UCIS.parent)
        write_atomically(UCIS, as_ucis(suites, seed))
        console.print(f"bins: {UCIS.relative_to(TB.parent)}")
    if path:
        path.write_text(json.dumps([_figures(outcome) for outcome in outcomes], indent=1) + "\n")
    failed = sum(bool(outcome.error) for outcome in outcomes)
    total = sum(map(_exact, outcomes))
    console.print(f"{total:,} transitions exact; {len(outcomes) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
