"""Copies of the hardware with a planted fault, to show that a bench or an assertion can fail."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from tb.bench import RTL

__all__ = ["plant", "plant_all", "plant_file", "plant_python"]


def plant(folder: Path, file: str, old: str, new: str, extra: Iterable[Path] = ()) -> Path:
    """Copy the RTL and `extra` files into `folder`, and replace one text of one file.

    Raises
    ------
    AssertionError
        The file does not hold the text exactly once: the fault no longer applies.
    """
    return plant_all(folder, [(file, old, new)], extra)


def plant_all(
    folder: Path, faults: Iterable[tuple[str, str, str]], extra: Iterable[Path] = ()
) -> Path:
    """Do what :func:`plant` does for several faults (file, old text, new text) in one copy."""
    for path in [*RTL.glob("*.sv*"), *extra]:
        shutil.copy(path, folder)
    for file, old, new in faults:
        plant_file(folder, folder / file, old, new)
    return folder


def plant_file(folder: Path, file: Path, old: str, new: str) -> Path:
    """Return a copy of a file, in `folder`, with one text replaced; errors as :func:`plant`."""
    planted = folder / file.name
    text = _replaced(file.read_text(encoding="utf-8"), file.name, old, new)
    planted.write_text(text, encoding="utf-8")
    return planted


def plant_python(module: ModuleType, old: str, new: str) -> ModuleType:
    """Return a copy of a module with one text replaced.

    Raises
    ------
    AssertionError
        The module does not hold the text exactly once: the fault no longer applies.
    """
    text = _replaced(inspect.getsource(module), module.__name__, old, new)
    planted = ModuleType(module.__name__)
    exec(compile(text, f"planted {module.__name__}", "exec"), planted.__dict__)
    return planted


def _replaced(text: str, name: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"{name} no longer holds {old!r} once"
    return text.replace(old, new)
