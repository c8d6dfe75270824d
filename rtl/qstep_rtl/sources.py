"""Where the hand-written SystemVerilog lies, in compile order."""

from __future__ import annotations

from pathlib import Path

__all__ = ["INCLUDE_FOLDER", "includes", "paths"]

INCLUDE_FOLDER = Path(__file__).resolve().parent.parent
"""The folder of the sources; also the one to search for what they include."""

_ORDER = ("qs_pkg", "qs_noise", "qs_max_tree", "qs_table", "qs_hazard", "qs_update", "qs_lane")


def paths() -> list[Path]:
    """Return the hand-written sources, packages first, then from leaf to root."""
    return [INCLUDE_FOLDER / f"{name}.sv" for name in _ORDER]


def includes() -> list[Path]:
    """Return the files that the sources include."""
    return [INCLUDE_FOLDER / "qs_assert.svh"]
