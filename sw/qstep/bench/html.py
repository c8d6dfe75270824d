"""The benchmark's result as one HTML page that needs nothing else: tables, pictures, machine."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from html import escape
from pathlib import Path

from matplotlib.figure import Figure
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from qstep.bench.plot import draw
from qstep.bench.report import Report
from qstep.bench.table import render
from qstep.files import make_folder, write_atomically

__all__ = ["page", "write_page"]

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222 }
body { max-width: 72em; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; margin: 1.5em 0 0.5em; font-variant-numeric: tabular-nums }
caption { text-align: left; font-weight: 600; padding-bottom: 0.4em }
th, td { padding: 0.25em 0.9em; text-align: left; vertical-align: top; white-space: pre-line }
th { border-bottom: 2px solid #888 }
td { border-bottom: 1px solid #ddd }
.right { text-align: right }
.dim { color: #767676; font-size: 85% }
img { width: 100%; height: auto; margin: 1em 0 }
p { margin: 0.4em 0; max-width: 55em }
"""


def write_page(report: Report, path: Path) -> None:
    """Write the page of a report to a file.

    Raises
    ------
    FileFormatError
        The file cannot be written.
    """
    make_folder(path.parent)
    write_atomically(path, page(report).encode())


def page(report: Report) -> str:
    """Return what the terminal shows, and the picture, as an HTML page without links to anything."""
    body = "\n".join(_html(render(report)))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>QStep benchmark, {escape(report.date)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<h1>QStep benchmark</h1>\n{_picture(draw(report))}\n{body}\n</body>\n</html>\n"
    )


def _picture(figure: Figure) -> str:
    data = io.BytesIO()
    figure.savefig(data, format="svg")
    coded = base64.b64encode(data.getvalue()).decode("ascii")
    return f'<img alt="rates as bars" src="data:image/svg+xml;base64,{coded}">'


def _html(part: RenderableType) -> Iterator[str]:
    """Yield the HTML of what is otherwise printed, so that both say the same."""
    if isinstance(part, Group):
        for inner in part.renderables:
            yield from _html(inner)
    elif isinstance(part, Table):
        yield from _table(part)
    elif isinstance(part, Text):
        if part.plain:
            yield f"<p>{_spans(part)}</p>"
    else:
        raise TypeError(f"{part!r} has no form in HTML")


def _table(table: Table) -> Iterator[str]:
    yield f"<table>\n<caption>{escape(str(table.title))}</caption>"
    sides = [f' class="{c.justify}"' if c.justify == "right" else "" for c in table.columns]
    heads = zip(sides, (str(column.header) for column in table.columns), strict=True)
    yield "<tr>" + "".join(f"<th{side}>{escape(text)}</th>" for side, text in heads) + "</tr>"
    for row in zip(*(column.cells for column in table.columns), strict=True):
        cells = zip(sides, map(_spans, row), strict=True)
        yield "<tr>" + "".join(f"<td{side}>{text}</td>" for side, text in cells) + "</tr>"
    yield "</table>"


def _spans(cell: RenderableType) -> str:
    """Return the text of a cell, what is dim on the terminal dim here."""
    text = cell if isinstance(cell, Text) else Text(str(cell))
    marks = sorted((span.start, span.end) for span in text.spans if span.style == "dim")
    parts, at = [], 0
    for start, end in marks:
        parts.append(escape(text.plain[at:start]))
        parts.append(f'<span class="dim">{escape(text.plain[start:end])}</span>')
        at = end
    return "".join([*parts, escape(text.plain[at:])])
