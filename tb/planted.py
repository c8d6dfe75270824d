"""Copies of the RTL with a fault planted in them, to show that a bench can fail."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from tb.bench import RTL

__all__ = ["plant"]


def plant(folder: Path, file: str, old: str, new: str, extra: Iterable[Path] = ()) -> Path:
    """Copy the RTL and `extra` files into `folder`, and replace one text of one file.

    Raises
    ------
    AssertionError
        The file does not hold the text exactly once: the fault no longer applies.
    """
    for path in [*RTL.glob("*.sv*"), *extra]:
        shutil.copy(path, folder)
    changed = folder / file
    text = changed.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{file} no longer holds {old!r} once"
    changed.write_text(text.replace(old, new), encoding="utf-8")
    return folder
