"""Copies of the hardware with a planted fault, to show that a proof, a bench or an assertion can fail.

``tb/faults`` contains a TOML file for each hardware file, with one line per fault::

    name = [text, faulty text, { finder = expected result, ... }]

A finder is a proof, a bench or a test. Patterns such as ``lane-*-1`` can select several proofs. A proof
must find a violated property within the expected number of clocks after power-up. A bench must report
the expected text.
"""

import inspect
import shutil
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from tb.bench import RTL, TB

__all__ = [
    "Fault",
    "faults",
    "plant",
    "plant_all",
    "plant_file",
    "plant_python",
    "tables",
    "with_finders",
]


@dataclass(frozen=True)
class Fault:
    """A text in a file, its faulty replacement, the finder and the expected result."""

    name: str
    file: str
    old: str
    new: str
    finder: str
    seen: str | int


@cache
def tables() -> tuple[Fault, ...]:
    """Return all faults, once for each finder."""
    return tuple(
        Fault(name, path.stem, old, new, finder, seen)
        for path in sorted((TB / "faults").glob("*.toml"))
        for name, (old, new, finders) in tomllib.loads(path.read_text(encoding="utf-8")).items()
        for finder, seen in finders.items()
    )


def faults(finder: str) -> tuple[Fault, ...]:
    """Return the faults that a proof, a bench or a test must find."""
    return tuple(fault for fault in tables() if fnmatchcase(finder, fault.finder))


def with_finders(finders: Iterable[str]) -> list[object]:
    """Return test parameters (finder, fault) for each fault of these finders.

    CI plants the first fault of each finder. A release plants all of them.
    """
    return [
        pytest.param(
            *(finder, fault),
            marks=pytest.mark.release if number else (),
            id=f"{finder}-{fault.name}",
        )
        for finder in finders
        for number, fault in enumerate(faults(finder))
    ]


def plant(folder: Path, file: str, old: str, new: str, extra: Iterable[Path] = ()) -> Path:
    """Copy the RTL and `extra` files into `folder`, and replace one text in one file.

    Raises
    ------
    AssertionError
        The file does not contain the text exactly once, so the fault no longer applies.
    """
    return plant_all(folder, [Fault("", file, old, new, "", "")], extra)


def plant_all(folder: Path, planted: Iterable[Fault], extra: Iterable[Path] = ()) -> Path:
    """Plant several faults in one copy, as :func:`plant` does for one fault."""
    for path in [*RTL.rglob("*.sv*"), *extra]:
        shutil.copy(path, folder)
    for fault in planted:
        plant_file(folder, folder / fault.file, fault.old, fault.new)
    return folder


def plant_file(folder: Path, file: Path, old: str, new: str) -> Path:
    """Copy a file to `folder`, replace one text and return the copy; errors are as in :func:`plant`."""
    planted = folder / file.name
    text = _replaced(file.read_text(encoding="utf-8"), file.name, old, new)
    planted.write_text(text, encoding="utf-8")
    return planted


def plant_python(module: ModuleType, old: str, new: str) -> ModuleType:
    """Return a copy of a module with one text replaced.

    Raises
    ------
    AssertionError
        The module does not contain the text exactly once, so the fault no longer applies.
    """
    text = _replaced(inspect.getsource(module), module.__name__, old, new)
    planted = ModuleType(module.__name__)
    exec(compile(text, f"planted {module.__name__}", "exec"), planted.__dict__)
    return planted


def _replaced(text: str, name: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"{name} no longer holds {old!r} once"
    return text.replace(old, new)
