"""Run the commands of docs/verification.md on one clean commit, and write a report.

    python -m tb.verify.run          # all rows; an interrupted run continues at the same commit
    python -m tb.verify.run 5 13     # only these rows

A command that passed at this commit is not run again. Results are kept in ``build/verify/results.json``.
The report is written to ``index.html`` and ``report.json`` in ``build/verify``, and the commands' output
to a folder there that is named after the commit. A result from another commit, or from a tree that
changed while the command ran, does not count.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from tb.bench import TB
from tb.verify import figures
from tb.verify.report import Results, as_html, read_rows, report

from qstep._io.files import make_folder, write_atomically

__all__ = ["TreeError", "verify"]

_TAIL = 40  # lines shown of a failed command's output


class TreeError(click.ClickException):
    """The sources do not match a single commit."""


def _git(root: Path, *words: str) -> list[str]:
    answer = subprocess.run(["git", *words, "-z"], cwd=root, capture_output=True, check=False)
    if answer.returncode:
        raise TreeError(f"{root} must be a clone of QStep: {os.fsdecode(answer.stderr).strip()}")
    return [text for text in os.fsdecode(answer.stdout).split("\0") if text]


def _state(root: Path) -> dict[str, str | int]:
    """Return the commit, and the modification time of each file that git tracks or would not ignore."""
    files = _git(root, "ls-files", "--cached", "--others", "--exclude-standard")
    times = {file: os.lstat(root / file).st_mtime_ns for file in files if (root / file).exists()}
    return {"HEAD": _git(root, "log", "-1", "--format=%H")[0], **times}


def _some(files: Collection[str]) -> str:
    return ", ".join(sorted(files)[:10]) + (f" and {len(files) - 10} more" * (len(files) > 10))


def verify(root: Path, numbers: Collection[int] = ()) -> bool:
    """Run the commands of rows (default: all), and return whether all of these rows are met.

    Raises
    ------
    TreeError
        A file differs from the commit, or was written while a command ran.
    click.BadParameter
        A row number does not exist.
    """
    rows = read_rows((root / "docs/verification.md").read_text(encoding="utf-8"))
    if wrong := set(numbers) - {row.number for row in rows}:
        raise click.BadParameter(f"there is no row {min(wrong)}; rows are 1 to {len(rows)}")
    status = _git(root, "status", "--porcelain", "--no-renames", "--untracked-files=all")
    if changed := [entry[3:] for entry in status]:
        raise TreeError(f"changed and not committed: {_some(changed)}; commit or remove this first")
    state = _state(root)
    commit = str(state["HEAD"])
    folder = root / "build/verify"
    chosen = [row for row in rows if not numbers or row.number in numbers]
    commands = list(dict.fromkeys(command for row in chosen for command in row.commands))
    results = _add(folder, commit, {})
    try:
        for number, command in enumerate(commands, 1):
            print(f"[{number}/{len(commands)}] {command}", flush=True)
            kept = results[commit].get(command, {})
            if kept.get("outcome") == "passed":
                print(f"    passed at this commit on {kept['date']}")
                continue
            result = _run(command, root, folder / commit)
            written = {file for file, _ in state.items() ^ _state(root).items()}
            if written:
                result["outcome"] = "void"
            results = _add(folder, commit, {command: result})
            print(f"    {result['outcome']} in {result['seconds']} s {result['figures'] or ''}")
            if written:
                raise TreeError(
                    f"written while `{command}` ran, which makes it void: {_some(written)}"
                )
    finally:
        content = report(rows, results, commit)
        write_atomically(folder / "report.json", f"{json.dumps(content, indent=1)}\n".encode())
        write_atomically(folder / "index.html", as_html(content).encode())
        print(f"{commit}: {folder / 'index.html'}")
    verdicts = [row.verdict(results, commit) for row in chosen]
    for row, verdict in zip(chosen, verdicts, strict=True):
        print(f"{row.number:2} {row.name}: {verdict}")
    return set(verdicts) == {"met"}


def _add(folder: Path, commit: str, new: dict[str, Any]) -> Results:
    """Add results of a commit to the results stored in this folder, and return all results."""
    make_folder(folder / commit)
    path = folder / "results.json"
    results: Results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    results[commit] = results.pop(commit, {}) | new
    write_atomically(path, f"{json.dumps(results, indent=1)}\n".encode())
    return results


def _run(command: str, root: Path, folder: Path) -> dict[str, Any]:
    """Run a command with its output written to a file in this folder; return its result."""
    name = re.sub(r"\W+", "-", command).strip("-")
    output, written = folder / f"{name}.log", folder / f"{name}.figures"
    written.unlink(missing_ok=True)
    begin = time.monotonic()
    with output.open("w", encoding="utf-8") as log:
        arguments = figures.arguments(command, written)
        code = subprocess.call(arguments, cwd=root, stdout=log, stderr=subprocess.STDOUT)
    found = {} if code else figures.read(command, written)
    outcome = "failed" if code else "skipped tests" if found.get("skipped") else "passed"
    if outcome != "passed":
        lines = output.read_text(encoding="utf-8", errors="replace").splitlines()
        print("\n".join(lines[-_TAIL:]))
    return {
        "outcome": outcome,
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "seconds": round(time.monotonic() - begin),
        "figures": found,
        "output": str(output.relative_to(root)),
    }


@click.command(help=__doc__.splitlines()[0])
@click.argument("row", nargs=-1, type=int)
def main(row: tuple[int, ...]) -> None:
    """Exit with 1 unless all rows given are met."""
    sys.exit(not verify(TB.parent, row))


if __name__ == "__main__":
    main()
