"""Keys of cached results: digests of files without their comments."""

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tb.bench import TB

from qstep_rtl.sources import substance

__all__ = ["digest", "imported", "imports"]

ROOTS = [TB.parent, *(TB.parent / room for room in ("sw", "rtl", "sim", "fpga"))]
"""Folders that contain QStep's modules."""


def digest(text: str, files: Iterable[Path]) -> str:
    """Return one digest of a text and of the names and substance of files, wherever they are."""
    parts = sorted(f"\0{path.name}\0{substance(path)}" for path in set(files))
    return hashlib.sha256("".join([text, *parts]).encode()).hexdigest()[:16]


def imported(*names: str) -> set[Path]:
    """Return the files of the named QStep modules and of all QStep modules that they import."""
    found: set[Path] = set()
    left = list(names)
    while left:
        at = left.pop().replace(".", "/")
        tries = (root / end for root in ROOTS for end in (f"{at}.py", f"{at}/__init__.py"))
        path = next(filter(Path.is_file, tries), None)
        if path and path not in found:
            found.add(path)
            left += _imports(path)
    return found


@cache
def _imports(path: Path) -> list[str]:
    found = imports(path.read_text(encoding="utf-8"))
    return [name for module, inside in found for name in (module, *inside)]


def imports(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each module imported anywhere in a text, with the full names of the imported items."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module), [f"{node.module}.{alias.name}" for alias in node.names]
