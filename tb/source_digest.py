"""All sources of hardware, software and tests."""

from __future__ import annotations

from pathlib import Path

from tb.bench import TB

__all__ = ["sources"]

_FOLDERS = ("rtl", "sw", "sim", "fpga/qstep_fpga", "tb")
_SUFFIXES = (".py", ".sv", ".svh", ".v", ".rdl", ".toml", ".cpp", ".h", ".c")


def sources() -> list[Path]:
    """Return all sources but ``tb/verify``, which only tells what commands have found."""
    files = sorted(path for folder in _FOLDERS for path in (TB.parent / folder).rglob("*"))
    return [path for path in files if path.suffix in _SUFFIXES and path.parent != TB / "verify"]
