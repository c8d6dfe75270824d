"""Measure the hardware's code coverage over all benches, and compare it with the waivers.

    python -m tb.coverage [--jobs N] [--json FILE]

Writes the source line of each uncovered point to ``build/coverage/report.txt``. The run fails if a point
is neither covered nor waived, if a waiver is not needed, or if yosys cannot confirm that a bit waived as
constant really is constant. The counts of each simulation are cached until the hardware, bench or model
changes, so an interrupted run resumes.
"""

import json
import os
import sys
from pathlib import Path

import click
from rich.console import Console
from tb.bench import TB, BenchError
from tb.coverage.constants import constants
from tb.coverage.points import counted, merged
from tb.coverage.report import as_table, as_text, figures_of
from tb.coverage.runs import all_runs, count, unmeasured
from tb.coverage.waivers import judged, read_waivers

from qstep._io.files import make_folder, write_atomically

OUT = TB.parent / "build" / "coverage"


@click.command(help=(__doc__ or "").splitlines()[0])
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Runs at a time.")
@click.option("--json", "file", type=click.Path(path_type=Path), help="Write the figures, too.")
def main(jobs: int, file: Path | None) -> None:
    waivers, runs = read_waivers(), all_runs()
    try:
        files = count(runs, jobs, lambda line: print(line, flush=True))
    except BenchError as error:
        print(error)
        sys.exit(1)
    hits = merged(map(counted, files))
    print("looking for constants", flush=True)
    is_constant = constants(runs, jobs)
    verdict, absent = judged(hits, waivers, is_constant), unmeasured(hits)
    make_folder(OUT)
    write_atomically(OUT / "report.txt", as_text(verdict).encode())
    figures = figures_of(verdict)
    if file:
        write_atomically(file, json.dumps(figures).encode())
    Console(width=120).print(as_table(verdict))
    for name in absent:
        print(f"in no run: {name}")
    for line in verdict.unneeded:
        print(f"not needed: {line}")
    for point in verdict.unproved:
        print(f"not proved to be constant: {point.file} line {point.line}, {point.signal}")
    print(
        "{covered:,} of {points:,} points covered, {waived:,} waived for {reasons} reasons, "
        "{constants:,} of these proved to be constant, {missed:,} missed: see "
        "build/coverage/report.txt".format(**figures)
    )
    sys.exit(not verdict.passed or bool(absent))


if __name__ == "__main__":
    main()
