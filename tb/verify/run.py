"""The command behind ``make verify``: all that shows that QStep is verified, and a report on it.

A command that has passed is carried out again only once a source has changed, so an interrupted run
continues. The results are in ``build/verify/results.json`` and in the report
``build/verify/index.html``.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console
from tb.bench import TB
from tb.source_digest import source_digest
from tb.verify import figures
from tb.verify.report import REPORT, report
from tb.verify.rows import RECORD, ROWS, Found, commands_of, read_record, write_record

from qstep.files import make_folder, write_atomically

__all__ = ["main"]

_ROOT = TB.parent
_TAIL = 40  # lines of a failed command's output


def _commit() -> str:
    git = ["git", "describe", "--always", "--exclude=*", "--dirty=+"]
    answer = subprocess.run(git, cwd=_ROOT, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "unknown"


def _carry_out(command: str, sources: str, log: Path) -> Found:
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "figures"
        with log.open("w", encoding="utf-8") as out:
            answer = subprocess.run(
                figures.arguments(command, written),
                cwd=_ROOT,
                stdout=out,
                stderr=subprocess.STDOUT,
                check=False,
            )
        passed = answer.returncode == 0
        counts, details = figures.read(command, written) if passed else ({}, [])
    return Found(
        passed,
        datetime.now(UTC).date().isoformat(),
        _commit(),
        sources,
        round(time.perf_counter() - begin),
        counts,
        details,
    )


@click.command(help=__doc__.splitlines()[0])
@click.argument("row", nargs=-1, type=click.IntRange(1, len(ROWS)))
@click.option("--fresh", is_flag=True, help="Carry out commands that have passed, too.")
def main(row: tuple[int, ...], fresh: bool) -> None:
    """Carry out the commands of the rows given (default: all of them)."""
    console = Console()
    record = read_record(RECORD)
    chosen = [each for each in ROWS if each.number in row or not row]
    commands = commands_of(chosen)
    sources = source_digest()
    for number, command in enumerate(commands, 1):
        place = f"[{number}/{len(commands)}] {command}"
        old = record.get(command)
        if old and old.passed and old.sources == sources and not fresh:
            console.print(f"{place}: passed on {old.date}", markup=False, soft_wrap=True)
            continue
        log = REPORT.parent / f"{hashlib.sha256(command.encode()).hexdigest()[:8]}.log"
        make_folder(log.parent)
        console.print(f"{place}: output in {log.relative_to(_ROOT)}", markup=False, soft_wrap=True)
        with console.status(f"{place}, since {datetime.now():%H:%M}"):
            found = _carry_out(command, sources, log)
        record = {**read_record(RECORD), command: found}  # another run may have written meanwhile
        write_record(record, RECORD)
        if not found.passed:
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
            console.print("\n".join(lines[-_TAIL:]), markup=False, highlight=False, soft_wrap=True)
        verdict = "passed" if found.passed else "FAILED"
        console.print(
            f"    {verdict} in {found.seconds:.0f} s {found.figures or ''}",
            markup=False,
            soft_wrap=True,
        )
    make_folder(REPORT.parent)
    write_atomically(REPORT, report(record).encode())
    for each in chosen:
        says = f"{each.verdict(record)}; {each.says(record)}"
        console.print(f"{each.number:2} {each.name}: {says}", markup=False, soft_wrap=True)
    console.print(f"wrote {REPORT.relative_to(_ROOT)}")
    sys.exit(any(not record[command].passed for command in commands))


if __name__ == "__main__":
    main()
