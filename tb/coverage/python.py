"""Measure which lines and branches of QStep's Python the tests take.

    python -m tb.coverage.python [--jobs N] [TEST FILE]...

Each file of tests runs by itself, with Coverage.py watching it and the processes that it starts. What it
took is kept under ``build/coverage/python`` until a source changes, so an interrupted run continues. The
command prints a row per folder, and writes ``python.txt``, with the lines and branches that are missed,
and ``python.json`` to ``build/coverage``. It does not count what Numba compiles, because Coverage.py
does not see it run. It fails if a test fails.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import coverage
import pytest
from rich.console import Console
from rich.table import Table
from tb.bench import TB
from tb.source_digest import source_digest

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


def measured(
    tests: Sequence[Path], jobs: int, folder: Path
) -> tuple[list[Path], coverage.Coverage]:
    """Run files of tests; return those that fail, and the counts of all processes."""
    places = [folder / f"{test.parent.name}-{test.stem}" for test in tests]
    with ThreadPoolExecutor(jobs) as pool:
        passed = list(pool.map(_is_passed, tests, places))
    counts = coverage.Coverage(
        data_file=str(folder / ".coverage"), config_file=str(_settings(folder))
    )
    counts.combine([str(place) for place in places], keep=True)
    return [test for test, is_right in zip(tests, passed, strict=True) if not is_right], counts


def _settings(folder: Path) -> Path:
    make_folder(folder)
    file = folder / "python.cfg"
    write_atomically(file, settings(folder / ".coverage").encode())
    return file


def _is_passed(test: Path, place: Path) -> bool:
    """Run a file of tests, if it has not passed yet; leave the counts of its processes in a folder."""
    passed = place / "passed"
    if passed.exists():
        return True
    shutil.rmtree(place, ignore_errors=True)
    command = [sys.executable, "-m", "coverage", "run", f"--rcfile={_settings(place)}"]
    command += ["-m", "pytest", "-q", str(test)]
    with (place / "log").open("w", encoding="utf-8") as log:
        out = {"stdout": log, "stderr": subprocess.STDOUT}
        status = subprocess.run(command, cwd=TB.parent, check=False, **out).returncode
    is_right = status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    print(f"{test.name}: {'passed' if is_right else f'FAILED, see {log.name}'}", flush=True)
    if is_right:
        passed.touch()
    return is_right


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
@click.argument(
    "tests", nargs=-1, metavar="[TEST FILE]...", type=click.Path(path_type=Path, exists=True)
)
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Files at a time.")
def main(tests: tuple[Path, ...], jobs: int) -> None:
    failed, counts = measured(
        tests or sorted(TB.rglob("test_*.py")), jobs, OUT / "python" / source_digest()
    )
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
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
