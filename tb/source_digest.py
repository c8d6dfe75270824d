"""A digest of hardware, software and tests: what a command found holds until it changes."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tb.bench import TB

from qstep_rtl.sources import substance

__all__ = ["source_digest", "sources"]

_FOLDERS = ("rtl", "sw", "sim", "fpga/qstep_fpga", "tb")
_SUFFIXES = (".py", ".sv", ".svh", ".v", ".rdl", ".toml", ".cpp", ".h", ".c")


def sources() -> list[Path]:
    """Return all sources but ``tb/verify``, which only tells what commands have found."""
    files = sorted(path for folder in _FOLDERS for path in (TB.parent / folder).rglob("*"))
    return [path for path in files if path.suffix in _SUFFIXES and path.parent != TB / "verify"]


def source_digest() -> str:
    """Return a digest of all sources, without what does not affect them, as comments."""
    digest = hashlib.sha256()
    for path in sources():
        digest.update(f"{path.relative_to(TB.parent)}\0{substance(path)}\0".encode())
    return digest.hexdigest()[:16]
