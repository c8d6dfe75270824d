"""The benchmark's result as one self-contained HTML page with picture, tables and machine."""

from __future__ import annotations

import base64
import io
from functools import partial
from html import escape
from pathlib import Path

from rich.console import Console

from qstep._io.files import make_folder, write_atomically
from qstep._io.pictures import image
from qstep.errors import DrawingError
from qstep_bench.plot import draw
from qstep_bench.report import BenchReport
from qstep_bench.table import render

__all__ = ["page", "write_page"]

_WIDTH = 100  # characters per line
_FORMAT = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{{{ background: {{background}}; color: {{foreground}}; margin: 2em }}}}
body {{{{ font-family: system-ui, sans-serif }}}}
img {{{{ width: 100%; max-width: 72em }}}}
pre {{{{ font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace }}}}
{{stylesheet}}
</style>
</head>
<body>
<h1>{title}</h1>
<img alt="rates as bars" src="data:image/svg+xml;base64,{picture}">
<pre>{{code}}</pre>
</body>
</html>
"""


def write_page(report: BenchReport, path: Path) -> None:
    """Write the HTML page of a report to a file.

    Raises
    ------
    FileFormatError
        The file cannot be written.
    DrawingError
        The picture cannot be drawn.
    """
    make_folder(path.parent)
    write_atomically(path, page(report).encode())


def page(report: BenchReport) -> str:
    """Return the terminal output and the picture as an HTML page without links."""
    picture = image(partial(draw, report), "svg")
    if isinstance(picture, str):
        raise DrawingError(f"the picture of the page cannot be drawn: {picture}")
    coded = base64.b64encode(picture).decode("ascii")
    console = Console(width=_WIDTH, record=True, file=io.StringIO(), markup=False)
    console.print(render(report))
    title = escape(f"QStep benchmark, {report.date}")
    return console.export_html(code_format=_FORMAT.format(title=title, picture=coded))
