"""Measure which lines and branches of QStep's Python the tests take, and compare them with the waivers.

    python -m tb.coverage.python [--jobs N] [--json FILE] [TEST FILE]...

Each file of tests runs by itself; Coverage.py watches it and the processes that it starts. What it
took is kept under ``build/coverage/python`` until a source changes: an interrupted run continues. If a
test changes, only its file runs again. The command prints a row per folder, and writes ``python.txt``,
with each line and branch that is not taken, and ``python.json`` to ``build/coverage``. It does not count
what Numba compiles, because Coverage.py does not see it run. It fails if a test fails, if a line or
branch is neither taken nor waived, or if a waiver is not needed.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click
from rich.console import Console
from tb.bench import TB
from tb.coverage.python_points import WAIVERS, judged_python, python_points
from tb.coverage.python_runs import measured
from tb.coverage.report import as_table, as_text
from tb.coverage.waivers import Verdict, read_waivers

from qstep.files import write_atomically

OUT = TB.parent / "build" / "coverage"


def counts_of(verdict: Verdict) -> dict[str, int]:
    """Return the figures that row 2 of the verification shows."""
    found = {"waived_python": len(verdict.waived), "missed_python": len(verdict.missed)}
    everything = [*verdict.covered, *verdict.waived, *verdict.missed]
    for kind, name in (("line", "lines"), ("branch", "branches")):
        found[name] = sum(point.kind == kind for point in everything)
        found[f"covered_{name}"] = sum(point.kind == kind for point in verdict.covered)
    return found


@click.command(help=(__doc__ or "").splitlines()[0])
@click.argument(
    "tests", nargs=-1, metavar="[TEST FILE]...", type=click.Path(path_type=Path, exists=True)
)
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Files at a time.")
@click.option("--json", "figures", type=click.Path(path_type=Path), help="Write the figures, too.")
def main(tests: tuple[Path, ...], jobs: int, figures: Path | None) -> None:
    waivers = read_waivers(WAIVERS)
    chosen = [test.resolve() for test in tests] or sorted(TB.rglob("test_*.py"))
    failed, counts = measured(chosen, jobs, OUT / "python", lambda line: print(line, flush=True))
    counts.json_report(outfile=str(OUT / "python.json"))
    verdict = judged_python(python_points(OUT / "python.json"), waivers)
    write_atomically(OUT / "python.txt", as_text(verdict).encode())
    found = counts_of(verdict)
    if figures:
        write_atomically(figures, json.dumps(found).encode())
    Console(width=120).print(as_table(verdict, lambda point: str(Path(point.file).parent)))
    for line in verdict.unneeded:
        print(f"not needed: {line}")
    for test in failed:
        print(f"failed: {test}")
    print(
        "{covered_lines:,} of {lines:,} lines and {covered_branches:,} of {branches:,} branches "
        "covered, {waived_python:,} waived by {waivers:,} waivers, {missed_python:,} missed: see "
        "build/coverage/python.txt".format(waivers=len(waivers), **found)
    )
    sys.exit(bool(failed) or not verdict.passed)


if __name__ == "__main__":
    main()
