"""Measure which lines and branches of QStep's Python the unit tests take.

    python -m tb.coverage.python [--jobs N] [TEST FILE]...

The tests that need no simulator run once more, with Coverage.py watching them and the processes that
they start. It prints a row per folder, and writes ``python.txt``, with the lines and branches that are
missed, and ``python.json`` to ``build/coverage``. Not counted is what Numba compiles, because
Coverage.py does not see it run. It fails if a test fails.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import click
import coverage
from rich.console import Console
from rich.table import Table
from tb.bench import TB

from qstep.files import make_folder, write_atomically

OUT = TB.parent / "build" / "coverage"

SOURCES = ("sw/qstep", "rtl/qstep_rtl", "sim/qstep_sim", "fpga/qstep_fpga")

_SETTINGS = """\
[run]
branch = true
parallel = true
patch = subprocess
data_file = {data}
source =
    {sources}
[report]
exclude_also =
    @compiled
    @njit
    @overload
    if TYPE_CHECKING:
    class .*\\(Protocol\\):
"""


def settings(data: Path) -> str:
    """Return Coverage.py's settings, for counts in a file."""
    sources = "\n    ".join(str(TB.parent / source) for source in SOURCES)
    return _SETTINGS.format(data=data, sources=sources)


def measured(tests: list[str], jobs: int, folder: Path) -> tuple[int, coverage.Coverage]:
    """Run tests; return pytest's exit status and the counts of all processes."""
    make_folder(folder)
    for old in folder.glob(".coverage*"):
        old.unlink()
    file = folder / "python.cfg"
    write_atomically(file, settings(folder / ".coverage").encode())
    command = [sys.executable, "-m", "coverage", "run", f"--rcfile={file}", "-m", "pytest"]
    command += ["-q", "-n", str(jobs), "--dist", "worksteal", *tests]
    status = subprocess.run(command, cwd=TB.parent, check=False).returncode
    counts = coverage.Coverage(config_file=str(file))
    counts.combine([str(folder)])
    counts.save()
    return status, counts


def by_folder(report: Path) -> dict[str, Counter[str]]:
    """Return lines and branches, covered and all, of each folder, from Coverage.py's own report."""
    folders: dict[str, Counter[str]] = {}
    for name, file in json.loads(report.read_text(encoding="utf-8"))["files"].items():
        counts = folders.setdefault(Path(name).parent.as_posix(), Counter())
        for kind in ("statements", "branches"):
            covered = "covered_lines" if kind == "statements" else "covered_branches"
            counts[kind] += file["summary"][f"num_{kind}"]
            counts[f"covered {kind}"] += file["summary"][covered]
    return folders


def _cells(counts: Counter[str]) -> list[str]:
    return [
        f"{counts[f'covered {kind}']:,}/{counts[kind]:,}"
        f" {counts[f'covered {kind}'] / max(counts[kind], 1):6.1%}"
        for kind in ("statements", "branches")
    ]


@click.command(help=(__doc__ or "").splitlines()[0])
@click.argument("tests", nargs=-1, metavar="[TEST FILE]...")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Tests at a time.")
def main(tests: tuple[str, ...], jobs: int) -> None:
    status, counts = measured([*tests] or ["-m", "unit"], jobs, OUT / "python")
    counts.json_report(outfile=str(OUT / "python.json"))
    text = io.StringIO()
    counts.report(show_missing=True, skip_covered=True, file=text)
    write_atomically(OUT / "python.txt", text.getvalue().encode())
    table = Table("folder", "lines", "branches")
    folders = by_folder(OUT / "python.json")
    for name, counted in (*sorted(folders.items()), ("all", sum(folders.values(), Counter()))):
        table.add_row(name, *_cells(counted))
    Console(width=120).print(table)
    print("missed: see build/coverage/python.txt")
    sys.exit(status)


if __name__ == "__main__":
    main()
