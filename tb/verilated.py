"""Compile hardware with Verilator and a harness into a shared library, which is stored in the cache."""

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tb.reads import digest_of, read_files

from qstep._io import cache
from qstep_rtl.sources import folders
from qstep_sim import verilator

__all__ = ["ToolFailedError", "shared_library"]

_VERILATE = (
    "--cc",
    "-O3",
    "--assert",
    "--x-assign",
    "unique",
    "--x-initial",
    "unique",
    "-Wno-fatal",
)
"""Assertions are checked, and the harness determines the initial values of registers."""

_COMPILE = ("-std=c++17", "-fPIC", "-pthread", "-w")
_SWITCHES = ("COVERAGE", "SC", "TIMING", "TRACE", "TRACE_FST", "TRACE_VCD", "TRACE_SAIF")


class ToolFailedError(AssertionError):
    """Verilator or the compiler failed."""


def shared_library(
    top: str,
    rtl: Path,
    files: Sequence[Path],
    harness: Path,
    parameters: Sequence[str] = (),
    generated: str = "",
    optimise: str = "-O1",
) -> Path:
    """Return the library of a module from the cache, and build it if necessary.

    Parameters
    ----------
    top : str
        Top-level module; the harness includes ``V{top}.h``.
    rtl : Path
        Folder of the hand-written RTL, or of a copy with a planted fault.
    files : sequence of Path
        Files that Verilator reads, packages first; it finds other modules in `rtl`.
    harness : Path
        C++ file that exports the functions of the library.
    parameters : sequence of str
        ``-GName=value`` for the parameters of the module.
    generated : str
        Text of generated Verilog, which Verilator also reads.
    optimise : str
        Optimisation option of the compiler.

    Raises
    ------
    ToolFailedError
        Verilator or the compiler failed; the message ends with the tool's last output.
    """
    command = _compiler(optimise)
    given = (top, *parameters, generated, _VERILATE, command, verilator.version())
    digest = hashlib.sha256(repr(given).encode() + harness.read_bytes())
    digest.update(digest_of(read_files(files, rtl, generated)))

    def make(folder: Path) -> Path:
        read = list(files)
        if generated:
            read.append(folder / f"{top}.v")
            read[-1].write_text(generated, encoding="utf-8")
        includes = [f"-I{path}" for path in folders(rtl)]
        names: list[str | Path] = ["--prefix", f"V{top}", "--top-module", top, "--Mdir", folder]
        _run_tool(verilator.find(), *_VERILATE, *names, *parameters, *includes, *read)
        # Compile a single unit, because reading Verilator's headers takes most of the time.
        unit, library = folder / "unit.cpp", folder / "library.so"
        parts = [*sorted(folder.glob("V*.cpp")), harness]
        unit.write_text("".join(f'#include "{part}"\n' for part in parts), encoding="utf-8")
        _run_tool(*command, f"-I{folder}", "-shared", unit, _runtime(), "-o", library)
        return library

    return cache.fetch(digest.hexdigest(), ".so", make)


def _run_tool(*command: str | Path) -> None:
    done = subprocess.run(
        command, env=verilator.environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ToolFailedError(f"{command[0]} failed:\n{done.stderr[-4000:]}")


def _compiler(optimise: str) -> list[str]:
    """Return the C++ compiler command for Verilator's output."""
    include = verilator.root() / "include"
    switches = [f"-DVM_{name}=0" for name in _SWITCHES]
    return [
        *verilator.compiler(),
        *_COMPILE,
        optimise,
        *switches,
        f"-I{include}",
        f"-I{include / 'vltstd'}",
    ]


def _runtime() -> Path:
    """Return Verilator's run-time library as an object file that all libraries share."""
    names = ["verilated.cpp", "verilated_threads.cpp"]
    command = _compiler("-O1")

    def make(folder: Path) -> Path:
        unit, made = folder / "runtime.cpp", folder / "runtime.o"
        unit.write_text("".join(f'#include "{name}"\n' for name in names), encoding="utf-8")
        _run_tool(*command, "-c", unit, "-o", made)
        return made

    digest = hashlib.sha256(repr((names, command, verilator.version())).encode())
    return cache.fetch(digest.hexdigest(), ".o", make)
