"""Write a lesson as a Jupyter notebook: python -m tools.lesson_notebook [PAGE.md [FILE.ipynb]].

The page's commands become cells that run them in the repository root. Printed outputs are omitted,
because the cells print them again. By default docs/lesson.md becomes build/lesson.ipynb.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

__all__ = ["notebook"]

_ROOT = Path(__file__).resolve().parent.parent
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_HEADERS = {"sh": "%%bash --no-raise-error\n", "python": ""}
_OUTPUT = "text"


def notebook(page: str) -> dict[str, Any]:
    """Return the notebook of a Markdown page, in nbformat 4.5."""
    cells: list[dict[str, Any]] = []

    def add(kind: str, text: str) -> None:
        if text := text.strip("\n"):
            code: dict[str, Any] = {}
            if kind == "code":
                code = {"outputs": [], "execution_count": None}
            name = f"cell-{len(cells)}"
            cells.append({"cell_type": kind, "id": name, "metadata": {}, "source": text, **code})

    add("code", f"%cd {_ROOT}")
    prose = ""
    for number, part in enumerate(_BLOCK.split(page)):
        if number % 3 == 0:
            prose += part
        elif number % 3 == 1:
            language = part
        elif language in _HEADERS:
            add("markdown", prose)
            add("code", _HEADERS[language] + part)
            prose = ""
        elif language != _OUTPUT:
            prose += f"```{language}\n{part}```\n"
    add("markdown", prose)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def main(page: str = "docs/lesson.md", file: str = "build/lesson.ipynb") -> None:
    """Write the notebook and print its path."""
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(notebook(Path(page).read_text(encoding="utf-8")), indent=1)
    path.write_text(text + "\n", encoding="utf-8")
    print(f"{path}: open it with Jupyter, started in the environment of the lesson")


if __name__ == "__main__":
    main(*sys.argv[1:])
